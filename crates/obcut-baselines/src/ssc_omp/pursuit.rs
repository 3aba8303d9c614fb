//! Orthogonal matching pursuit of every row among the others.
//!
//! What a residual has in common with a row follows from what the row and those chosen so far have in
//! common with it: x.r = x.y - sum of c x.z. So the cosines of all rows with the rows of a group are
//! computed once, and more only for chosen rows outside the group; groups are of near rows, which
//! choose each other. Cosines are kept in single precision. They say which few rows can be the most
//! correlated one; among these the residual itself decides, in double precision.
//!
//! A row's chosen others are made orthonormal one by one, so that a residual is what the last of them
//! leaves of the one before, and the coefficients follow from a small triangle.

use obcut::{Error, Graph};
use obcut_core::block::{BLOCK, Kernel, Points};
use obcut_core::linalg::simd::{axpy, dot, vectorised};
use obcut_core::parallel::Context;
use obcut_core::table::Table;

use super::WeightForm;
use super::tiles::{Probe, Tile, TileColumns};
use obcut_core::knn::stretches::stretches;

/// Rows in a group at least, where rows are long.
const FEWEST: usize = 16;
/// Numbers that the searches of a group may hold.
const GROUP: usize = 16_000_000;
/// Cosines that are kept, in all and with how many rows.
const COSINES: usize = 800_000_000;
const COLUMNS: (usize, usize) = (256, 4096);
/// Rounding of a number in single precision, and the numbers beside a row's that round a cosine.
const ROUNDING: f64 = 6e-8;
const STEPS: usize = 16;
/// A row whose part outside the span of the others is below this part of it is in that span.
const DEPENDENT: f64 = 1e-7;

/// What the search goes by.
pub(crate) struct Pursuit<'a> {
    pub table: &'a Table<'a>,
    pub sparsity: usize,
    pub threshold: f64,
    pub form: WeightForm,
}

/// Lengths of the rows, in several forms.
struct Lengths {
    /// What rows are multiplied with: to unit length, zero for zero rows, or one.
    scale: Vec<f64>,
    /// One over the length, zero for zero rows.
    unit: Vec<f64>,
    /// Lengths after scaling, and as part of the largest.
    scaled: Vec<f64>,
    weight: Vec<f32>,
}

/// One row's search.
struct AtomSearch {
    row: usize,
    /// Of the row, scaled.
    residual: Vec<f64>,
    /// Squared length of the residual below which the search ends.
    limit: f64,
    support: Vec<u32>,
    /// Orthonormal: support × d.
    basis: Vec<f64>,
    /// Column j of the triangle: what the basis rows 0..=j take part in the j-th of the support.
    triangle: Vec<Vec<f64>>,
    /// What the basis rows take part in the row.
    parts: Vec<f64>,
    done: bool,
}

/// Rows in a group, and columns at most: functions of the shape alone, so that results do not depend
/// on threads.
pub(crate) fn group_len(n: usize, d: usize, sparsity: usize) -> (usize, usize) {
    let fitting = GROUP / (d * (sparsity.min(d) + 3)).max(1);
    let most = (COSINES / n.max(1)).clamp(COLUMNS.0, COLUMNS.1);
    (fitting.min(most / 2).max(FEWEST), most)
}

