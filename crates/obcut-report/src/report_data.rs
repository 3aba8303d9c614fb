//! The data on rows in a report. Its size does not grow with the number of rows.
//!
//! It is computed from the rows when a report is requested: a map of some thousand rows, a plot of their links, a
//! histogram of all margins, and a few rows by index.

mod rows;

use obcut::{Error, Fit, Matrix, Model, Observer, RowScore, RowSource, Samples};

pub use rows::RowChoice;
use rows::{Picked, spread};

/// Maximum number of rows on the map, unless there are more clusters.
pub const MAP_ROWS: usize = 3000;
/// Maximum number of rows and columns of cells in the plot of the graph, unless there are more clusters.
const CELLS: usize = 160;
/// Number of bins of the histogram.
const BINS: usize = 40;
/// Number of least certain rows in the list.
const UNCERTAIN: usize = 20;
/// Number of rows that are read at once from a table in pieces.
const PORTION: usize = 1000;
/// Number of typical rows per cluster.
const TYPICAL: usize = 5;

/// The data on rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportData {
    /// Number of rows.
    pub n_rows: usize,
    /// Number of rows in the sample, if the data is that of a sample: for tables that are read in pieces.
    pub looked_at: Option<usize>,
    /// The map of some rows.
    pub map: Map,
    /// Links between rows and anchors.
    pub links: Links,
    /// Margins of the rows; `None` if there is only one cluster.
    pub margins: Option<Margins>,
    /// The rows nearest to the mean of every cluster.
    pub typical: Vec<Vec<u64>>,
}

/// A map of rows. All lists have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// Indices of the rows, from 0.
    pub rows: Vec<u64>,
    /// Clusters of the rows.
    pub labels: Vec<u32>,
    /// Margins of the rows.
    pub margins: Vec<f64>,
    /// Horizontal positions on the map.
    pub x: Vec<f64>,
    /// Vertical positions on the map.
    pub y: Vec<f64>,
}

/// The bipartite graph as a grid of cells, with rows and anchors sorted by cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    /// Number of rows in the plot.
    pub n_rows: usize,
    /// Number of columns of the graph: the anchors, for every kind of link.
    pub n_columns: usize,
    /// Cluster of every row of cells.
    pub row_clusters: Vec<u32>,
    /// Cluster of every column of cells.
    pub column_clusters: Vec<u32>,
    /// Row, column and strength (0 to 1) of the cells that are not empty.
    pub cells: Vec<(u32, u32, f64)>,
}

/// The certainty of the labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Margins {
    /// Smallest value of the histogram.
    pub from: f64,
    /// Largest value of the histogram.
    pub to: f64,
    /// Number of rows per bin.
    pub counts: Vec<u64>,
    /// Mean margin of every cluster.
    pub means: Vec<f64>,
    /// The least certain rows, in ascending order of the margin.
    pub uncertain: Vec<Uncertain>,
}

/// A row with an uncertain label.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncertain {
    /// Index of the row, from 0.
    pub row: u64,
    /// Cluster of the row.
    pub label: u32,
    /// Second-best cluster of the row.
    pub second: u32,
    /// Margin of the row.
    pub margin: f64,
}

/// Rows with the labels of a fit.
#[derive(Clone, Copy, Debug)]
pub struct LabelledRows<'a> {
    /// The rows.
    pub samples: &'a Samples<'a>,
    /// Cluster of every row.
    pub labels: &'a [u32],
    /// Margin of every row.
    pub margins: &'a [f64],
    /// Sample weights, if there are any.
    pub weights: Option<&'a [f64]>,
}

impl ReportData {
    /// Describes the rows of a fit.
    ///
    /// # Errors
    /// When rows do not fit the model, or the observer cancels.
    pub fn of_fit(
        fit: &Fit,
        samples: &Samples<'_>,
        weights: Option<&[f64]>,
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        Self::of_scores(fit.model(), fit.rows(), samples, weights, threads, observer)
    }

    /// Describes rows that the model has labelled.
    ///
    /// # Errors
    /// When rows do not fit the model, or the observer cancels.
    pub fn of_scores(
        model: &Model,
        scores: &[RowScore],
        samples: &Samples<'_>,
        weights: Option<&[f64]>,
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        let labels: Vec<u32> = scores.iter().map(|score| score.label).collect();
        let margins: Vec<f64> = scores.iter().map(|score| score.margin).collect();
        let rows = LabelledRows { samples, labels: &labels, margins: &margins, weights };
        Self::new(model, &rows, threads, observer)
    }

    /// Describes rows that the model labels first.
    ///
    /// # Errors
    /// When rows do not fit the model, or the observer cancels.
    pub fn of_rows(
        model: &Model,
        samples: &Samples<'_>,
        weights: Option<&[f64]>,
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        let scores = model.on(samples)?.threads(threads).observer(observer).rows()?;
        Self::of_scores(model, &scores, samples, weights, threads, observer)
    }

