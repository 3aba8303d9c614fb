//! Cosines of blocks of rows with columns: what residuals are correlated with.

use std::collections::HashMap;

use obcut_core::block::{BLOCK, Points, Products, Scratch};
use obcut_core::linalg::gemm::Real;
use obcut_core::linalg::simd::vectorised;
use obcut_core::table::Table;

/// A residual as a sum of columns of cosines.
pub(super) struct Probe {
    pub row: usize,
    pub terms: Vec<((usize, usize), f32)>,
    /// By how much its products may be off.
    pub slack: f32,
}

/// Where the columns of rows are: in which panel, at which place.
#[derive(Default)]
pub(super) struct TileColumns {
    pub place: HashMap<u32, (usize, usize)>,
    pub n_panels: usize,
}

/// Some rows, and their cosines with the columns.
pub(super) struct Tile {
    pub start: usize,
    /// One for every set of columns that was added: columns × BLOCK.
    pub panels: Vec<Vec<f32>>,
    /// The largest correlation of every probe.
    pub tops: Vec<f32>,
}

impl TileColumns {
    /// Finds a place for the column of a row in the next panel, unless it has one.
    pub fn expect(&mut self, row: u32, panel: &mut Vec<u32>) {
        self.place.entry(row).or_insert_with(|| {
            panel.push(row);
            (self.n_panels, panel.len() - 1)
        });
    }
}

impl Tile {
    pub fn new(start: usize) -> Self {
        Self { start, panels: Vec::new(), tops: Vec::new() }
    }

    /// Adds the cosines with some more columns.
    pub fn add(&mut self, table: &Table<'_>, points: &Points, unit: &[f64]) {
        let mut panel = vec![0.0; points.n * BLOCK];
        if points.n > 0 {
            let rows = self.start..(self.start + BLOCK).min(table.n());
            let mut scratch = Scratch::default();
            let block = table.block(rows.clone(), points, &mut scratch);
            match &block.products {
                Products::Single { values, .. } => turn(values, &unit[rows], &mut panel),
                Products::Double { values, .. } => turn(values, &unit[rows], &mut panel),
            }
        }
        self.panels.push(panel);
    }

    /// Takes down the largest correlation of every probe.
    pub fn look<'p>(&mut self, probes: impl Iterator<Item = &'p Probe>, weight: &[f32]) {
        let mut values = [0.0; BLOCK];
        let tops = probes
            .map(|probe| {
                self.correlations(probe, weight, &mut values);
                values.iter().copied().fold(0.0, f32::max)
            })
            .collect();
        self.tops = tops;
    }

    /// Sizes of the correlations of the rows with a probe, none with its own row.
    pub fn correlations(&self, probe: &Probe, weight: &[f32], out: &mut [f32; BLOCK]) {
        vectorised(
            #[inline(always)]
            || {
                let mut sums = [0.0; BLOCK];
                for &((panel, at), factor) in &probe.terms {
                    let column = &self.panels[panel][at * BLOCK..(at + 1) * BLOCK];
                    sums.iter_mut().zip(column).for_each(|(s, c)| *s += factor * c);
                }
                let weight = &weight[self.start..self.start + BLOCK];
                for (out, (s, w)) in out.iter_mut().zip(sums.iter().zip(weight)) {
                    *out = s.abs() * w;
                }
            },
        );
        if (self.start..self.start + BLOCK).contains(&probe.row) {
            out[probe.row - self.start] = 0.0;
        }
    }
}

/// Products (rows × columns) times what makes the rows of unit length, turned: columns × BLOCK.
fn turn<T: Real>(products: &[T], unit: &[f64], out: &mut [f32]) {
    const SIDE: usize = 16;
    let m = out.len() / BLOCK;
    vectorised(
        #[inline(always)]
        || {
            for first in (0..m).step_by(SIDE) {
                for (r, &unit) in unit.iter().enumerate() {
                    for c in first..(first + SIDE).min(m) {
                        out[c * BLOCK + r] = (products[r * m + c].to_f64() * unit) as f32;
                    }
                }
            }
        },
    );
}
