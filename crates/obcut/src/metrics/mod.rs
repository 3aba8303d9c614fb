//! How well a clustering agrees with known classes: NMI, accuracy, purity and adjusted Rand index. And the
//! criterion of the cut, [`bipartite_cut`], which knows no classes.
//!
//! The scores against classes are fractions of 1 (the adjusted Rand index may be negative), none depends on how clusters
//! and classes are numbered, and the numbers may have gaps. All work on the non-empty cells of the
//! cluster × class table only, of which there are never more than samples, so that even a table of
//! every sample against every sample costs no memory.

mod accuracy;
mod ami;
mod ari;
mod bipartite;
mod contingency;
mod hungarian;
mod nmi;
mod purity;

pub use bipartite::{CutTerms, bipartite_cut};
pub use contingency::Contingency;
pub use nmi::Average;

use crate::Error;
use contingency::CountCells;

/// The four scores of one clustering.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Scores {
    /// Normalized mutual information, over the larger of the two entropies.
    pub nmi: f64,
    /// Share of samples whose cluster is matched with their class, under the best matching.
    pub acc: f64,
    /// Share of samples that belong to the largest class of their cluster.
    pub purity: f64,
    /// Adjusted Rand index: 0 on average for random labels, 1 for equal partitions.
    pub ari: f64,
}

/// All four scores at the price of one table.
///
/// # Errors
/// When there are no samples, or the two slices differ in length.
pub fn scores(labels: &[u32], truth: &[u32]) -> Result<Scores, Error> {
    let cells = CountCells::count(labels, truth)?;
    Ok(Scores {
        nmi: nmi::of(&cells, Average::Max),
        acc: accuracy::of(&cells),
        purity: purity::of(&cells),
        ari: ari::of(&cells),
    })
}

/// Mutual information of clusters and classes, divided by the given average of their entropies.
///
/// One cluster against one class scores 1; one cluster against several classes scores 0.
///
/// # Errors
/// When there are no samples, or the two slices differ in length.
pub fn nmi(labels: &[u32], truth: &[u32], average: Average) -> Result<f64, Error> {
    Ok(nmi::of(&CountCells::count(labels, truth)?, average))
}

/// Share of samples whose cluster is matched with their class, under the matching of clusters to
/// classes that makes this largest. Clusters or classes left over count as wrong.
///
/// # Errors
/// When there are no samples, or the two slices differ in length.
pub fn accuracy(labels: &[u32], truth: &[u32]) -> Result<f64, Error> {
    Ok(accuracy::of(&CountCells::count(labels, truth)?))
}

/// Share of samples that belong to the largest class of their cluster. Grows with the number of
/// clusters: one cluster per sample scores 1.
///
/// # Errors
/// When there are no samples, or the two slices differ in length.
pub fn purity(labels: &[u32], truth: &[u32]) -> Result<f64, Error> {
    Ok(purity::of(&CountCells::count(labels, truth)?))
}

/// Adjusted Rand index: agreement on pairs of samples, corrected for chance.
///
/// # Errors
/// When there are no samples, or the two slices differ in length.
pub fn ari(labels: &[u32], truth: &[u32]) -> Result<f64, Error> {
    Ok(ari::of(&CountCells::count(labels, truth)?))
}

/// Adjusted mutual information: what clusters and classes share beyond chance, over the mean of their
/// entropies. Takes time proportional to the samples times the number of clusters or classes.
///
/// # Errors
/// When there are no samples, or the two slices differ in length.
pub fn ami(labels: &[u32], truth: &[u32]) -> Result<f64, Error> {
    Ok(ami::of(&CountCells::count(labels, truth)?))
}

#[cfg(test)]
mod tests;
