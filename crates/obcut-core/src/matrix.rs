//! The matrices that callers hold: N × d samples, dense or sparse, single or double precision,
//! borrowed. Row-major N × d read column by column *is* the paper's d × N, so nothing is copied.

use crate::error::{DataError, Error, ParamError};

/// A dense row-major matrix, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct DenseRef<'a, T> {
    values: &'a [T],
    n_rows: usize,
    n_cols: usize,
}

impl<'a, T: Copy> DenseRef<'a, T> {
    /// Wraps `n_rows` × `n_cols` values stored row after row.
    ///
    /// ```
    /// use obcut_core::DenseRef;
    ///
    /// let rows = DenseRef::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2)?;
    /// assert_eq!(rows.row(1), [3.0, 4.0]);
    /// # Ok::<(), obcut_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the number of values is not the product of the two.
    pub fn new(values: &'a [T], n_rows: usize, n_cols: usize) -> Result<Self, Error> {
        if n_rows.checked_mul(n_cols) != Some(values.len()) {
            return Err(DataError::Shape { n_values: values.len(), n_rows, n_cols }.into());
        }
        Ok(Self { values, n_rows, n_cols })
    }

    /// One row.
    pub fn row(&self, i: usize) -> &'a [T] {
        &self.values[i * self.n_cols..(i + 1) * self.n_cols]
    }

    /// All values, row after row.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }
}

/// Integers of any of the usual widths, as SciPy and Rust keep them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Ints<'a> {
    /// 32 bits.
    I32(&'a [i32]),
    /// 64 bits.
    I64(&'a [i64]),
    /// As wide as an address.
    Usize(&'a [usize]),
}

impl Ints<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::I32(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::Usize(v) => v.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `i`-th, signed as stored.
    pub fn at(&self, i: usize) -> i64 {
        match self {
            Self::I32(v) => i64::from(v[i]),
            Self::I64(v) => v[i],
            Self::Usize(v) => i64::try_from(v[i]).unwrap_or(-1),
        }
    }
}

macro_rules! ints {
    ($($variant:ident($type:ty)),+) => {$(
        impl<'a> From<&'a [$type]> for Ints<'a> {
            fn from(values: &'a [$type]) -> Self {
                Self::$variant(values)
            }
        }

        impl<'a> From<&'a Vec<$type>> for Ints<'a> {
            fn from(values: &'a Vec<$type>) -> Self {
                Self::$variant(values)
            }
        }

        impl<'a, const N: usize> From<&'a [$type; N]> for Ints<'a> {
            fn from(values: &'a [$type; N]) -> Self {
                Self::$variant(values)
            }
        }
    )+};
}

ints!(I32(i32), I64(i64), Usize(usize));

/// A sparse matrix in compressed rows (CSR), borrowed. Columns of a row may come in any order;
/// an entry given twice counts as the sum.
#[derive(Clone, Copy, Debug)]
pub struct CsrRef<'a, T> {
    offsets: Ints<'a>,
    columns: Ints<'a>,
    values: &'a [T],
    n_cols: usize,
    n_folded: usize,
}

impl<'a, T: Copy> CsrRef<'a, T> {
    /// Wraps the three arrays of a CSR matrix: `offsets` (n_rows + 1), `columns` and `values`. Offsets and columns are
    /// slices, arrays or vectors of `i32`, `i64` or `usize`.
    ///
    /// ```
    /// use obcut_core::CsrRef;
    ///
    /// let (offsets, columns): (Vec<usize>, Vec<i32>) = (vec![0, 1, 3], vec![2, 0, 2]);
    /// let rows = CsrRef::new(&offsets, &columns, &[1.0, 4.0, 2.0], 3)?;
    /// assert_eq!(rows.row(1).collect::<Vec<_>>(), [(0, 4.0), (2, 2.0)]);
    /// # Ok::<(), obcut_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When offsets do not rise from 0 to the number of values, or a column is out of range.
    pub fn new(
        offsets: impl Into<Ints<'a>>,
        columns: impl Into<Ints<'a>>,
        values: &'a [T],
        n_cols: usize,
    ) -> Result<Self, Error> {
        let (offsets, columns) = (offsets.into(), columns.into());
        if columns.len() != values.len() {
            return Err(DataError::Csr(format!(
                "{} column indices for {} values",
                columns.len(),
                values.len()
            ))
            .into());
        }
        if offsets.is_empty() || offsets.at(0) != 0 {
            return Err(DataError::Csr("row offsets must start with 0".into()).into());
        }
        if offsets.at(offsets.len() - 1) != values.len() as i64 {
            return Err(DataError::Csr(format!(
                "row offsets end at {} but there are {} values",
                offsets.at(offsets.len() - 1),
                values.len()
            ))
            .into());
        }
        if let Some(i) = (1..offsets.len()).find(|&i| offsets.at(i) < offsets.at(i - 1)) {
            return Err(DataError::Csr(format!("row offsets fall at row {}", i - 1)).into());
        }
        if let Some(p) = (0..columns.len()).find(|&p| {
            let c = columns.at(p);
            c < 0 || c >= n_cols as i64
        }) {
            return Err(DataError::Csr(format!(
                "column index {} is outside 0..{n_cols}",
                columns.at(p)
            ))
            .into());
        }
        Ok(Self { offsets, columns, values, n_cols, n_folded: 0 })
    }

