//! Dense linear algebra on row-major slices: the one folder that names the array backend (faer).
//!
//! Every call is single-threaded, so results do not depend on the number of threads; callers work on
//! row chunks side by side.

pub mod eigen;
pub mod factor;
pub mod gemm;
pub mod row;
pub mod simd;
