//! Which anchors a graph links to, and how: the columns of B.
//!
//! A graph has one or several parts side by side. A part is one kind of links to one or several
//! anchor sets of equal size; two parts may use the same anchors, each with columns of its own.

use obcut_core::choice::Named;
use serde::{Deserialize, Serialize};

use crate::graph::kinds;
use crate::params::GraphKind;
use obcut_core::Graph;

/// One kind of links to a stretch of the anchors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GraphBlock {
    /// One of the kinds of links to anchors.
    pub kind: GraphKind,
    /// First of its anchors.
    pub first: usize,
    pub per_set: usize,
    pub n_sets: usize,
    /// Share of a row's weight that lies on this part.
    pub weight: f64,
    /// Links of a row to a set, where they are not as many as the settings say.
    #[serde(default)]
    pub links: Option<usize>,
}

impl GraphBlock {
    /// Anchors over all sets.
    pub fn n_anchors(&self) -> usize {
        self.per_set * self.n_sets
    }
}

/// The parts of a graph, in the order of their columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GraphLayout(pub Vec<GraphBlock>);

impl GraphLayout {
    /// A graph of one kind on all anchors.
    pub fn single(kind: GraphKind, per_set: usize, n_sets: usize) -> Self {
        Self(vec![GraphBlock { kind, first: 0, per_set, n_sets, weight: 1.0, links: None }])
    }

    pub fn n_columns(&self) -> usize {
        self.0.iter().map(GraphBlock::n_anchors).sum()
    }

    /// Anchor of every column.
    pub fn anchor_of_column(&self) -> Vec<u32> {
        (self.0.iter()).flat_map(|p| (p.first..p.first + p.n_anchors()).map(|a| a as u32)).collect()
    }

    /// Anchor sets in use, shared ones counted once.
    pub fn n_sets(&self) -> usize {
        let mut seen = std::collections::BTreeMap::new();
        self.0.iter().for_each(|p| {
            seen.insert(p.first, p.n_sets);
        });
        seen.values().sum()
    }

    /// The kinds by name, joined by a plus.
    pub fn name(&self) -> String {
        self.0.iter().map(|p| p.kind.name()).collect::<Vec<_>>().join("+")
    }

    /// Drops the anchors that no part uses: the layout on the rest, and the rest (in the order they had).
    pub fn compact(&self, anchors: &[f64], d: usize) -> (Self, Vec<f64>) {
        let mut blocks: Vec<(usize, usize)> =
            self.0.iter().map(|p| (p.first, p.n_anchors())).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let mut kept = Vec::new();
        let mut parts = self.0.clone();
        for (first, count) in blocks {
            let moved = kept.len() / d;
            (self.0.iter().zip(&mut parts))
                .filter(|(p, _)| p.first == first)
                .for_each(|(_, p)| p.first = moved);
            kept.extend_from_slice(&anchors[first * d..(first + count) * d]);
        }
        (Self(parts), kept)
    }

    /// Whether the parts make sense for this many anchors: a check of files.
    pub fn fits(&self, n_anchors: usize) -> bool {
        !self.0.is_empty()
            && self.0.iter().all(|p| {
                let count = p.per_set.checked_mul(p.n_sets);
                let end = count.and_then(|c| c.checked_add(p.first));
                kinds::of(p.kind).is_some()
                    && count.is_some_and(|c| c > 0)
                    && end.is_some_and(|end| end <= n_anchors)
                    && p.weight.is_finite()
                    && p.weight > 0.0
                    && p.links != Some(0)
            })
    }
}

/// Puts graphs of the same rows side by side; the weight of every one is `share` of its own.
pub(crate) fn join(graphs: &[&Graph], share: f64) -> Graph {
    let n = graphs.first().map_or(0, |g| g.n_rows());
    let edges = graphs.iter().map(|g| g.columns.len()).sum();
    let mut out = Graph {
        offsets: Vec::with_capacity(n + 1),
        columns: Vec::with_capacity(edges),
        values: Vec::with_capacity(edges),
        n_cols: graphs.iter().map(|g| g.n_cols).sum(),
    };
    out.offsets.push(0);
    for i in 0..n {
        let mut base = 0;
        for graph in graphs {
            let (columns, values) = graph.row(i);
            out.columns.extend(columns.iter().map(|c| c + base));
            out.values.extend(values.iter().map(|v| v * share));
            base += graph.n_cols as u32;
        }
        out.offsets.push(out.columns.len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: GraphKind, first: usize, per_set: usize, n_sets: usize) -> GraphBlock {
        GraphBlock { kind, first, per_set, n_sets, weight: 0.5, links: None }
    }

    #[test]
    fn unused_anchors_are_dropped_and_shared_ones_kept_once() {
        let layout = GraphLayout(vec![
            part(GraphKind::Local, 4, 1, 2),
            part(GraphKind::Global, 4, 1, 2),
            part(GraphKind::Distance, 1, 2, 1),
        ]);
        let anchors: Vec<f64> = (0..6).map(f64::from).collect();
        let (compact, kept) = layout.compact(&anchors, 1);
        assert_eq!(kept, [1.0, 2.0, 4.0, 5.0]);
        assert_eq!(compact.anchor_of_column(), [2, 3, 2, 3, 0, 1]);
        assert_eq!((compact.n_sets(), compact.n_columns()), (3, 6));
        assert!(compact.fits(4) && !compact.fits(3));
        assert_eq!(compact.name(), "local+global+distance");
    }

    #[test]
    fn a_part_may_have_its_own_number_of_links_and_old_files_have_none() {
        let old = r#"{"kind":"distance","first":0,"per_set":4,"n_sets":1,"weight":1.0}"#;
        let part: GraphBlock = serde_json::from_str(old).unwrap();
        assert_eq!(part.links, None);
        // States are written without names, so that every field must be there.
        for links in [None, Some(40)] {
            let part = GraphBlock { links, ..part };
            let bytes = postcard::to_allocvec(&part).unwrap();
            assert_eq!(postcard::from_bytes::<GraphBlock>(&bytes).unwrap(), part);
        }
        let fits = |links| GraphLayout(vec![GraphBlock { links, ..part }]).fits(4);
        assert!(fits(None) && fits(Some(40)) && !fits(Some(0)));
    }

    #[test]
    fn joined_rows_stand_side_by_side() {
        let (mut a, mut b) = (Graph::empty(2), Graph::empty(3));
        a.push(&[1], &[1.0]);
        b.push(&[0, 2], &[0.25, 0.75]);
        let both = join(&[&a, &b], 0.5);
        assert_eq!(both.row(0), (&[1u32, 2, 4][..], &[0.5, 0.125, 0.375][..]));
        assert_eq!(both.n_cols, 5);
    }
}
