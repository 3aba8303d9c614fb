//! OBCut itself.

pub mod params;
