//! What can go wrong, with the numbers at fault and what to do about it.

/// Any failure of a fit, a prediction or a model file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is wrong, by itself or for this data.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// The data cannot be clustered.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A factorisation did not converge.
    #[error("numeric failure in {stage}: {detail}")]
    Numeric {
        /// The step that failed.
        stage: &'static str,
        /// What it reported.
        detail: String,
    },
    /// A model file is damaged, foreign or too new.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Rows that are read in pieces could not be read.
    #[error("rows {} to {} cannot be read: {detail}", rows.start, rows.end.saturating_sub(1))]
    Read {
        /// The rows asked for.
        rows: std::ops::Range<usize>,
        /// What went wrong, with the file at fault.
        detail: String,
    },
    /// The observer asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamError {
    /// k = 0.
    #[error("the number of clusters is 0; set it to 1 or more")]
    NoClusters,
    /// k > N.
    #[error(
        "{n_clusters} clusters cannot be made from {n_samples} rows; set k to {n_samples} or less"
    )]
    TooManyClusters {
        /// Clusters asked for.
        n_clusters: usize,
        /// Rows there are.
        n_samples: usize,
    },
    /// M < k.
    #[error(
        "{n_anchors} anchors cannot hold {n_clusters} clusters; set anchors to {n_clusters} or more"
    )]
    TooFewAnchors {
        /// Anchors asked for.
        n_anchors: usize,
        /// Clusters asked for.
        n_clusters: usize,
    },
    /// Any other setting out of its range.
    #[error("{name} = {value} is out of range; {hint}")]
    Range {
        /// Name of the setting.
        name: &'static str,
        /// What it was set to.
        value: String,
        /// What it may be.
        hint: &'static str,
    },
    /// A word that names no choice.
    #[error("unknown {name} '{value}'; choose one of {choices}")]
    Choice {
        /// Name of the setting.
        name: &'static str,
        /// What it was set to.
        value: String,
        /// The words it may be.
        choices: String,
    },
    /// Given labels, anchors or weights have the wrong length.
    #[error("{found} {name} were given; {expected} are needed")]
    Length {
        /// What was given.
        name: &'static str,
        /// How many entries it has.
        found: usize,
        /// How many it must have.
        expected: usize,
    },
    /// A given start does not hold labels 0..k, each at least once.
    #[error("the given start labels must hold every number from 0 to {last}: {problem}")]
    StartLabels {
        /// k - 1.
        last: usize,
        /// What is wrong.
        problem: String,
    },
    /// A method would need more memory than it may use.
    #[error(
        "{method} needs {} for {n_samples} rows; limit {}; use --method obcut or a sample",
        size(*.needed),
        size(*.limit)
    )]
    Memory {
        /// Name of the method.
        method: &'static str,
        /// Bytes it would need.
        needed: u64,
        /// Bytes it may use.
        limit: u64,
        /// Rows there are.
        n_samples: usize,
    },
    /// Two settings exclude each other.
    #[error("{0}")]
    Conflict(String),
}

/// Data that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// No rows or no columns.
    #[error(
        "the table is empty ({n_rows} rows x {n_cols} columns); at least one row and one column are needed"
    )]
    Empty {
        /// Rows.
        n_rows: usize,
        /// Columns.
        n_cols: usize,
    },
    /// Number of values and shape disagree.
    #[error("{n_values} values cannot be {n_rows} rows x {n_cols} columns")]
    Shape {
        /// Values given.
        n_values: usize,
        /// Rows claimed.
        n_rows: usize,
        /// Columns claimed.
        n_cols: usize,
    },
    /// Arrays of a sparse matrix disagree.
    #[error("the sparse matrix is broken: {0}")]
    Csr(String),
    /// NaN or infinity.
    #[error(
        "row {row}, column {col} is {value}; {count} such value(s) in all: remove or fill them first (rows and columns count from 0)"
    )]
    NotFinite {
        /// First row with such a value, from 0.
        row: usize,
        /// Its column, from 0.
        col: usize,
        /// The value.
        value: f64,
        /// How many values of the table are not finite.
        count: usize,
    },
    /// A value so large that its square overflows.
    #[error(
        "row {row}, column {col} is {value:e}; values beyond {limit:e} overflow: rescale the column"
    )]
    TooLarge {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        col: usize,
        /// The value.
        value: f64,
        /// The largest magnitude that is accepted.
        limit: f64,
    },
    /// A weight that is negative or not finite.
    #[error("the weight of row {row} is {weight}; weights must be finite and not negative")]
    Weight {
        /// Row, from 0.
        row: usize,
        /// Its weight.
        weight: f64,
    },
    /// Weights of a large table that are too large, too small or too different to be added up.
    #[error(
        "the weight of row {row} is {weight:e}; in a table of so many rows weights must lie between 1e-100 and 1e100, and none above 1e7 times the mean of the others: rescale or cap them"
    )]
    WeightRange {
        /// Row, from 0.
        row: usize,
        /// Its weight.
        weight: f64,
    },
    /// All weights are zero.
    #[error("all sample weights are 0; at least one row needs a positive weight")]
    NoWeight,
    /// Fewer than k distinct rows.
    #[error(
        "{n_clusters} clusters need as many distinct rows of positive weight, but there are only {n_distinct}; set k to {n_distinct} or less"
    )]
    TooFewDistinct {
        /// Distinct rows.
        n_distinct: usize,
        /// Clusters asked for.
        n_clusters: usize,
    },
    /// An edge of a graph is negative.
    #[error(
        "the graph has a negative entry {value} at row {row}, column {col}; edge weights must be 0 or more"
    )]
    NegativeEdge {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        col: usize,
        /// The entry.
        value: f64,
    },
    /// A node of a graph has no edge.
    #[error("the graph has no edges at all")]
    NoEdges,
    /// predict got another number of features.
    #[error(
        "the rows have {found} features but the model was fitted on {expected}; choose the same columns as then"
    )]
    Features {
        /// Features of the rows given.
        found: usize,
        /// Features of the model.
        expected: usize,
    },
    /// More rows than 32-bit row numbers can name.
    #[error(
        "{n_rows} rows are more than this build can hold in memory (2^32 - 2); fit on a sample and predict the rest"
    )]
    TooManyRows {
        /// Rows.
        n_rows: usize,
    },
}

/// A model file that cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Not a safetensors file, or cut short.
    #[error("not a readable model: {0}; the file is damaged, truncated or not a model")]
    Damaged(String),
    /// A safetensors file of somebody else.
    #[error("a safetensors file, but not an obcut model: {0}")]
    Foreign(String),
    /// Written by a newer program.
    #[error("the model has format {found}; this program reads up to {supported}: update obcut")]
    Newer {
        /// Format of the file.
        found: u32,
        /// Newest format this program knows.
        supported: u32,
    },
}

/// Bytes in words: GB, or MB below one.
fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes < 1e9 => format!("{:.0} MB", bytes / 1e6),
        bytes => format!("{:.0} GB", bytes / 1e9),
    }
}