impl Pursuit<'_> {
    /// Coefficients of every row on the others chosen for it, in the order of the choice.
    pub fn coefficients(&self, context: &Context<'_>) -> Result<Graph, Error> {
        let (n, d) = (self.table.n(), self.table.d());
        let lengths = self.lengths(context)?;
        let (len, most) = group_len(n, d, self.sparsity);
        let mut found = vec![(Vec::new(), Vec::new()); n];
        let mut late = Vec::new();
        for rows in groups(stretches(self.table, len / 16, context)?, len) {
            late.extend(self.group(&rows, most, &lengths, &mut found, context)?);
        }
        // Rows whose choices would have taken too many columns: few at a time.
        for rows in late.chunks((most / self.sparsity).clamp(1, len)) {
            self.group(rows, usize::MAX, &lengths, &mut found, context)?;
        }
        let mut graph = Graph::empty(n);
        found.iter().for_each(|(support, values)| graph.push(support, values));
        Ok(graph)
    }

    fn lengths(&self, context: &Context<'_>) -> Result<Lengths, Error> {
        let n = self.table.n();
        let mut unit = vec![0.0; n];
        context.map_into(n, &mut unit, 1, |range, out| {
            self.table.squared_norms(range, out);
            out.iter_mut().for_each(|v| *v = if *v > 0.0 { 1.0 / v.sqrt() } else { 0.0 });
        })?;
        let scale = if self.form == WeightForm::Matlab { unit.clone() } else { vec![1.0; n] };
        let length = |(s, u): (&f64, &f64)| if *u > 0.0 { s / u } else { 0.0 };
        let scaled: Vec<f64> = scale.iter().zip(&unit).map(length).collect();
        let largest = scaled.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        // Rounded up to a block, so that every tile has a whole one.
        let mut weight: Vec<f32> = scaled.iter().map(|s| (s / largest) as f32).collect();
        weight.resize(n.next_multiple_of(BLOCK), 0.0);
        Ok(Lengths { scale, unit, scaled, weight })
    }

    /// Finds the coefficients of some rows; returns those for which there were not columns enough.
    fn group(
        &self,
        rows: &[u32],
        most: usize,
        lengths: &Lengths,
        found: &mut [(Vec<u32>, Vec<f64>)],
        context: &Context<'_>,
    ) -> Result<Vec<u32>, Error> {
        let n = self.table.n();
        let mut searches = context
            .each(rows.len(), |i| self.search(rows[i] as usize, lengths.scale[rows[i] as usize]))?;
        let mut tiles: Vec<Tile> = (0..n).step_by(BLOCK).map(Tile::new).collect();
        let (mut columns, mut new, mut late) = (TileColumns::default(), Vec::new(), Vec::new());
        rows.iter().for_each(|&row| columns.expect(row, &mut new));
        for round in 1..=self.sparsity {
            let points = self.points(&new, lengths);
            let mut active: Vec<(Probe, &mut AtomSearch)> = searches
                .iter_mut()
                .filter(|s| !s.done)
                .map(|s| (s.probe(&columns, lengths, rounding(&points, self.table.d())), s))
                .collect();
            if active.is_empty() {
                break;
            }
            context.each_into(&mut tiles, 1, |_, tile| {
                for tile in tile {
                    tile.add(self.table, &points, &lengths.unit);
                    tile.look(active.iter().map(|a| &a.0), &lengths.weight);
                }
            })?;
            context.each_into(&mut active, 1, |p, one| {
                for (probe, search) in one {
                    match self.most_correlated(search, (probe, p), &tiles, lengths) {
                        Some(atom) => self.take(search, atom, lengths.scale[atom as usize]),
                        None => search.done = true,
                    }
                }
            })?;
            if round == self.sparsity {
                break;
            }
            (columns.n_panels, new) = (columns.n_panels + 1, Vec::new());
            for (_, search) in active.iter_mut().filter(|(_, s)| !s.done) {
                let Some(&atom) = search.support.last() else { continue };
                if columns.place.len() < most || columns.place.contains_key(&atom) {
                    columns.expect(atom, &mut new);
                } else {
                    late.push(search.row as u32);
                    search.done = true;
                }
            }
        }
        for search in searches {
            let row = search.row;
            found[row] = search.finish(&lengths.scale);
        }
        Ok(late)
    }

    fn search(&self, row: usize, scale: f64) -> AtomSearch {
        let residual = self.scaled_row(row, scale);
        let length = dot(&residual, &residual).sqrt();
        let limit = match self.form {
            WeightForm::Matlab => self.threshold,
            WeightForm::Python => self.threshold * length,
        };
        AtomSearch {
            row,
            residual,
            limit,
            support: Vec::new(),
            basis: Vec::new(),
            triangle: Vec::new(),
            parts: Vec::new(),
            done: length == 0.0,
        }
    }

    fn scaled_row(&self, i: usize, scale: f64) -> Vec<f64> {
        let mut row = vec![0.0; self.table.d()];
        self.table.row(i, &mut row);
        row.iter_mut().for_each(|v| *v *= scale);
        row
    }

    /// Some rows, of unit length, as points.
    fn points(&self, rows: &[u32], lengths: &Lengths) -> Points {
        let unit = |&row: &u32| self.scaled_row(row as usize, lengths.unit[row as usize]);
        self.table.points(rows.iter().flat_map(unit).collect())
    }

    /// The other row that is most correlated with a residual; the lower index on ties, none when all
    /// are orthogonal to it.
    fn most_correlated(
        &self,
        search: &AtomSearch,
        (probe, p): (&Probe, usize),
        tiles: &[Tile],
        lengths: &Lengths,
    ) -> Option<u32> {
        let top = tiles.iter().map(|tile| tile.tops[p]).fold(0.0, f32::max);
        let near = |value: f32| value > 0.0 && value >= top - probe.slack;
        let (mut values, mut row) = ([0.0; BLOCK], vec![0.0; self.table.d()]);
        let mut best = (0.0, None);
        for tile in tiles.iter().filter(|tile| near(tile.tops[p])) {
            tile.correlations(probe, &lengths.weight, &mut values);
            for (r, _) in values.iter().enumerate().filter(|(_, v)| near(**v)) {
                let j = tile.start + r;
                let product = vectorised(
                    #[inline(always)]
                    || {
                        self.table.row(j, &mut row);
                        dot(&row, &search.residual)
                    },
                );
                let size = product.abs() * lengths.scale[j];
                if size > best.0 {
                    best = (size, Some(j as u32));
                }
            }
        }
        best.1
    }

    /// Adds a row to the support, unless it is in its span.
    fn take(&self, search: &mut AtomSearch, atom: u32, scale: f64) {
        let new = self.scaled_row(atom as usize, scale);
        vectorised(
            #[inline(always)]
            || search.take(new, atom),
        );
    }
}