    /// The same matrix, whose last column stands for this many more without entries.
    #[doc(hidden)]
    #[must_use]
    pub fn standing_for(self, n_folded: usize) -> Self {
        Self { n_folded, ..self }
    }

    /// The stored entries of one row as (column, value).
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, T)> + use<'a, T> {
        let (start, end) = (self.offsets.at(i) as usize, self.offsets.at(i + 1) as usize);
        let (columns, values) = (self.columns, self.values);
        (start..end).map(move |p| (columns.at(p) as usize, values[p]))
    }

    /// Visits the stored entries of one row; the width of the indices is looked at once.
    pub fn each(&self, i: usize, mut visit: impl FnMut(usize, T)) {
        let (start, end) = (self.offsets.at(i) as usize, self.offsets.at(i + 1) as usize);
        let values = &self.values[start..end];
        match self.columns {
            Ints::I32(c) => {
                c[start..end].iter().zip(values).for_each(|(&c, &v)| visit(c as usize, v))
            }
            Ints::I64(c) => {
                c[start..end].iter().zip(values).for_each(|(&c, &v)| visit(c as usize, v))
            }
            Ints::Usize(c) => c[start..end].iter().zip(values).for_each(|(&c, &v)| visit(c, v)),
        }
    }

    /// Whether the columns of every row rise, so that none is given twice.
    pub fn is_canonical(&self) -> bool {
        (0..self.n_rows()).all(|i| {
            let mut last = -1;
            let mut rising = true;
            self.each(i, |c, _| {
                rising &= c as i64 > last;
                last = c as i64;
            });
            rising
        })
    }

    /// A copy with rising columns, entries given twice added up.
    pub fn canonical(&self) -> Csr<T>
    where
        T: std::ops::Add<Output = T>,
    {
        let mut out =
            Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: self.n_cols };
        let mut row: Vec<(usize, T)> = Vec::new();
        for i in 0..self.n_rows() {
            row.clear();
            row.extend(self.row(i));
            row.sort_by_key(|entry| entry.0);
            let start = out.columns.len();
            for &(c, v) in &row {
                if out.columns.len() > start && out.columns.last() == Some(&(c as i64)) {
                    let last = out.values.len() - 1;
                    out.values[last] = out.values[last] + v;
                } else {
                    out.columns.push(c as i64);
                    out.values.push(v);
                }
            }
            out.offsets.push(out.columns.len() as i64);
        }
        out
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Number of stored entries.
    pub fn n_stored(&self) -> usize {
        self.values.len()
    }

    /// Columns without entries that the last column stands for, beside itself.
    #[doc(hidden)]
    pub fn n_folded(&self) -> usize {
        self.n_folded
    }
}

