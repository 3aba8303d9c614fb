//! Errors: enums that carry the numbers at fault.
//!
//! Messages name parameters between backticks. A front end replaces them by what its users type, see
//! `spell` in `obcut::params`.

/// Any failure of a fit, a prediction or a model file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is wrong, by itself or for this data.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// The data cannot be clustered.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A factorization did not converge.
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
    /// The state of an interrupted fit cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The threads of a fit could not be started.
    #[error("cannot start {n_threads} threads: {detail}")]
    Threads {
        /// Threads asked for; 0 is all cores.
        n_threads: usize,
        /// What the system said.
        detail: String,
    },
    /// Something could not be written or read while a fit ran.
    #[error("cannot {action}")]
    Io {
        /// What was tried, as "write labels to the scratch file".
        action: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A source of rows (`RowSource` in `obcut`) could not deliver rows.
    #[error("cannot read rows {} to {}", rows.start, rows.end.saturating_sub(1))]
    Read {
        /// The rows asked for.
        rows: std::ops::Range<usize>,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A source of rows changed between two readings of it, so that its rows no longer belong together.
    #[error("{name} changed while it was read; start again when nothing writes to it")]
    Changed {
        /// The source that changed, as the user named it.
        name: String,
    },
    /// The observer asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// A parameter that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamError {
    /// k = 0.
    #[error("`n_clusters` is 0; set it to 1 or more")]
    NoClusters,
    /// k > N.
    #[error(
        "{n_clusters} clusters need at least as many rows, but there are only {n_samples}; set `n_clusters` to {n_samples} or less"
    )]
    TooManyClusters {
        /// Clusters asked for.
        n_clusters: usize,
        /// Rows there are.
        n_samples: usize,
    },
    /// M < k.
    #[error(
        "{n_clusters} clusters need at least as many anchors, but there are only {n_anchors}; set `n_anchors` to {n_clusters} or more"
    )]
    TooFewAnchors {
        /// Anchors asked for.
        n_anchors: usize,
        /// Clusters asked for.
        n_clusters: usize,
    },
    /// A value out of its range.
    #[error("`{name}` is {value}, but must be {expected}")]
    Range {
        /// Name of the parameter.
        name: &'static str,
        /// What it was set to.
        value: String,
        /// What it may be.
        expected: String,
    },
    /// A name that no parameter has.
    #[error("unknown parameter '{name}'{}", near.map_or(String::new(), |near| format!("; did you mean '{near}'?")))]
    Unknown {
        /// The name.
        name: String,
        /// A parameter with a similar name.
        near: Option<&'static str>,
    },
    /// A value of the wrong type.
    #[error("`{name}` cannot be {value}: {detail}")]
    Unreadable {
        /// Name of the parameter.
        name: String,
        /// What it was set to.
        value: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The number of given anchors contradicts `n_anchors` and `n_anchor_sets`.
    #[error(
        "{found} anchors are given, which contradicts `n_anchors` and `n_anchor_sets`; leave those at their defaults"
    )]
    AnchorCount {
        /// Anchors given.
        found: usize,
    },
    /// Given anchors cannot be divided into sets.
    #[error("{n_anchors} given anchors cannot be divided into {n_sets} sets of equal size")]
    AnchorSets {
        /// Anchors given.
        n_anchors: usize,
        /// Sets asked for.
        n_sets: usize,
    },
    /// The cosine metric with a scaling that does not give rows unit length.
    #[error(
        "`metric=cosine` scales rows to length 1, which `scale={scale}` does not; leave `scale` at its default"
    )]
    CosineScale {
        /// The scaling asked for.
        scale: &'static str,
    },
    /// The number of clusters cannot be chosen on given anchors.
    #[error(
        "the number of clusters cannot be chosen on given anchors, since that takes several anchor sets; give a number or no anchors"
    )]
    ChooseOnAnchors,
    /// The number of clusters cannot be chosen with given start labels.
    #[error("the number of clusters cannot be chosen with given start labels; give a number")]
    ChooseOnLabels,
    /// A range of numbers of clusters that the rows are too few for.
    #[error(
        "{n_rows} distinct rows are too few to choose the number of clusters from {low} to {high}; give a number"
    )]
    ChooseFrom {
        /// The lower end.
        low: usize,
        /// The upper end.
        high: usize,
        /// Distinct rows to choose on.
        n_rows: usize,
    },
    /// No row of the coreset has one of the start labels.
    #[error("no row of the coreset has the start label {label}; set `core_rows=all`")]
    CoresetLabel {
        /// The label.
        label: u32,
    },
    /// A word that names no choice.
    #[error("unknown `{name}` '{value}'; choose one of {choices}")]
    Choice {
        /// Name of the parameter.
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
    #[error("the start labels must contain every number from 0 to {last}: {problem}")]
    StartLabels {
        /// k - 1.
        last: usize,
        /// What is wrong.
        problem: String,
    },
    /// A method would need more memory than it may use.
    #[error(
        "{method} needs {} for {n_samples} rows, but the limit is {}; use fewer rows or `method=obcut`, or raise `memory`",
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
    /// A setting of another method is out of its range.
    #[error("setting '{name}' is {value}, but must be {expected}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// What it was set to.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// Settings of another method that contradict each other, in that method's words.
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
    /// An array whose rows do not lie one after the other in memory.
    #[error("the rows are not contiguous in memory; copy them to standard layout first")]
    NotContiguous,
    /// Arrays of a sparse matrix disagree.
    #[error("the sparse matrix is invalid: {0}")]
    Csr(String),
    /// Points of a table with very many columns, which cannot be laid out whole.
    #[error(
        "{n_points} points of {n_cols} columns take {bytes} bytes; up to {limit} are laid out. Columns without entries need not be declared"
    )]
    TooWide {
        /// Number of points.
        n_points: usize,
        /// Columns of the table.
        n_cols: usize,
        /// Bytes of the points.
        bytes: u64,
        /// The largest number of bytes.
        limit: u64,
    },
    /// A fit that needs more memory than it may use.
    #[error(
        "the fit needs about {} of memory in addition to the table, more than the {} that it may use; free memory, or use fewer rows or columns",
        size(*.needed),
        size(*.limit)
    )]
    Memory {
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that it may use.
        limit: u64,
    },
    /// NaN or infinity.
    #[error(
        "row {row}, column {col} is {value}; {count} such value(s) in all: remove or impute them first (rows and columns count from 0)"
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
        "the weight of row {row} is {weight:e}; in a table of this size weights must lie between 1e-100 and 1e100, and none may exceed 1e7 times the mean of the others: rescale or cap them"
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
        "{n_clusters} clusters need as many distinct rows of positive weight, but there are only {n_distinct}; set `n_clusters` to {n_distinct} or less"
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
        "the rows have {found} features, but the model was fitted on {expected}; use the same columns"
    )]
    Features {
        /// Features of the rows given.
        found: usize,
        /// Features of the model.
        expected: usize,
    },
    /// More rows than 32-bit row numbers can name.
    #[error(
        "{n_rows} rows are more than this build can hold in memory (2^32 - 2); fit a sample and predict the rest"
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
    /// The arrays or the header cannot be written.
    #[error("the model cannot be written: {0}")]
    Unwritable(String),
    /// Written by a newer program.
    #[error("the model has format {found}, but this version reads up to {supported}; update obcut")]
    Newer {
        /// Format of the file.
        found: u32,
        /// Newest format this program knows.
        supported: u32,
    },
}

/// The state of an interrupted fit that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The bytes are damaged, or another version wrote them.
    #[error("the saved state is damaged or was written by another version: {0}")]
    Damaged(String),
    /// The state cannot be written as bytes.
    #[error("the state cannot be saved: {0}")]
    Unwritable(String),
    /// The state was saved for another table, other parameters or by another version.
    #[error(
        "the saved state belongs to another table, other parameters or another version; start again without it"
    )]
    OtherFit,
    /// The state was saved for other weights.
    #[error("the saved state belongs to other sample weights; start again without it")]
    OtherWeights,
    /// Partial results of different passes were merged.
    #[error("partial results of different passes cannot be merged")]
    Mixed,
    /// There are no partial results to merge.
    #[error("there are no partial results to merge")]
    Nothing,
}

/// Bytes in words: GB, or MB below one.
fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes < 1e9 => format!("{:.0} MB", bytes / 1e6),
        bytes => format!("{:.0} GB", bytes / 1e9),
    }
}