    /// Describes a table that is read in pieces by a sample of its rows, given by ascending indices. A sample of
    /// about [`Self::sample`] rows is enough, and a [`RowChoice`] finds a good one. `weights` are those of all rows.
    ///
    /// # Errors
    /// When rows cannot be read or do not fit the model, or the observer cancels.
    pub fn of_source(
        model: &Model,
        source: &dyn RowSource,
        rows: &[u64],
        weights: Option<&[f64]>,
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        let matrix = gathered(source, rows, observer)?;
        let weights: Option<Vec<f64>> =
            weights.map(|weights| rows.iter().map(|&row| weights[row as usize]).collect());
        // If all rows of the sample have weight 0, they get equal weights.
        let weights = weights.filter(|weights| weights.iter().any(|&weight| weight > 0.0));
        let samples = matrix.samples()?;
        let mut data = Self::of_rows(model, &samples, weights.as_deref(), threads, observer)?;
        let number = |row: &mut u64| *row = rows[*row as usize];
        data.map.rows.iter_mut().for_each(number);
        data.typical.iter_mut().flatten().for_each(number);
        let uncertain = data.margins.iter_mut().flat_map(|margins| &mut margins.uncertain);
        uncertain.for_each(|found| number(&mut found.row));
        data.looked_at = (rows.len() < source.n_rows()).then_some(rows.len());
        data.n_rows = source.n_rows();
        Ok(data)
    }

    /// Size of the sample for a table that is read in pieces: 20,000 rows, or about 64 MB.
    pub fn sample(n_features: usize) -> usize {
        (8_000_000 / n_features.max(1)).clamp(1, 20_000)
    }

    /// Describes labelled rows. The result is the same for any number of threads.
    ///
    /// # Errors
    /// When rows do not fit the model, or the observer cancels.
    pub fn new(
        model: &Model,
        rows: &LabelledRows<'_>,
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        let k = model.n_clusters();
        let typical = model.on(rows.samples)?.threads(threads).observer(observer).medoids(
            rows.labels,
            rows.weights,
            TYPICAL,
        )?;
        let chosen = spread(rows.labels, k, MAP_ROWS);
        let mut map = Map::default();
        let mut links = LinkCells::new(model, &chosen, rows.labels);
        for part in chosen.chunks(batch(rows.samples.n_cols())) {
            let picked = Picked::new(rows.samples, part);
            let samples = picked.samples()?;
            let places = model.on(&samples)?.threads(threads).observer(observer).layout_2d()?;
            let graph = model.on(&samples)?.threads(threads).observer(observer).graph()?;
            for (i, &row) in part.iter().enumerate() {
                let (columns, values) = graph.row(i);
                links.add(map.rows.len(), columns, values);
                map.rows.push(row.into());
                map.labels.push(rows.labels[row as usize]);
                map.margins.push(rounded(rows.margins[row as usize]));
                map.x.push(rounded(places[2 * i]));
                map.y.push(rounded(places[2 * i + 1]));
            }
        }
        let margins =
            if k < 2 { None } else { Some(Margins::new(model, rows, threads, observer)?) };
        let n_rows = rows.samples.n_rows();
        let number = |rows: Vec<u32>| rows.into_iter().map(u64::from).collect();
        let typical = typical.into_iter().map(number).collect();
        Ok(Self { n_rows, looked_at: None, map, links: links.finish(), margins, typical })
    }
}

impl Margins {
    fn new(
        model: &Model,
        rows: &LabelledRows<'_>,
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        let k = model.n_clusters();
        let finite = || rows.margins.iter().copied().filter(|m| m.is_finite());
        let (from, to) = finite().fold((0.0f64, 0.0f64), |(a, b), m| (a.min(m), b.max(m)));
        let to = if to > from { to } else { from + 1.0 };
        let mut counts = vec![0; BINS];
        let (mut sums, mut sizes) = (vec![0.0; k], vec![0usize; k]);
        for (&margin, &label) in rows.margins.iter().zip(rows.labels) {
            let bin = ((margin - from) / (to - from) * BINS as f64) as usize;
            counts[bin.min(BINS - 1)] += 1;
            sums[label as usize] += margin;
            sizes[label as usize] += 1;
        }
        let means = sums.iter().zip(&sizes).map(|(s, &n)| rounded(s / n.max(1) as f64)).collect();

        let order = |a: &u32, b: &u32| {
            rows.margins[*a as usize].total_cmp(&rows.margins[*b as usize]).then(a.cmp(b))
        };
        let mut least: Vec<u32> = (0..rows.margins.len() as u32).collect();
        if least.len() > UNCERTAIN {
            least.select_nth_unstable_by(UNCERTAIN, order);
            least.truncate(UNCERTAIN);
        }
        least.sort_by(order);
        let picked = Picked::new(rows.samples, &least);
        let scores = model.on(&picked.samples()?)?.threads(threads).observer(observer).rows()?;
        let uncertain = (least.iter().zip(scores))
            .map(|(&row, score)| Uncertain {
                row: row.into(),
                label: rows.labels[row as usize],
                second: score.second,
                margin: rows.margins[row as usize],
            })
            .collect();
        Ok(Self { from, to, counts, means, uncertain })
    }
}

