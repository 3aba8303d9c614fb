//! Rows of the first graph B0. Each kind of graph is a file in [`kinds`]; the s largest links of a row are kept.
//!
//! All rows lie on the simplex. Several anchor sets stand side by side with weight 1/sets each. A
//! row depends on its own sample alone: fit and predict make the same bits.

use std::ops::Range;

use crate::graph::kinds::{self, AnchorSet, LinkRow, RowLinks};
use crate::graph::layout::{GraphBlock, GraphLayout};
use crate::params::Params;
use obcut_core::Graph;
use obcut_core::block::{BLOCK, Block, Points, Scratch};
use obcut_core::error::Error;
use obcut_core::linalg::row::RowProduct;
use obcut_core::parallel::Context;
use obcut_core::table::Table;

/// Weights below this are rounding, not edges.
const EDGE: f64 = 1e-12;

/// Makes rows of B from anchors.
pub(crate) struct GraphBuilder {
    parts: Vec<Linked>,
    n_columns: usize,
}

/// A prepared part.
struct Linked {
    part: GraphBlock,
    /// Its first column.
    base: usize,
    /// Links of a row to a set.
    n_links: usize,
    /// The sets.
    sets: Vec<Box<dyn LinkRow>>,
}

/// The row of B that is being made.
#[derive(Default)]
struct Row {
    kept: Vec<(f64, u32)>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl GraphBuilder {
    pub fn new(params: &Params, layout: &GraphLayout, points: &Points, ridge: f64) -> Self {
        let d = points.values.len() / points.n;
        let mut n_columns = 0;
        let linked = |&part: &GraphBlock| {
            let kind = kinds::of(part.kind).expect("a part links rows to anchors");
            let n_links = part.links.unwrap_or(params.n_neighbors).max(1);
            let anchors = part.first * d..(part.first + part.n_anchors()) * d;
            let sets = (points.values[anchors].chunks_exact(part.per_set * d))
                .map(|anchors| {
                    let set = AnchorSet { anchors, n: part.per_set, d, n_links, ridge };
                    kind.prepare(&set, params)
                })
                .collect();
            let base = n_columns;
            n_columns += part.n_anchors();
            Linked { part, base, n_links, sets }
        };
        let parts = layout.0.iter().map(linked).collect();
        Self { parts, n_columns }
    }

    /// The rows of B for all rows of a table.
    pub fn build(
        &self,
        table: &Table<'_>,
        points: &Points,
        context: &Context<'_>,
    ) -> Result<Graph, Error> {
        let parts = context.map(table.n(), |range| self.build_range(table, points, range))?;
        Ok(Graph::stack(parts, self.n_columns))
    }

    /// The rows of B for some rows of a table.
    pub fn build_range(&self, table: &Table<'_>, points: &Points, range: Range<usize>) -> Graph {
        let mut graph = Graph::empty(self.n_columns);
        let mut scratch = Scratch::default();
        let (mut links, mut row) = (RowLinks::new(), Row::default());
        for start in range.clone().step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(range.end);
            let block = table.block(rows.clone(), points, &mut scratch);
            for r in 0..rows.len() {
                self.link(&block, r, &mut links, &mut row);
                graph.push(&row.columns, &row.values);
            }
        }
        graph
    }

    /// The row of B of a dense table with one row: the same bits as in a block.
    pub fn build_one(
        &self,
        table: &Table<'_>,
        points: &Points,
        product: Option<&RowProduct>,
    ) -> Graph {
        let Some(product) = product else { return self.build_range(table, points, 0..1) };
        let mut scratch = Scratch::default();
        let block = table.single_row(points, product, &mut scratch);
        let mut graph = Graph::empty(self.n_columns);
        let mut row = Row::default();
        self.link(&block, 0, &mut RowLinks::new(), &mut row);
        graph.push(&row.columns, &row.values);
        graph
    }

