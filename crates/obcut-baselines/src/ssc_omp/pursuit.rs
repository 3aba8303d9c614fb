//! Orthogonal matching pursuit of every row among the others.
//!
//! Rows are sought for in groups: the residuals of a group are points, whose products with all rows
//! the table computes in blocks. Nothing of N × N is kept. A row's chosen others are made
//! orthonormal one by one, so that a residual is what the last of them leaves of the one before,
//! and the coefficients follow from a small triangle.

use std::ops::Range;

use obcut::block::{BLOCK, Scratch};
use obcut::linalg::simd::{axpy, dot, vectorised};
use obcut::parallel::Context;
use obcut::table::Table;
use obcut::{Error, Graph};

use super::Form;

/// Rows in a group at most,
const MOST: usize = 512;
/// and at least, where rows are long.
const FEWEST: usize = 16;
/// Numbers that a group may hold.
const GROUP: usize = 4_000_000;
/// A row whose part outside the span of the others is below this part of it is in that span.
const DEPENDENT: f64 = 1e-7;

/// What the search goes by.
pub(crate) struct Pursuit<'a> {
    pub table: &'a Table<'a>,
    pub sparsity: usize,
    pub threshold: f64,
    pub form: Form,
}

/// One row's search.
struct Search {
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

/// Rows in a group: a function of the shape alone, so that results do not depend on threads.
pub(crate) fn group_len(n: usize, d: usize, sparsity: usize) -> usize {
    let fitting = GROUP / (d * (sparsity.min(d) + 3)).max(1);
    fitting.min(n.div_ceil(32).max(64)).clamp(FEWEST, MOST)
}

impl Pursuit<'_> {
    /// Coefficients of every row on the others chosen for it, in the order of the choice.
    pub fn coefficients(&self, context: &Context<'_>) -> Result<Graph, Error> {
        let (n, d) = (self.table.n(), self.table.d());
        let scale = self.scales(context)?;
        let len = group_len(n, d, self.sparsity);
        let parts = context.each(n.div_ceil(len), |g| {
            self.group(g * len..((g + 1) * len).min(n), &scale, context)
        })?;
        let parts: Vec<Graph> = parts.into_iter().collect::<Result<_, _>>()?;
        Ok(Graph::stack(parts, n))
    }

    /// What rows are multiplied with: to unit length, zero for zero rows, or one.
    fn scales(&self, context: &Context<'_>) -> Result<Vec<f64>, Error> {
        let n = self.table.n();
        let mut scale = vec![1.0; n];
        if self.form == Form::Matlab {
            context.map_into(n, &mut scale, 1, |range, out| {
                self.table.squared_norms(range, out);
                out.iter_mut().for_each(|v| *v = if *v > 0.0 { 1.0 / v.sqrt() } else { 0.0 });
            })?;
        }
        Ok(scale)
    }

    fn group(
        &self,
        rows: Range<usize>,
        scale: &[f64],
        context: &Context<'_>,
    ) -> Result<Graph, Error> {
        let mut searches: Vec<Search> = rows.clone().map(|i| self.search(i, scale[i])).collect();
        for _ in 0..self.sparsity {
            let mut active: Vec<&mut Search> = searches.iter_mut().filter(|s| !s.done).collect();
            if active.is_empty() {
                break;
            }
            let best = self.best(&active, rows.clone(), scale, context)?;
            for (search, found) in active.iter_mut().zip(best) {
                match found {
                    Some(atom) => self.take(search, atom, scale[atom as usize]),
                    None => search.done = true,
                }
            }
        }
        let mut graph = Graph::empty(self.table.n());
        searches.iter().for_each(|s| graph.push(&s.support, &s.coefficients(scale)));
        Ok(graph)
    }