/// Rows of stretches that follow each other, up to `len` at a time.
fn groups(stretches: Vec<Vec<u32>>, len: usize) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = vec![Vec::new()];
    for part in stretches.iter().flat_map(|stretch| stretch.chunks(len)) {
        let last = groups.len() - 1;
        if groups[last].len() + part.len() > len {
            groups.push(part.to_vec());
        } else {
            groups[last].extend(part);
        }
    }
    groups
}

/// By how much a cosine may be off: sums in single precision round with every term.
fn rounding(points: &Points, d: usize) -> f64 {
    let terms = if matches!(points.kernel, Kernel::Single { .. }) { d } else { 0 };
    (terms + STEPS) as f64 * ROUNDING
}

impl AtomSearch {
    #[inline(always)]
    fn take(&mut self, mut new: Vec<f64>, atom: u32) {
        let length = dot(&new, &new).sqrt();
        let mut column = vec![0.0; self.support.len()];
        // Twice, since once leaves rounding of the size of what was taken away.
        for _ in 0..2 {
            for (basis, h) in self.basis.chunks_exact(new.len()).zip(&mut column) {
                let part = dot(basis, &new);
                axpy(-part, basis, &mut new);
                *h += part;
            }
        }
        let rest = dot(&new, &new).sqrt();
        if self.support.contains(&atom) || rest <= DEPENDENT * length {
            self.done = true;
            return;
        }
        new.iter_mut().for_each(|v| *v /= rest);
        column.push(rest);
        let part = dot(&new, &self.residual);
        axpy(-part, &new, &mut self.residual);
        self.support.push(atom);
        self.basis.extend(new);
        self.triangle.push(column);
        self.parts.push(part);
        self.done = dot(&self.residual, &self.residual) < self.limit;
    }

    /// Coefficients of the scaled row on the scaled support.
    fn solve(&self) -> Vec<f64> {
        let mut c = self.parts.clone();
        for j in (0..c.len()).rev() {
            c[j] /= self.triangle[j][j];
            for i in 0..j {
                c[i] -= self.triangle[j][i] * c[j];
            }
        }
        c
    }

    /// The residual over the length of the row, as a sum of columns.
    fn probe(&self, columns: &TileColumns, lengths: &Lengths, rounding: f64) -> Probe {
        let own = lengths.scaled[self.row];
        let factors = self.solve().into_iter().zip(&self.support);
        let factors = factors.map(|(c, &j)| (j, -c * lengths.scaled[j as usize] / own));
        let factors: Vec<(u32, f64)> =
            std::iter::once((self.row as u32, 1.0)).chain(factors).collect();
        let size: f64 = factors.iter().map(|f| f.1.abs()).sum();
        Probe {
            row: self.row,
            terms: factors.iter().map(|&(j, f)| (columns.place[&j], f as f32)).collect(),
            slack: (2.0 * size * rounding) as f32,
        }
    }

    /// The support, and the coefficients of the unscaled row on the unscaled support.
    fn finish(self, scale: &[f64]) -> (Vec<u32>, Vec<f64>) {
        let own = scale[self.row];
        let scaled = |(c, &j): (f64, &u32)| c * scale[j as usize] / own;
        let values = self.solve().into_iter().zip(&self.support).map(scaled).collect();
        (self.support, values)
    }
}

#[cfg(test)]
#[path = "pursuit_tests.rs"]
mod tests;