/// Sums of links in cells, each of one cluster of rows and one of columns.
struct LinkCells {
    links: Links,
    /// Cell row of every chosen row, cell column of every column.
    row_cells: Vec<u32>,
    column_cells: Vec<u32>,
    sums: Vec<f64>,
}

impl LinkCells {
    fn new(model: &Model, chosen: &[u32], labels: &[u32]) -> Self {
        let k = model.n_clusters();
        let of_rows: Vec<u32> = chosen.iter().map(|&row| labels[row as usize]).collect();
        let of_columns = model.info().column_labels;
        let (row_cells, row_clusters) = cells(&of_rows, k);
        let (column_cells, column_clusters) = cells(&of_columns, k);
        let sums = vec![0.0; row_clusters.len() * column_clusters.len()];
        let links = Links {
            n_rows: chosen.len(),
            n_columns: of_columns.len(),
            row_clusters,
            column_clusters,
            cells: Vec::new(),
        };
        Self { links, row_cells, column_cells, sums }
    }

    fn add(&mut self, row: usize, columns: &[u32], values: &[f64]) {
        let start = self.row_cells[row] as usize * self.links.column_clusters.len();
        for (&column, &value) in columns.iter().zip(values) {
            self.sums[start + self.column_cells[column as usize] as usize] += value;
        }
    }

    /// Computes strengths: the root of the mean weight relative to a strong cell, so that weak links are visible.
    fn finish(mut self) -> Links {
        let width = self.links.column_clusters.len();
        let mut areas = vec![0.0; self.sums.len()];
        let count = |cells: &[u32], n: usize| {
            let mut counts = vec![0.0; n];
            cells.iter().for_each(|&cell| counts[cell as usize] += 1.0);
            counts
        };
        let heights = count(&self.row_cells, self.links.row_clusters.len());
        let widths = count(&self.column_cells, width);
        for (i, area) in areas.iter_mut().enumerate() {
            *area = heights[i / width] * widths[i % width];
        }
        let means: Vec<f64> = self.sums.iter().zip(&areas).map(|(s, a)| s / a).collect();
        let mut used: Vec<f64> = means.iter().copied().filter(|&m| m > 0.0).collect();
        used.sort_by(f64::total_cmp);
        let strong = used.get(used.len() * 9 / 10).copied().unwrap_or(1.0);
        self.links.cells = (means.iter().enumerate())
            .filter(|(_, mean)| **mean > 1e-4 * strong)
            .map(|(i, mean)| {
                let strength = (mean / strong).sqrt().min(1.0);
                ((i / width) as u32, (i % width) as u32, (strength * 100.0).ceil() / 100.0)
            })
            .collect();
        self.links
    }
}

/// Assigns items to about [`CELLS`] cells, each of one cluster. Returns the cell of every item and the cluster of
/// every cell.
fn cells(clusters: &[u32], k: usize) -> (Vec<u32>, Vec<u32>) {
    let mut sizes = vec![0usize; k];
    clusters.iter().for_each(|&c| sizes[c as usize] += 1);
    let total = clusters.len().max(1);
    let wanted = CELLS.min(total);
    let mut starts = Vec::with_capacity(k);
    let mut of_cell = Vec::new();
    let mut counts = Vec::with_capacity(k);
    for (cluster, &size) in sizes.iter().enumerate() {
        let n = if size == 0 { 0 } else { (size * wanted / total).clamp(1, size) };
        starts.push(of_cell.len());
        counts.push(n);
        of_cell.extend(std::iter::repeat_n(cluster as u32, n));
    }
    let mut seen = vec![0usize; k];
    let cell = |&cluster: &u32| {
        let c = cluster as usize;
        let place = seen[c] * counts[c] / sizes[c];
        seen[c] += 1;
        (starts[c] + place) as u32
    };
    (clusters.iter().map(cell).collect(), of_cell)
}

/// Reads rows of a source in portions, between which the observer can cancel.
fn gathered(
    source: &dyn RowSource,
    rows: &[u64],
    observer: &dyn Observer,
) -> Result<Matrix, Error> {
    let (n_rows, n_cols) = (rows.len(), source.n_cols());
    let (mut single, mut double) = (Vec::new(), Vec::new());
    for portion in rows.chunks(PORTION) {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        match source.gather(portion)? {
            Matrix::Dense32 { values, .. } => single.extend(values),
            Matrix::Dense64 { values, .. } => double.extend(values),
            Matrix::Sparse32(_) | Matrix::Sparse64(_) => {
                let (first, last) = (portion[0] as usize, portion[portion.len() - 1] as usize);
                let source = "sparse rows cannot be read in batches".into();
                return Err(Error::Read { rows: first..last + 1, source });
            }
        }
    }
    Ok(match source.is_single() {
        true => Matrix::Dense32 { values: single, n_rows, n_cols },
        false => Matrix::Dense64 { values: double, n_rows, n_cols },
    })
}

/// Number of rows that are copied at once, about 32 MB.
fn batch(n_features: usize) -> usize {
    (4_000_000 / n_features.max(1)).clamp(64, 2 * MAP_ROWS)
}

/// Rounds to four decimals, more than a screen shows.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4 + 0.0
}

#[cfg(test)]
mod tests;