    /// The links of a row of a block to all parts.
    fn link(&self, block: &Block<'_>, r: usize, links: &mut RowLinks, row: &mut Row) {
        row.columns.clear();
        row.values.clear();
        for linked in &self.parts {
            for (place, set) in linked.places().zip(&linked.sets) {
                set.link(block, r, place, links);
                linked.keep(links, row);
            }
        }
    }
}

impl Linked {
    /// The anchors of every set.
    fn places(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let GraphBlock { first, per_set, n_sets, .. } = self.part;
        (0..n_sets).map(move |set| first + set * per_set..first + (set + 1) * per_set)
    }

    /// Keeps the largest links of a row to a set, rescaled to the weight of the set.
    fn keep(&self, links: &RowLinks, row: &mut Row) {
        row.kept.clear();
        for (&m, &b) in links.anchors.iter().zip(&links.weights) {
            if b > EDGE {
                row.kept.push((b, m));
            }
        }
        row.kept.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        row.kept.truncate(self.n_links);
        row.kept.sort_by_key(|p| p.1);
        let total: f64 = row.kept.iter().map(|p| p.0).sum();
        let GraphBlock { first, n_sets, weight, .. } = self.part;
        for &(b, m) in &row.kept {
            row.columns.push((m as usize - first + self.base) as u32);
            row.values.push(b / total / n_sets as f64 * weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::GraphKind;
    use obcut_core::linalg::simd::{dot, squared_distance};
    use obcut_core::matrix::DenseRef;
    use obcut_core::normalize::Scaling;
    use obcut_core::observer::Silent;
    use obcut_core::random::Stream;

    fn build(
        kind: GraphKind,
        x: &[f64],
        anchors: &[f64],
        d: usize,
        s: usize,
        sets: usize,
    ) -> Graph {
        let scaling = Scaling::identity(d);
        let table = Table::new(DenseRef::new(x, x.len() / d, d).unwrap().into(), &scaling);
        let points = table.points(anchors.to_vec());
        let params = Params { graph: kind, n_neighbors: s, ..Params::new(2) };
        let context = Context::new(1, &Silent).unwrap();
        let layout = GraphLayout::single(kind, points.n / sets, sets);
        GraphBuilder::new(&params, &layout, &points, 0.0).build(&table, &points, &context).unwrap()
    }

    /// Random rows of the simplex on given anchors, to try and beat a solution with.
    fn rivals(s: usize) -> Vec<Vec<f64>> {
        (0..200)
            .map(|i| {
                let draw: Vec<f64> =
                    Stream::new(i).values(s).iter().map(|v| (v + 1.0).powi(3)).collect();
                let total: f64 = draw.iter().sum();
                draw.iter().map(|v| v / total).collect()
            })
            .collect()
    }

    #[test]
    fn a_distance_row_is_the_closed_form_on_the_nearest_anchors() {
        let anchors = [0.0, 1.0, 3.0, 6.0, 10.0];
        let graph = build(GraphKind::Distance, &[0.5], &anchors, 1, 2, 1);
        // Squared distances .25, .25, 6.25: two links of weight 6 each.
        assert_eq!(graph.row(0), (&[0u32, 1][..], &[0.5, 0.5][..]));
        let graph = build(GraphKind::Distance, &[1.5], &anchors, 1, 2, 1);
        // Nearest 1 (.25), then 0 and 3 (2.25 each): the third distance equals the second.
        assert_eq!(graph.row(0), (&[1u32][..], &[1.0][..]));
    }

    #[test]
    fn the_links_of_a_part_count_before_those_of_the_settings() {
        let (d, x) = (3, Stream::new(1).values(3 * 20));
        let anchors = Stream::new(2).values(3 * 30);
        let scaling = Scaling::identity(d);
        let table = Table::new(DenseRef::new(&x, 20, d).unwrap().into(), &scaling);
        let points = table.points(anchors.clone());
        let context = Context::new(1, &Silent).unwrap();
        for kind in [GraphKind::Distance, GraphKind::Local, GraphKind::Global] {
            let mut layout = GraphLayout::single(kind, 30, 1);
            layout.0[0].links = Some(7);
            let params = Params { n_neighbors: 2, ..Params::new(2) };
            let builder = GraphBuilder::new(&params, &layout, &points, 0.0);
            let graph = builder.build(&table, &points, &context).unwrap();
            assert_eq!(graph, build(kind, &x, &anchors, d, 7, 1));
        }
    }

    #[test]
    fn a_distance_row_solves_its_small_problem() {
        let (d, m, s) = (4, 12, 5);
        let x = Stream::new(1).values(d);
        let anchors = Stream::new(2).values(m * d);
        let graph = build(GraphKind::Distance, &x, &anchors, d, s, 1);
        let mut distances: Vec<(f64, u32)> =
            (anchors.chunks_exact(d).zip(0..)).map(|(a, m)| (squared_distance(&x, a), m)).collect();
        distances.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The weight g for which exactly s anchors take part.
        let total: f64 = distances[..s].iter().map(|p| distances[s].0 - p.0).sum();
        let g = total / 2.0;
        let value =
            |b: &[f64]| -> f64 { b.iter().zip(&distances).map(|(b, p)| b * p.0 + g * b * b).sum() };
        let (columns, values) = graph.row(0);
        let ours: Vec<f64> = distances[..s]
            .iter()
            .map(|p| columns.iter().position(|c| *c == p.1).map_or(0.0, |at| values[at]))
            .collect();
        assert!((ours.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(rivals(s).iter().all(|b| value(b) >= value(&ours) - 1e-12));
        assert!(rivals(m).iter().all(|b| value(b) >= value(&ours) - 1e-12));
    }

    #[test]
    fn local_and_global_rows_reconstruct_better_than_any_rival() {
        let (d, m, s) = (6, 9, 4);
        let x = Stream::new(3).values(d);
        let anchors = Stream::new(4).values(m * d);
        let error = |columns: &[u32], b: &[f64]| -> f64 {
            let mut rest = x.clone();
            for (&c, b) in columns.iter().zip(b) {
                let a = &anchors[c as usize * d..(c as usize + 1) * d];
                rest.iter_mut().zip(a).for_each(|(r, a)| *r -= b * a);
            }
            dot(&rest, &rest)
        };
        let mut order: Vec<u32> = (0..m as u32).collect();
        order.sort_by(|&a, &b| error(&[a], &[1.0]).total_cmp(&error(&[b], &[1.0])));
        let local = build(GraphKind::Local, &x, &anchors, d, s, 1);
        let (columns, values) = local.row(0);
        assert!(columns.iter().all(|c| order[..s].contains(c)));
        // The ridge costs a little.
        let ours = error(columns, values);
        assert!(rivals(s).iter().all(|b| error(&order[..s], b) >= ours - 2e-3 * ours));
        let global = build(GraphKind::Global, &x, &anchors, d, m, 1);
        let (columns, values) = global.row(0);
        let ours = error(columns, values);
        assert!(
            rivals(m).iter().all(|b| error(&(0..m as u32).collect::<Vec<_>>(), b) >= ours - 1e-9)
        );
    }

    #[test]
    fn several_sets_stand_side_by_side_with_equal_weight() {
        let anchors = Stream::new(7).values(12);
        let x = Stream::new(8).values(2);
        for kind in kinds::all() {
            let both = build(kind, &x, &anchors, 2, 2, 2);
            let (first, second) =
                (build(kind, &x, &anchors[..6], 2, 2, 1), build(kind, &x, &anchors[6..], 2, 2, 1));
            let (columns, values) = both.row(0);
            let expected: Vec<(u32, f64)> = (first.row(0).0.iter().copied())
                .chain(second.row(0).0.iter().map(|c| c + 3))
                .zip(first.row(0).1.iter().chain(second.row(0).1).map(|v| v / 2.0))
                .collect();
            let found: Vec<(u32, f64)> =
                columns.iter().copied().zip(values.iter().copied()).collect();
            assert_eq!(found.len(), expected.len());
            for (a, b) in found.iter().zip(&expected) {
                assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-12, "{kind}");
            }
        }
    }
}