    fn search(&self, row: usize, scale: f64) -> Search {
        let residual = self.scaled_row(row, scale);
        let length = dot(&residual, &residual).sqrt();
        let limit = match self.form {
            Form::Matlab => self.threshold,
            Form::Python => self.threshold * length,
        };
        Search {
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

    /// The other row that is most correlated with each residual; the lower index on ties, none when
    /// all are orthogonal to it.
    fn best(
        &self,
        active: &[&mut Search],
        group: Range<usize>,
        scale: &[f64],
        context: &Context<'_>,
    ) -> Result<Vec<Option<u32>>, Error> {
        let (n, m) = (self.table.n(), active.len());
        let residuals = active.iter().flat_map(|s| s.residual.iter().copied()).collect();
        let points = self.table.points(residuals);
        let mut place = vec![None; group.len()];
        active.iter().enumerate().for_each(|(p, s)| place[s.row - group.start] = Some(p));
        let (mut most, mut at) = (vec![0.0; m], vec![u32::MAX; m]);
        let (mut scratch, mut products) = (Scratch::default(), Vec::new());
        for start in (0..n).step_by(BLOCK) {
            context.check()?;
            let rows = start..(start + BLOCK).min(n);
            let block = self.table.block(rows.clone(), &points, &mut scratch);
            for (r, j) in rows.enumerate() {
                block.products(r, 0..m, &mut products);
                if group.contains(&j)
                    && let Some(own) = place[j - group.start]
                {
                    products[own] = 0.0;
                }
                compare(&products, scale[j], j as u32, &mut most, &mut at);
            }
        }
        Ok(at.into_iter().map(|j| (j != u32::MAX).then_some(j)).collect())
    }

    /// Adds a row to the support, unless it is in its span.
    fn take(&self, search: &mut Search, atom: u32, scale: f64) {
        let d = self.table.d();
        let mut new = self.scaled_row(atom as usize, scale);
        let length = dot(&new, &new).sqrt();
        let mut column = vec![0.0; search.support.len()];
        // Twice, since once leaves rounding of the size of what was taken away.
        for _ in 0..2 {
            for (basis, h) in search.basis.chunks_exact(d).zip(&mut column) {
                let part = dot(basis, &new);
                axpy(-part, basis, &mut new);
                *h += part;
            }
        }
        let rest = dot(&new, &new).sqrt();
        if search.support.contains(&atom) || rest <= DEPENDENT * length {
            search.done = true;
            return;
        }
        new.iter_mut().for_each(|v| *v /= rest);
        column.push(rest);
        let part = dot(&new, &search.residual);
        axpy(-part, &new, &mut search.residual);
        search.support.push(atom);
        search.basis.extend(new);
        search.triangle.push(column);
        search.parts.push(part);
        search.done = dot(&search.residual, &search.residual) < search.limit;
    }
}

impl Search {
    /// Coefficients of the unscaled row on the unscaled support.
    fn coefficients(&self, scale: &[f64]) -> Vec<f64> {
        let mut c = self.parts.clone();
        for j in (0..c.len()).rev() {
            c[j] /= self.triangle[j][j];
            for i in 0..j {
                c[i] -= self.triangle[j][i] * c[j];
            }
        }
        let own = scale[self.row];
        c.iter().zip(&self.support).map(|(c, &j)| c * scale[j as usize] / own).collect()
    }
}

/// Takes in the products of one row with all residuals.
fn compare(products: &[f64], scale: f64, j: u32, most: &mut [f64], at: &mut [u32]) {
    vectorised(
        #[inline(always)]
        || {
            for ((v, most), at) in products.iter().zip(most).zip(at) {
                let size = v.abs() * scale;
                let larger = size > *most;
                *most = if larger { size } else { *most };
                *at = if larger { j } else { *at };
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{near, planes, subset, with_job};
    use obcut::linalg::factor::solve_definite;
    use obcut::random::Stream;
    use obcut::{Csr, Matrix, Scale};

    fn found(matrix: &Matrix, scale: Scale, sparsity: usize, form: Form) -> Graph {
        with_job(matrix, 3, scale, false, |job| {
            Pursuit { table: job.table, sparsity, threshold: 1e-6, form }.coefficients(job.context)
        })
    }

    /// Part of the sizes that lies between different classes, in percent.
    fn across(graph: &Graph, classes: &[u32]) -> f64 {
        let (mut across, mut all) = (0.0, 0.0);
        for i in 0..graph.n_rows() {
            for (&j, c) in graph.row(i).0.iter().zip(graph.row(i).1) {
                all += c.abs();
                across += if classes[i] == classes[j as usize] { 0.0 } else { c.abs() };
            }
        }
        100.0 * across / all
    }

    #[test]
    fn three_planes_give_the_figures_of_the_published_program() {
        let planes_of: Vec<u32> = (0..60).map(|i| i / 20).collect();
        for sparsity in [2, 5] {
            for form in [Form::Matlab, Form::Python] {
                let graph = found(&planes(), Scale::None, sparsity, form);
                assert_eq!(graph.columns.len(), 120, "every residual vanishes after two");
                let sum: f64 = graph.values.iter().map(|v| v.abs()).sum();
                assert!(near(sum, 62.32005218, 1e-8), "{sum}");
                assert!(across(&graph, &planes_of) == 0.0);
                let mut first: Vec<(u32, f64)> =
                    graph.row(0).0.iter().copied().zip(graph.row(0).1.iter().copied()).collect();
                first.sort_by_key(|entry| entry.0);
                assert_eq!((first[0].0, first[1].0), (5, 10));
                assert!(near(first[0].1, 0.040204759, 1e-7), "{first:?}");
                assert!(near(first[1].1, -0.99422231, 1e-7), "{first:?}");
            }
        }
    }

    #[test]
    fn digits_and_letters_give_the_figures_of_the_published_program() {
        for (name, step, per_row, part) in [("PenDigits", 16, 5.0, 29.8), ("LR", 10, 4.908, 39.97)]
        {
            let Some((matrix, classes)) = subset(name, step) else { return };
            let graph = found(&matrix, Scale::UnitRows, 5, Form::Matlab);
            let count = graph.columns.len() as f64 / classes.len() as f64;
            assert!((count - per_row).abs() < 1e-3, "{name}: {count}");
            let across = across(&graph, &classes);
            assert!((across - part).abs() < 0.1, "{name}: {across}");
        }
    }

    /// The published steps, one row at a time, with the least squares solved anew.
    fn twin(x: &[f64], n: usize, d: usize, sparsity: usize, form: Form) -> Vec<Vec<(u32, f64)>> {
        let row = |i: usize| &x[i * d..(i + 1) * d];
        let length = |i: usize| dot(row(i), row(i)).sqrt();
        let unit = |i: usize| if form == Form::Matlab { 1.0 / length(i) } else { 1.0 };
        let solve = |i: usize, support: &[u32]| {
            let s = support.len();
            let at = |a: usize| row(support[a] as usize);
            let gram: Vec<f64> = (0..s * s).map(|t| dot(at(t / s), at(t % s))).collect();
            let side: Vec<f64> = (0..s).map(|a| dot(at(a), row(i))).collect();
            solve_definite(&gram, &side, s, 1).unwrap()
        };
        let one = |i: usize| {
            let mut support: Vec<u32> = Vec::new();
            let mut residual: Vec<f64> = row(i).iter().map(|v| v * unit(i)).collect();
            let limit = if form == Form::Matlab { 1e-6 } else { 1e-6 * length(i) };
            while support.len() < sparsity
                && (support.is_empty() || dot(&residual, &residual) >= limit)
            {
                let size = |j: usize| (dot(row(j), &residual) * unit(j)).abs();
                let others = (0..n).filter(|&j| j != i);
                let best = others.reduce(|a, b| if size(b) > size(a) { b } else { a }).unwrap();
                support.push(best as u32);
                residual = row(i).to_vec();
                for (c, &j) in solve(i, &support).iter().zip(&support) {
                    axpy(-c, row(j as usize), &mut residual);
                }
                residual.iter_mut().for_each(|v| *v *= unit(i));
            }
            let c = solve(i, &support);
            support.into_iter().zip(c).collect()
        };
        (0..n).map(one).collect()
    }

    #[test]
    fn the_groups_find_what_single_searches_find_in_every_kind_of_table() {
        let (n, d) = (300, 12);
        let mut values = Stream::new(3).values(n * d);
        values.iter_mut().filter(|v| v.abs() < 0.4).for_each(|v| *v = 0.0);
        let mut sparse = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: d };
        for row in values.chunks_exact(d) {
            for (c, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                sparse.columns.push(c as i64);
                sparse.values.push(*v);
            }
            sparse.offsets.push(sparse.columns.len() as i64);
        }
        let dense = Matrix::Dense64 { values: values.clone(), n_rows: n, n_cols: d };
        for form in [Form::Matlab, Form::Python] {
            let plain = twin(&values, n, d, 4, form);
            for matrix in [&dense, &Matrix::Sparse64(sparse.clone())] {
                let graph = found(matrix, Scale::None, 4, form);
                for i in 0..n {
                    let (columns, values) = graph.row(i);
                    let expected: Vec<u32> = plain[i].iter().map(|e| e.0).collect();
                    assert_eq!(columns, expected, "{form} row {i}");
                    let off = values.iter().zip(&plain[i]).map(|(a, b)| (a - b.1).abs());
                    assert!(off.fold(0.0, f64::max) < 1e-9, "{form} row {i}");
                }
            }
        }
    }

    #[test]
    fn twins_zero_rows_and_orthogonal_rows_end_the_search() {
        let values =
            vec![1.0, 2.0, 0.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0];
        let matrix = Matrix::Dense64 { values, n_rows: 4, n_cols: 4 };
        for form in [Form::Matlab, Form::Python] {
            let graph = found(&matrix, Scale::None, 3, form);
            assert_eq!(graph.offsets, [0, 1, 2, 2, 2]);
            assert_eq!(graph.columns, [1, 0]);
            assert!(near(graph.values[0], 0.5, 1e-14) && near(graph.values[1], 2.0, 1e-14));
        }
    }

    #[test]
    fn groups_fit_their_share_of_memory() {
        assert_eq!(group_len(195_537, 512, 5), 512);
        assert_eq!(group_len(100, 16, 5), 64);
        assert_eq!(group_len(832, 30_000, 20), FEWEST);
        assert!(group_len(50_000, 20_000, 5) * 20_000 * 8 <= GROUP.max(FEWEST * 160_000));
    }
}