/// The rows to cluster: the four kinds of matrix that are read in place.
#[derive(Clone, Copy, Debug)]
pub enum Samples<'a> {
    /// Dense, single precision.
    Dense32(DenseRef<'a, f32>),
    /// Dense, double precision.
    Dense64(DenseRef<'a, f64>),
    /// Sparse, single precision.
    Sparse32(CsrRef<'a, f32>),
    /// Sparse, double precision.
    Sparse64(CsrRef<'a, f64>),
}

impl<'a> Samples<'a> {
    /// Number of samples, N.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Dense32(x) => x.n_rows(),
            Self::Dense64(x) => x.n_rows(),
            Self::Sparse32(x) => x.n_rows(),
            Self::Sparse64(x) => x.n_rows(),
        }
    }

    /// Number of features, d.
    pub fn n_cols(&self) -> usize {
        match self {
            Self::Dense32(x) => x.n_cols(),
            Self::Dense64(x) => x.n_cols(),
            Self::Sparse32(x) => x.n_cols(),
            Self::Sparse64(x) => x.n_cols(),
        }
    }

    /// Visits the values of a row with their columns; of a sparse one the stored entries.
    pub fn each(&self, i: usize, mut visit: impl FnMut(usize, f64)) {
        match self {
            Self::Dense32(x) => {
                x.row(i).iter().enumerate().for_each(|(f, &v)| visit(f, f64::from(v)));
            }
            Self::Dense64(x) => x.row(i).iter().enumerate().for_each(|(f, &v)| visit(f, v)),
            Self::Sparse32(x) => x.each(i, |f, v| visit(f, f64::from(v))),
            Self::Sparse64(x) => x.each(i, visit),
        }
    }

    /// Runs `work` on the matrix with entries given twice added up and columns in order: on the
    /// matrix itself when it is so already, else on a copy.
    #[doc(hidden)]
    pub fn with_canonical<R>(
        &self,
        work: impl FnOnce(&Samples<'_>) -> Result<R, crate::Error>,
    ) -> Result<R, crate::Error> {
        match self {
            Self::Sparse32(x) if !x.is_canonical() => {
                let own = x.canonical();
                let (offsets, columns) = (Ints::I64(&own.offsets), Ints::I64(&own.columns));
                work(&CsrRef::new(offsets, columns, &own.values, own.n_cols)?.into())
            }
            Self::Sparse64(x) if !x.is_canonical() => {
                let own = x.canonical();
                let (offsets, columns) = (Ints::I64(&own.offsets), Ints::I64(&own.columns));
                work(&CsrRef::new(offsets, columns, &own.values, own.n_cols)?.into())
            }
            _ => work(self),
        }
    }

    /// Whether `n_clusters` can be made from the samples, by their number alone.
    ///
    /// # Errors
    /// When the table is empty, or has fewer rows than clusters.
    pub fn check_clusters(&self, n_clusters: usize) -> Result<(), Error> {
        let (n_rows, n_cols) = (self.n_rows(), self.n_cols());
        if n_rows == 0 || n_cols == 0 {
            return Err(DataError::Empty { n_rows, n_cols }.into());
        }
        if n_clusters == 0 {
            return Err(ParamError::NoClusters.into());
        }
        if n_clusters > n_rows {
            return Err(ParamError::TooManyClusters { n_clusters, n_samples: n_rows }.into());
        }
        Ok(())
    }

    /// Number of stored entries: of dense rows all.
    #[doc(hidden)]
    pub fn n_stored(&self) -> usize {
        match self {
            Self::Dense32(x) => x.values().len(),
            Self::Dense64(x) => x.values().len(),
            Self::Sparse32(x) => x.n_stored(),
            Self::Sparse64(x) => x.n_stored(),
        }
    }

    /// Columns without entries that the last column stands for, beside itself.
    #[doc(hidden)]
    pub fn n_folded(&self) -> usize {
        match self {
            Self::Dense32(_) | Self::Dense64(_) => 0,
            Self::Sparse32(x) => x.n_folded(),
            Self::Sparse64(x) => x.n_folded(),
        }
    }

    /// The most columns that can hold an entry, and one for all others.
    #[doc(hidden)]
    pub fn width_at_most(&self) -> usize {
        self.n_cols().min(self.n_stored().saturating_add(1))
    }

    /// Whether the matrix is stored sparse.
    pub fn is_sparse(&self) -> bool {
        matches!(self, Self::Sparse32(_) | Self::Sparse64(_))
    }
}

impl<'a> From<DenseRef<'a, f32>> for Samples<'a> {
    fn from(x: DenseRef<'a, f32>) -> Self {
        Self::Dense32(x)
    }
}

impl<'a> From<DenseRef<'a, f64>> for Samples<'a> {
    fn from(x: DenseRef<'a, f64>) -> Self {
        Self::Dense64(x)
    }
}

impl<'a> From<CsrRef<'a, f32>> for Samples<'a> {
    fn from(x: CsrRef<'a, f32>) -> Self {
        Self::Sparse32(x)
    }
}

impl<'a> From<CsrRef<'a, f64>> for Samples<'a> {
    fn from(x: CsrRef<'a, f64>) -> Self {
        Self::Sparse64(x)
    }
}

