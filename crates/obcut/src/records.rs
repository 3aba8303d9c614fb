//! Records of a fit: plain data that the solver writes and every front end reads.

mod explanation;
mod trace;

pub use explanation::{
    CandidateScore, ClusterInfo, Explanation, FeatureInfo, KPath, KScore, Merge,
};
pub use trace::{LargeTrace, StopReason, Trace};
