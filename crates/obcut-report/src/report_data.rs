//! What a page says about rows, in a size that does not grow with their number.
//!
//! The data is computed from the rows when a page is asked for: some thousand rows on the map, the picture of their
//! links, a histogram of all margins, and a few rows by number.

mod rows;

use obcut::{Error, Fit, Matrix, Model, Observer, RowSource, Samples};

pub use rows::Choice;
use rows::{Picked, spread};

/// Rows on the map, at most; more only when there are more clusters.
pub const MAP_ROWS: usize = 3000;
/// Rows and columns of cells in the picture of the graph, at most; more only when there are more clusters.
const CELLS: usize = 160;
/// Bins of the histogram.
const BINS: usize = 40;
/// Least certain rows that are listed.
const UNCERTAIN: usize = 20;
/// Rows of a table in pieces that are asked for at once.
const PORTION: usize = 1000;
/// Typical rows of a cluster.
const TYPICAL: usize = 5;

/// What depends on the rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportData {
    /// Rows there are.
    pub n_rows: usize,
    /// Rows that were looked at, where they are fewer: tables that are read in pieces.
    pub looked_at: Option<usize>,
    /// Some of them on the map.
    pub map: Map,
    /// Their links to the anchors.
    pub links: Links,
    /// Margins of the rows; `None` with one cluster, where there is nothing to choose.
    pub margins: Option<Margins>,
    /// For every cluster the rows nearest to its mean.
    pub typical: Vec<Vec<u64>>,
}

/// Rows on the map, all lists of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// Their numbers, from 0.
    pub rows: Vec<u64>,
    /// Their clusters.
    pub labels: Vec<u32>,
    /// Their margins.
    pub margins: Vec<f64>,
    /// Places on the map.
    pub x: Vec<f64>,
    /// Places on the map.
    pub y: Vec<f64>,
}

/// The bipartite graph in cells, rows and anchors sorted by cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    /// Rows that are in the picture.
    pub n_rows: usize,
    /// Columns of the graph: the anchors, once per kind of link.
    pub n_columns: usize,
    /// Cluster of every row of cells.
    pub row_clusters: Vec<u32>,
    /// Cluster of every column of cells.
    pub column_clusters: Vec<u32>,
    /// Row, column and strength between 0 and 1 of the cells that are not empty.
    pub cells: Vec<(u32, u32, f64)>,
}

/// How sure the labels are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Margins {
    /// Smallest value of the histogram.
    pub from: f64,
    /// Largest value of the histogram.
    pub to: f64,
    /// Rows per bin.
    pub counts: Vec<u64>,
    /// Mean of every cluster.
    pub means: Vec<f64>,
    /// The least certain rows, the least certain first.
    pub uncertain: Vec<Uncertain>,
}

/// A row that could as well be elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncertain {
    /// Its number, from 0.
    pub row: u64,
    /// Its cluster.
    pub label: u32,
    /// The cluster it would join otherwise.
    pub second: u32,
    /// By how much the first is better.
    pub margin: f64,
}

/// Rows with their labels, as a fit gives them.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
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
        let margins: Vec<f64> = fit.rows().iter().map(|row| row.margin).collect();
        let rows = Labelled { samples, labels: &fit.labels(), margins: &margins, weights };
        Self::new(fit.model(), &rows, threads, observer)
    }

    /// Describes any rows by a model, which labels them first.
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
        let labels: Vec<u32> = scores.iter().map(|score| score.label).collect();
        let margins: Vec<f64> = scores.iter().map(|score| score.margin).collect();
        let rows = Labelled { samples, labels: &labels, margins: &margins, weights };
        Self::new(model, &rows, threads, observer)
    }

    /// Describes a table that is read in pieces by some of its rows: their numbers, ascending. About
    /// [`Self::sample`] of them are enough, and a [`Choice`] finds good ones. `weights` are those of all rows.
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
        // Where the weight lies elsewhere, these rows count alike.
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

    /// Rows that a report on a table in pieces looks at: 20,000, or as many as take about 64 MB.
    pub fn sample(n_features: usize) -> usize {
        (8_000_000 / n_features.max(1)).clamp(1, 20_000)
    }

    /// Describes labelled rows. The result is the same for any number of threads.
    ///
    /// # Errors
    /// When rows do not fit the model, or the observer cancels.
    pub fn new(
        model: &Model,
        rows: &Labelled<'_>,
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
        rows: &Labelled<'_>,
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

/// Links added up in cells that belong to one cluster of rows and one of columns.
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
        let of_columns = model.column_labels();
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

    /// Strengths: the root of the mean weight over that of a strong cell, so that weak links are seen too.
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

/// Puts items into about [`CELLS`] cells by their clusters, so that no cell holds two clusters: the cell of every
/// item, and the cluster of every cell.
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

/// Rows of a source, read in portions between which the observer may cancel.
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

/// Rows that are copied at once: about 32 MB.
fn batch(n_features: usize) -> usize {
    (4_000_000 / n_features.max(1)).clamp(64, 2 * MAP_ROWS)
}

/// Four decimals are more than a screen shows.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4 + 0.0
}

#[cfg(test)]
mod tests;
