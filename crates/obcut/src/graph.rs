//! Bipartite graphs between rows and anchors.

pub(crate) mod bipartite;
pub(crate) mod kinds;
pub(crate) mod layout;