/// An owned matrix of samples, as generators make it and files give it.
#[derive(Clone, Debug, PartialEq)]
pub enum Matrix {
    /// Dense, single precision, row-major.
    Dense32 {
        /// Row after row.
        values: Vec<f32>,
        /// Number of rows.
        n_rows: usize,
        /// Number of columns.
        n_cols: usize,
    },
    /// Dense, double precision, row-major.
    Dense64 {
        /// Row after row.
        values: Vec<f64>,
        /// Number of rows.
        n_rows: usize,
        /// Number of columns.
        n_cols: usize,
    },
    /// Sparse rows, single precision.
    Sparse32(Csr<f32>),
    /// Sparse rows, double precision.
    Sparse64(Csr<f64>),
}

/// An owned CSR matrix with 64-bit indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<T> {
    /// Start of every row in the two other arrays, and the end of the last.
    pub offsets: Vec<i64>,
    /// Column of every stored entry.
    pub columns: Vec<i64>,
    /// Value of every stored entry.
    pub values: Vec<T>,
    /// Number of columns.
    pub n_cols: usize,
}

impl Matrix {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Dense32 { n_rows, .. } | Self::Dense64 { n_rows, .. } => *n_rows,
            Self::Sparse32(x) => x.offsets.len().saturating_sub(1),
            Self::Sparse64(x) => x.offsets.len().saturating_sub(1),
        }
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        match self {
            Self::Dense32 { n_cols, .. } | Self::Dense64 { n_cols, .. } => *n_cols,
            Self::Sparse32(x) => x.n_cols,
            Self::Sparse64(x) => x.n_cols,
        }
    }

    /// Borrows the matrix for a fit.
    ///
    /// # Errors
    /// When the arrays do not fit together.
    pub fn samples(&self) -> Result<Samples<'_>, Error> {
        Ok(match self {
            Self::Dense32 { values, n_rows, n_cols } => {
                DenseRef::new(values, *n_rows, *n_cols)?.into()
            }
            Self::Dense64 { values, n_rows, n_cols } => {
                DenseRef::new(values, *n_rows, *n_cols)?.into()
            }
            Self::Sparse32(x) => {
                CsrRef::new(Ints::I64(&x.offsets), Ints::I64(&x.columns), &x.values, x.n_cols)?
                    .into()
            }
            Self::Sparse64(x) => {
                CsrRef::new(Ints::I64(&x.offsets), Ints::I64(&x.columns), &x.values, x.n_cols)?
                    .into()
            }
        })
    }
}

/// Anything that can be viewed as rows of numbers. Implement it for a table of your own, to cluster it without a copy.
///
/// ```
/// use obcut_core::{DenseRef, Error, Rows, Samples};
///
/// struct Points(Vec<[f32; 3]>);
///
/// impl Rows for Points {
///     fn samples(&self) -> Result<Samples<'_>, Error> {
///         Ok(DenseRef::new(self.0.as_flattened(), self.0.len(), 3)?.into())
///     }
/// }
///
/// let points = Points(vec![[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]);
/// assert_eq!(points.samples()?.n_rows(), 2);
/// # Ok::<(), obcut_core::Error>(())
/// ```
pub trait Rows {
    /// The view.
    ///
    /// # Errors
    /// When the rows cannot be viewed: their arrays contradict each other, or are not contiguous.
    fn samples(&self) -> Result<Samples<'_>, Error>;
}

impl Rows for Samples<'_> {
    fn samples(&self) -> Result<Samples<'_>, Error> {
        Ok(*self)
    }
}

impl Rows for Matrix {
    fn samples(&self) -> Result<Samples<'_>, Error> {
        Self::samples(self)
    }
}

/// Rows that are a borrowed view already.
macro_rules! borrowed {
    ($($type:ident<$value:ty>),+) => {$(
        impl Rows for $type<'_, $value> {
            fn samples(&self) -> Result<Samples<'_>, Error> {
                Ok((*self).into())
            }
        }
    )+};
}

borrowed!(DenseRef<f32>, DenseRef<f64>, CsrRef<f32>, CsrRef<f64>);

/// Arrays of the crate `ndarray`, rows first.
#[cfg(feature = "ndarray")]
macro_rules! arrays {
    ($($value:ty),+) => {$(
        impl<S: ndarray::Data<Elem = $value>> Rows for ndarray::ArrayBase<S, ndarray::Ix2, $value> {
            fn samples(&self) -> Result<Samples<'_>, Error> {
                let values = self.as_slice().ok_or(DataError::NotContiguous)?;
                Ok(DenseRef::new(values, self.nrows(), self.ncols())?.into())
            }
        }
    )+};
}

#[cfg(feature = "ndarray")]
arrays!(f32, f64);
