//! Shortest paths on sparse graphs (Dijkstra), whose values are lengths and not negative.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use obcut::{Error, Graph};
use obcut_core::parallel::Context;

/// Steps between two questions whether to go on.
const STEPS: usize = 1 << 16;

/// Distance of every node to its nearest seed, and which of the seeds that is; of equally near ones
/// the first. `None` where no path leads.
pub(crate) fn nearest_seeds(
    graph: &Graph,
    seeds: &[u32],
    context: &Context<'_>,
) -> Result<Vec<Option<(f64, u32)>>, Error> {
    let mut found: Vec<Option<(f64, u32)>> = vec![None; graph.n_rows()];
    // The bits of numbers that are not negative are in the order of the numbers.
    let mut open: BinaryHeap<Reverse<(u64, u32, u32)>> =
        seeds.iter().enumerate().map(|(s, &node)| Reverse((0, s as u32, node))).collect();
    let mut steps = 0;
    while let Some(Reverse((bits, seed, node))) = open.pop() {
        steps += 1;
        if steps % STEPS == 0 {
            context.check()?;
        }
        if found[node as usize].is_some() {
            continue;
        }
        let distance = f64::from_bits(bits);
        found[node as usize] = Some((distance, seed));
        let (columns, lengths) = graph.row(node as usize);
        for (&next, length) in columns.iter().zip(lengths) {
            if found[next as usize].is_none() {
                open.push(Reverse(((distance + length).to_bits(), seed, next)));
            }
        }
    }
    Ok(found)
}

/// Distances between all nodes (n × n), infinite where no path leads.
pub(crate) fn between(graph: &Graph, context: &Context<'_>) -> Result<Vec<f64>, Error> {
    let n = graph.n_rows();
    let rows = context.each(n, |from| -> Result<Vec<f64>, Error> {
        let found = nearest_seeds(graph, &[from as u32], context)?;
        Ok(found.into_iter().map(|f| f.map_or(f64::INFINITY, |f| f.0)).collect())
    })?;
    let mut all = Vec::with_capacity(n * n);
    for row in rows {
        all.extend(row?);
    }
    Ok(all)
}

/// The connected parts of the nodes that `wanted` names: a number for each of them, in the order of
/// their first nodes.
pub(crate) fn components(
    graph: &Graph,
    wanted: impl Fn(usize) -> bool,
) -> (Vec<Option<u32>>, usize) {
    let mut part = vec![None; graph.n_rows()];
    let mut count = 0;
    for first in 0..graph.n_rows() {
        if part[first].is_some() || !wanted(first) {
            continue;
        }
        let mut open = vec![first as u32];
        part[first] = Some(count as u32);
        while let Some(node) = open.pop() {
            for &next in graph.row(node as usize).0 {
                if part[next as usize].is_none() && wanted(next as usize) {
                    part[next as usize] = Some(count as u32);
                    open.push(next);
                }
            }
        }
        count += 1;
    }
    (part, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut::Silent;
    use obcut_core::random::Stream;

    /// A symmetric graph with lengths in tenths, so that there are ties.
    fn random_graph(n: usize, share: f64) -> (Graph, Vec<f64>) {
        let draws = Stream::new(8).values(2 * n * n);
        let mut lengths = vec![f64::INFINITY; n * n];
        for i in 0..n {
            for j in 0..i {
                if draws[i * n + j].abs() < share {
                    let length = (draws[n * n + i * n + j].abs() * 8.0).ceil() / 8.0;
                    lengths[i * n + j] = length;
                    lengths[j * n + i] = length;
                }
            }
        }
        let mut graph = Graph::empty(n);
        for row in lengths.chunks_exact(n) {
            let columns: Vec<u32> =
                (0..n as u32).filter(|&j| row[j as usize].is_finite()).collect();
            let values: Vec<f64> = columns.iter().map(|&j| row[j as usize]).collect();
            graph.push(&columns, &values);
        }
        (graph, lengths)
    }

    /// All pairs after Floyd and Warshall.
    fn plain(mut lengths: Vec<f64>, n: usize) -> Vec<f64> {
        (0..n).for_each(|i| lengths[i * n + i] = 0.0);
        for via in 0..n {
            for i in 0..n {
                for j in 0..n {
                    let detour = lengths[i * n + via] + lengths[via * n + j];
                    lengths[i * n + j] = lengths[i * n + j].min(detour);
                }
            }
        }
        lengths
    }

    #[test]
    fn paths_equal_those_of_floyd_and_warshall_and_ties_go_to_the_first_seed() {
        let context = Context::new(2, &Silent).unwrap();
        for share in [0.02, 0.05, 0.3] {
            let n = 60;
            let (graph, lengths) = random_graph(n, share);
            let expected = plain(lengths, n);
            assert_eq!(between(&graph, &context).unwrap(), expected);
            let seeds = [7, 3, 50, 21];
            let found = nearest_seeds(&graph, &seeds, &context).unwrap();
            for i in 0..n {
                let mut best = None;
                for (s, &seed) in seeds.iter().enumerate() {
                    let distance = expected[seed as usize * n + i];
                    if distance < best.map_or(f64::INFINITY, |b: (f64, u32)| b.0) {
                        best = Some((distance, s as u32));
                    }
                }
                assert_eq!(found[i], best);
            }
        }
    }

    #[test]
    fn components_are_numbered_by_their_first_nodes() {
        let mut graph = Graph::empty(5);
        for row in [&[4][..], &[3], &[], &[1], &[0]] {
            graph.push(row, &vec![1.0; row.len()]);
        }
        let (part, count) = components(&graph, |i| i > 0);
        assert_eq!((part, count), (vec![None, Some(0), Some(1), Some(0), Some(2)], 3));
    }
}
