//! The criterion that the cut stands for, from its definition: Eq. `eq:BiCut`.

use crate::{DataError, Error, ParamError};
use obcut_core::Rows;

/// The terms of [`bipartite_cut`], each with a value for every cluster.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CutTerms {
    /// Edges from the rows of the cluster to columns of others, over its rows.
    pub leaving: Vec<f64>,
    /// Edges from rows of other clusters to the columns of the cluster, over its columns.
    pub entering: Vec<f64>,
    /// Edges inside the cluster times `(1/sqrt(rows) - 1/sqrt(columns))^2`.
    pub uneven: Vec<f64>,
    /// Degrees of the rows of the cluster, over its rows. Is subtracted.
    pub row_degrees: Vec<f64>,
    /// Degrees of the columns of the cluster, over its columns. Is subtracted.
    pub column_degrees: Vec<f64>,
    /// The criterion: the first three minus the last two, over all clusters.
    pub total: f64,
}

/// The criterion of the bipartite graph cut for given clusters of rows and columns; less is better.
///
/// The graph is a table of non-negative edges, as [`cut`](crate::cut()) takes it. The clusters are
/// `0..k`, the largest label being `k - 1`. The total is −2 Σ e_j / √(r_j c_j), where e_j are the edges
/// inside cluster j, r_j its rows and c_j its columns (the theorem of the paper), and the terms say what it
/// is made of. The terms that divide by the size of an empty side are 0.
///
/// ```
/// use obcut::{Matrix, metrics};
///
/// let counts = Matrix::Dense64 { values: vec![3.0, 0.0, 1.0, 1.0], n_rows: 2, n_cols: 2 };
/// let terms = metrics::bipartite_cut(&counts, &[0, 1], &[0, 1])?;
/// assert_eq!((terms.leaving, terms.entering), (vec![0.0, 1.0], vec![1.0, 0.0]));
/// assert_eq!(terms.total, -2.0 * (3.0 + 1.0));
/// # Ok::<(), obcut::Error>(())
/// ```
///
/// # Errors
/// For negative or non-finite edges, labels that are not one per row and column, and labels as large as the
/// number of rows and columns together.
pub fn bipartite_cut(
    graph: &impl Rows,
    row_labels: &[u32],
    column_labels: &[u32],
) -> Result<CutTerms, Error> {
    let graph = graph.samples()?;
    let (n, m) = (graph.n_rows(), graph.n_cols());
    for (name, found, expected) in
        [("row_labels", row_labels.len(), n), ("column_labels", column_labels.len(), m)]
    {
        if found != expected {
            return Err(ParamError::Length { name, found, expected }.into());
        }
    }
    let labels = || row_labels.iter().chain(column_labels);
    let k = labels().max().map_or(0, |&largest| largest as usize + 1);
    if k > n + m {
        let expected = format!("below {}, the number of rows and columns", n + m);
        return Err(
            ParamError::Range { name: "label", value: (k - 1).to_string(), expected }.into()
        );
    }
    let (mut rows, mut columns) = (vec![0.0; k], vec![0.0; k]);
    row_labels.iter().for_each(|&j| rows[j as usize] += 1.0);
    column_labels.iter().for_each(|&j| columns[j as usize] += 1.0);
    // Edges by where they begin and end.
    let (mut inside, mut leaving, mut entering) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
    let mut bad: Option<(usize, usize, f64)> = None;
    let mut count = 0;
    for (i, &from) in row_labels.iter().enumerate() {
        let from = from as usize;
        let mut negative = None;
        graph.each(i, |column, edge| {
            let to = column_labels[column] as usize;
            if !edge.is_finite() {
                count += 1;
                bad = bad.or(Some((i, column, edge)));
            } else if edge < 0.0 {
                negative = Some((column, edge));
            } else if from == to {
                inside[from] += edge;
            } else {
                leaving[from] += edge;
                entering[to] += edge;
            }
        });
        if let Some((col, value)) = negative {
            return Err(DataError::NegativeEdge { row: i, col, value }.into());
        }
    }
    if let Some((row, col, value)) = bad {
        return Err(DataError::NotFinite { row, col, value, count }.into());
    }
    let over = |sum: f64, size: f64| if size > 0.0 { sum / size } else { 0.0 };
    let uneven = |j: usize| match (rows[j], columns[j]) {
        (r, c) if r > 0.0 && c > 0.0 => {
            inside[j] * (1.0 / f64::sqrt(r) - 1.0 / f64::sqrt(c)).powi(2)
        }
        _ => 0.0,
    };
    let mut terms = CutTerms {
        uneven: (0..k).map(uneven).collect(),
        row_degrees: (0..k).map(|j| over(inside[j] + leaving[j], rows[j])).collect(),
        column_degrees: (0..k).map(|j| over(inside[j] + entering[j], columns[j])).collect(),
        leaving: (0..k).map(|j| over(leaving[j], rows[j])).collect(),
        entering: (0..k).map(|j| over(entering[j], columns[j])).collect(),
        total: 0.0,
    };
    let CutTerms { leaving, entering, uneven, row_degrees, column_degrees, .. } = &terms;
    terms.total = (0..k)
        .map(|j| leaving[j] + entering[j] + uneven[j] - row_degrees[j] - column_degrees[j])
        .sum();
    Ok(terms)
}
