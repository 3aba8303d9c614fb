//! The graph B as sparse rows.

use serde::{Deserialize, Serialize};

/// A sparse N × M matrix of edge weights: row i holds the anchors that sample i is linked to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// Start of every row in the two other arrays, and the end of the last.
    pub offsets: Vec<usize>,
    /// Anchor of every edge, ascending in a row.
    pub columns: Vec<u32>,
    /// Weight of every edge.
    pub values: Vec<f64>,
    /// Number of anchors, M.
    pub n_cols: usize,
}

impl Graph {
    /// A graph without rows.
    pub fn empty(n_cols: usize) -> Self {
        Self { offsets: vec![0], columns: Vec::new(), values: Vec::new(), n_cols }
    }

    /// Number of samples, N.
    pub fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Anchors and weights of one row.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[i]..self.offsets[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Adds a row at the end.
    pub fn push(&mut self, columns: &[u32], values: &[f64]) {
        self.columns.extend_from_slice(columns);
        self.values.extend_from_slice(values);
        self.offsets.push(self.columns.len());
    }

    /// Joins parts one below the other.
    pub fn stack(parts: Vec<Self>, n_cols: usize) -> Self {
        let edges = parts.iter().map(|p| p.columns.len()).sum();
        let rows = parts.iter().map(Self::n_rows).sum::<usize>();
        let mut out = Self {
            offsets: Vec::with_capacity(rows + 1),
            columns: Vec::with_capacity(edges),
            values: Vec::with_capacity(edges),
            n_cols,
        };
        out.offsets.push(0);
        for part in parts {
            let base = out.columns.len();
            out.offsets.extend(part.offsets[1..].iter().map(|o| base + o));
            out.columns.extend(part.columns);
            out.values.extend(part.values);
        }
        out
    }

    /// The graphs on consecutive stretches of the columns, of the widths given.
    pub fn split(&self, widths: &[usize]) -> Vec<Self> {
        let mut parts: Vec<Self> = widths.iter().map(|&w| Self::empty(w)).collect();
        for i in 0..self.n_rows() {
            let (columns, values) = self.row(i);
            let (mut at, mut base) = (0, 0);
            for part in &mut parts {
                let end =
                    at + columns[at..].partition_point(|&c| (c as usize) < base + part.n_cols);
                part.columns.extend(columns[at..end].iter().map(|c| c - base as u32));
                part.values.extend_from_slice(&values[at..end]);
                part.offsets.push(part.columns.len());
                (at, base) = (end, base + part.n_cols);
            }
        }
        parts
    }

    /// Weighted degree of every anchor.
    pub fn degrees(&self, weights: &[f64]) -> Vec<f64> {
        let mut degrees = vec![0.0; self.n_cols];
        for (i, w) in weights.iter().enumerate() {
            let (columns, values) = self.row(i);
            for (&m, v) in columns.iter().zip(values) {
                degrees[m as usize] += w * v;
            }
        }
        degrees
    }

    /// For every anchor the rows that hold it, ascending, with the edge's position within the row.
    pub fn by_column(&self) -> (Vec<usize>, Vec<(u32, u32)>) {
        let mut offsets = vec![0usize; self.n_cols + 1];
        self.columns.iter().for_each(|&m| offsets[m as usize + 1] += 1);
        for m in 0..self.n_cols {
            offsets[m + 1] += offsets[m];
        }
        let mut place = offsets.clone();
        let mut entries = vec![(0u32, 0u32); self.columns.len()];
        for i in 0..self.n_rows() {
            for (at, &m) in self.row(i).0.iter().enumerate() {
                let m = m as usize;
                entries[place[m]] = (i as u32, at as u32);
                place[m] += 1;
            }
        }
        (offsets, entries)
    }
}
