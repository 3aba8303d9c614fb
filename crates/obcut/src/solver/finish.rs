//! The end of a fit: the model, and the labels it gives.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::normalize::{Scaling, Sliver};
use crate::parallel::Context;
use crate::reduce::Reduced;
use crate::solver::cutting::anchor_weights;
use crate::solver::explain::Explanation;
use crate::solver::model::{Model, NO_SCORE};
use crate::solver::params::{Init, Params, Scale};
use crate::solver::problem::{Candidate, Parts, Problem};
use crate::solver::rule::{RowScore, Rule};
use crate::solver::score::associations;
use crate::solver::spread::Spread;
use crate::solver::trace::Trace;
use crate::table::Table;
use crate::units::{ABSENT, Units};

/// What the rows of a table got.
pub(crate) struct Labelled {
    pub labels: Vec<u32>,
    pub margins: Vec<f64>,
    pub confidence: Vec<f64>,
    pub outlier_scores: Vec<f64>,
    pub noise: Vec<bool>,
}

impl Labelled {
    pub fn new(rows: &[RowScore]) -> Self {
        Self {
            labels: rows.iter().map(|row| row.label).collect(),
            margins: rows.iter().map(|row| row.margin).collect(),
            confidence: rows.iter().map(|row| row.confidence).collect(),
            outlier_scores: rows.iter().map(|row| row.outlier).collect(),
            noise: rows.iter().map(|row| row.noise).collect(),
        }
    }
}

impl Problem<'_> {
    /// The labels of all rows, the association of clusters with clusters (k × k), and the model that
    /// gives those labels.
    pub fn finish(
        &self,
        kept: &mut Candidate,
        scaling: &Scaling,
        full: &Table<'_>,
        reduced: Option<&Reduced>,
        (all, units): (&Table<'_>, &Units),
        context: &Context<'_>,
    ) -> Result<(Labelled, Vec<f64>, Model), Error> {
        let (params, k, weights) = (self.params, self.params.n_clusters, self.rows.weights);
        if let Some(reduced) = reduced {
            kept.anchors = reduced.restore(&kept.anchors, full, context)?;
            kept.graph = self.build(full, &kept.layout, &kept.anchors, context)?;
            kept.anchor_weights = anchor_weights(&kept.graph, weights, params.anchor_weights);
        }
        if !matches!(params.init, Init::Given(_)) {
            by_size(&mut kept.labels, weights, k);
        }
        let unit_labels = kept.labels.clone();
        let rule = Rule::votes(&kept.graph, &unit_labels, weights, k);
        let ruled = rule.label(&kept.graph, context)?;
        let mut exceptions: Vec<(u64, u32)> = (0..unit_labels.len())
            .filter(|&u| ruled[u] != unit_labels[u])
            .map(|u| (self.rows.keys[u], unit_labels[u]))
            .collect();
        exceptions.sort_unstable();
        let mut model = Model {
            params: Params { anchors: None, ..params.clone() },
            version: env!("CARGO_PKG_VERSION").into(),
            scaling: scaling.clone(),
            anchors: std::mem::take(&mut kept.anchors),
            layout: kept.layout.clone(),
            ridge: self.ridge(),
            rule,
            exceptions,
            prototypes: None,
            sizes: Vec::new(),
            objective: kept.trace.objective.last().copied(),
            feature_names: Vec::new(),
            explanation: Explanation::default(),
            spread: Spread::default(),
        };
        model.params.threads = 0;
        if let Init::Given(labels) = &mut model.params.init {
            labels.clear();
        }
        let known = (full, &unit_labels[..], weights);
        model.spread = Spread::fit(&model, &kept.graph, known, params.noise, context)?;
        let of_unit = model.score_rows(&kept.graph, (full, self.rows.keys), context)?;
        let mut rows = spread(&of_unit, units);
        // Rows of weight zero took no part; the model labels them like new ones.
        let absent: Vec<u32> = (0..units.of_row.len() as u32)
            .filter(|&i| units.of_row[i as usize] == ABSENT)
            .collect();
        if !absent.is_empty() {
            let found = model.explain_table(&all.subset(&absent), context)?;
            for (&i, row) in absent.iter().zip(found) {
                rows[i as usize] = row;
            }
        }
        model.sizes = vec![0.0; k];
        unit_labels.iter().zip(weights).for_each(|(&l, w)| model.sizes[l as usize] += w);
        let association = associations(&kept.graph, &unit_labels, weights, k);
        Ok((Labelled::new(&rows), association, model))
    }
}

/// Numbers the clusters by their weight, the heaviest first; of equal ones that with the first row.
fn by_size(labels: &mut [u32], weights: &[f64], k: usize) {
    let mut sizes = vec![0.0; k];
    let mut first = vec![usize::MAX; k];
    for (i, (&label, w)) in labels.iter().zip(weights).enumerate() {
        sizes[label as usize] += w;
        first[label as usize] = first[label as usize].min(i);
    }
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by(|&a, &b| sizes[b].total_cmp(&sizes[a]).then(first[a].cmp(&first[b])));
    let mut number = vec![0; k];
    order.iter().enumerate().for_each(|(at, &j)| number[j] = at as u32);
    labels.iter_mut().for_each(|label| *label = number[*label as usize]);
}

