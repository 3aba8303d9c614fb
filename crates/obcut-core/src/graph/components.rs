//! Connected pieces of a bipartite graph.

use super::Graph;

/// A piece with less than this share of an average cluster is a fragment, too small to be one.
const FRAGMENT: f64 = 0.1;
/// Rows of ordinary weight from which a piece that nothing links to the rest can be a cluster.
const SOME_ROWS: f64 = 10.0;

/// The pieces of a graph: a number for every anchor, and the weight of the samples in each piece.
pub struct Components {
    /// Component of every anchor.
    pub of_anchor: Vec<u32>,
    /// Weight of the rows in every component.
    pub mass: Vec<f64>,
}

/// Weight from which a piece can be one of k clusters.
pub fn sizeable(weights: &[f64], k: usize) -> f64 {
    FRAGMENT * weights.iter().sum::<f64>() / k as f64
}

/// The same for the pieces of a graph: when exactly k of them have some rows, none of these is too small.
pub fn sizeable_piece(pieces: &Components, weights: &[f64], k: usize) -> f64 {
    let usual = sizeable(weights, k);
    let mut sorted = weights.to_vec();
    let middle = sorted.len() / 2;
    if sorted.is_empty() {
        return usual;
    }
    let few = SOME_ROWS * *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
    let n_pieces = pieces.mass.iter().filter(|&&mass| mass >= few).count();
    if n_pieces == k { few.min(usual) } else { usual }
}

/// Pieces of a graph that can be one of k clusters.
pub fn n_sizeable(graph: &Graph, weights: &[f64], k: usize) -> usize {
    let smallest = sizeable(weights, k);
    components(graph, weights).mass.iter().filter(|&&mass| mass >= smallest).count()
}

/// Finds the pieces by joining the anchors that share a sample. Anchors without samples are pieces
/// of mass zero. Pieces are numbered by their lowest anchor.
pub fn components(graph: &Graph, weights: &[f64]) -> Components {
    let mut parent: Vec<u32> = (0..graph.n_cols as u32).collect();
    fn root(parent: &mut [u32], mut m: u32) -> u32 {
        while parent[m as usize] != m {
            parent[m as usize] = parent[parent[m as usize] as usize];
            m = parent[m as usize];
        }
        m
    }
    for i in 0..graph.n_rows() {
        let (columns, _) = graph.row(i);
        for pair in columns.windows(2) {
            let (a, b) = (root(&mut parent, pair[0]), root(&mut parent, pair[1]));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut number = vec![u32::MAX; graph.n_cols];
    let mut of_anchor = vec![0; graph.n_cols];
    let mut count = 0;
    for m in 0..graph.n_cols {
        let r = root(&mut parent, m as u32) as usize;
        if number[r] == u32::MAX {
            number[r] = count;
            count += 1;
        }
        of_anchor[m] = number[r];
    }
    let mut mass = vec![0.0; count as usize];
    for (i, w) in weights.iter().enumerate() {
        if let Some(&m) = graph.row(i).0.first() {
            mass[of_anchor[m as usize] as usize] += w;
        }
    }
    Components { of_anchor, mass }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_found_with_their_mass() {
        let mut graph = Graph::empty(6);
        graph.push(&[4, 5], &[0.5, 0.5]);
        graph.push(&[0, 2], &[0.5, 0.5]);
        graph.push(&[2, 3], &[0.5, 0.5]);
        let found = components(&graph, &[1.0, 2.0, 3.0]);
        assert_eq!(found.of_anchor, [0, 1, 0, 0, 2, 2]);
        assert_eq!(found.mass, [5.0, 0.0, 1.0]);
        // An average one of two clusters weighs 3, so 0.3 is enough; one of a hundred, less.
        assert_eq!(n_sizeable(&graph, &[0.2, 2.0, 3.0], 2), 1);
        assert_eq!(n_sizeable(&graph, &[0.2, 2.0, 3.0], 100), 2);
    }
}
