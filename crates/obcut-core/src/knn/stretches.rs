//! An order of the rows in which near ones follow each other: what is shared by near rows is then shared
//! by rows that are worked on at once. Results do not depend on it, only the time they take.

use crate::error::Error;
use crate::kmeans::{self, Schedule, Seeding, Weighted};
use crate::linalg::simd::squared_distance;
use crate::observer::Stage;
use crate::parallel::Context;
use crate::random::{Stream, mix};
use crate::table::Table;

/// Stretches at most.
const MOST: usize = 1024;
/// Rows per stretch that their centers are found from, and iterations.
const SAMPLE: usize = 32;
const ITERATIONS: usize = 10;

/// All rows, in stretches of about `len` near ones; stretches that are near follow each other.
pub fn stretches(
    table: &Table<'_>,
    len: usize,
    context: &Context<'_>,
) -> Result<Vec<Vec<u32>>, Error> {
    Ok(cells(table, len, context)?.0)
}

/// The same with the centers that the rows of a stretch are nearest to.
pub fn cells(
    table: &Table<'_>,
    len: usize,
    context: &Context<'_>,
) -> Result<(Vec<Vec<u32>>, Vec<f64>), Error> {
    let (n, d) = (table.n(), table.d());
    let count = (n / len.max(1)).min(MOST);
    if count < 2 {
        let mut center = vec![0.0; d];
        if n > 0 {
            table.row(0, &mut center);
        }
        return Ok((vec![(0..n as u32).collect()], center));
    }
    let keys: Vec<u64> = (0..n as u64).map(mix).collect();
    let rows = Weighted { table, weights: &vec![1.0; n], keys: &keys };
    let schedule = Schedule {
        seeding: Seeding::PlusPlus,
        iterations: ITERATIONS,
        rows_per_restart: Some(SAMPLE),
        rows_per_center: Some(SAMPLE),
        ..Schedule::ALL_ROWS
    };
    let stream = Stream::new(0).named("stretches");
    let centers = kmeans::fit(&rows, count, schedule, stream, context, Stage::Graph)?.values;
    let place = places(&centers, d);
    let mut ordered = vec![0.0; centers.len()];
    for (center, &at) in centers.chunks_exact(d).zip(&place) {
        ordered[at * d..(at + 1) * d].copy_from_slice(center);
    }
    let mut stretches = vec![Vec::new(); count];
    for (i, label) in kmeans::assign(table, &table.points(centers), context)?.iter().enumerate() {
        stretches[place[*label as usize]].push(i as u32);
    }
    Ok((stretches, ordered))
}

/// Where centers stand when after each comes the nearest of those that are left.
fn places(centers: &[f64], d: usize) -> Vec<usize> {
    let center = |c: usize| &centers[c * d..(c + 1) * d];
    let mut left: Vec<usize> = (1..centers.len() / d).collect();
    let mut place = vec![0; left.len() + 1];
    let mut last = 0;
    for step in 1..place.len() {
        let squared = left.iter().map(|&c| squared_distance(center(last), center(c)));
        let nearest = squared.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        last = left.remove(nearest.map_or(0, |nearest| nearest.0));
        place[last] = step;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knn::tests::with_job;
    use crate::matrix::Matrix;
    use crate::normalize::Scale;

    #[test]
    fn every_row_is_in_one_stretch_and_near_rows_are_together() {
        let values: Vec<f64> = (0..900).map(|i| f64::from(i * 7 % 900)).collect();
        let matrix = Matrix::Dense64 { values: values.clone(), n_rows: 900, n_cols: 1 };
        let found = with_job(&matrix, Scale::None, |j| stretches(j.table, 90, j.context));
        assert_eq!(found.len(), 10);
        for stretch in &found {
            let inside = stretch.iter().map(|&i| values[i as usize]);
            let (low, high) = (inside.clone().fold(900.0, f64::min), inside.fold(0.0, f64::max));
            assert!(high - low < 400.0, "{low} to {high}");
        }
        let mut all = found.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..900));
    }

    #[test]
    fn centers_follow_each_other_by_distance() {
        assert_eq!(places(&[0.0, 9.0, 1.0, 5.0], 1), [0, 3, 1, 2]);
    }
}