/// What every unit got, for each of its rows.
fn spread(of_unit: &[RowScore], units: &Units) -> Vec<RowScore> {
    (units.of_row.iter())
        .map(|&u| if u == ABSENT { NO_SCORE } else { of_unit[u as usize] })
        .collect()
}

/// What warnings are made of, beside the model and the trace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Notes {
    /// Anchors asked for, when they are more than the distinct rows.
    pub capped: Option<usize>,
    /// Distinct rows.
    pub n_units: usize,
    /// Pieces of the graph too small to be clusters.
    pub n_fragments: usize,
    /// How the components of the graph of nearest rows lie in the clusters.
    pub components: Parts,
    /// Columns most of whose values lie in a sliver of their range.
    pub slivers: Vec<Sliver>,
}

/// Plain words about what a user should know.
pub(crate) fn warnings(notes: &Notes, model: &Model, trace: &Trace) -> Vec<String> {
    let mut warnings = Vec::new();
    let Notes { capped, n_units, n_fragments, components, ref slivers } = *notes;
    let (k, n_pieces) = (model.n_clusters(), trace.n_pieces);
    if let Some(wanted) = capped {
        warnings.push(format!(
            "{wanted} anchors were asked for, but there are only {n_units} distinct rows; every one is an anchor"
        ));
    }
    if let Some(first) = slivers.first() {
        let name = |s: &Sliver| match model.feature_names.get(s.column) {
            Some(name) => format!("'{name}'"),
            None => s.column.to_string(),
        };
        let more = match slivers.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let done = if model.params.scale == Scale::Auto {
            "it is scaled by the span of most of its values"
        } else {
            "compare scale = robust"
        };
        warnings.push(format!(
            "column {}{more}: 98 % of the values lie in {:.1} % of its range; {done}",
            name(first),
            100.0 * first.share
        ));
    }
    let counts = || model.explanation.clusters.iter().map(|cluster| cluster.rows);
    let n_rows: usize = counts().sum();
    let tiny = counts().filter(|&c| c * k * 50 < n_rows).count();
    if tiny > 0 {
        warnings.push(format!(
            "{tiny} of {k} clusters hold less than 2 % of an average cluster; a smaller k may fit better"
        ));
    }
    let torn: Vec<String> = (model.explanation.clusters.iter().enumerate())
        .filter(|(_, c)| c.nearest_share > c.cohesion)
        .map(|(j, _)| j.to_string())
        .collect();
    if !torn.is_empty() {
        warnings.push(format!(
            "cluster(s) {} are tied more to another cluster than to themselves; a smaller k may fit better",
            torn.join(", ")
        ));
    }
    if n_pieces > k {
        warnings.push(format!(
            "the graph falls into {n_pieces} separate pieces of some size, more than k = {k}; a larger k may fit better"
        ));
    }
    if components.n > 1 && components.n <= k && components.merged > 0 {
        warnings.push(format!(
            "{} of {} groups of rows that nothing links to the rest share a cluster with another; compare --balance 0",
            components.merged, components.n
        ));
    }
    if components.n >= k && k > 1 && components.split > 0 {
        warnings.push(format!(
            "{} of {} groups of rows that nothing links to the rest are split although k = {k}; compare --balance 0",
            components.split, components.n
        ));
    }
    let path = model.explanation.k_path.as_ref();
    if path.is_some_and(|path| path.chosen == 1) {
        let clear = path.is_some_and(|path| path.clear);
        warnings.push(if clear {
            "no clusters found: the table looks like one group (k = 1)".into()
        } else {
            "no clusters found that are sure (k = 1): the rows may be one group or overlap; give k to cut them anyway".into()
        });
    } else if let Some(path) = path.filter(|path| !path.clear) {
        let rivals: Vec<String> = path.rivals.iter().take(5).map(usize::to_string).collect();
        warnings.push(if rivals.is_empty() {
            format!("the data do not tell k: {k} scores best, but not well enough to be sure")
        } else {
            format!(
                "the data do not tell k clearly: {k} scores best, but others come near it: {}",
                rivals.join(", ")
            )
        });
    }
    if n_fragments > 0 {
        warnings.push(format!(
            "the graph has {n_fragments} fragment(s) too small to be clusters; they were tied to their nearest neighbours (fewer anchors or more neighbors avoid this)"
        ));
    }
    if model.prototypes.is_some() {
        warnings.push(
            "the graph cannot tell enough rows apart for this k; rows were labelled by their nearest of k typical rows".into(),
        );
    }
    let share = model.exceptions.len() as f64 / n_units as f64;
    if share > 0.1 {
        warnings.push(format!(
            "{:.0} % of the learned labels do not follow from the first anchors, so new rows are labelled by a rule that differs there; learn = nothing gives labels that generalise",
            100.0 * share
        ));
    }
    if !trace.objective.is_empty() && !trace.stop.converged() {
        warnings.push(format!(
            "the objective was still falling after {} iterations; raise max_iter to go on",
            trace.n_iter()
        ));
    }
    warnings
}
