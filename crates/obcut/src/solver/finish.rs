//! The end of a fit: the model, and the labels it gives.

use serde::{Deserialize, Serialize};

use crate::describe::clusters::{clusters, merges};
use crate::model::rule::{DecisionRule, RowScore};
use crate::model::spread::Spread;
use crate::model::{Model, NO_SCORE};
use crate::params::{Init, Params, Scale};
use crate::records::{Explanation, KPath, StopReason, Trace};
use crate::score::associations;
use crate::solver::plan::Plan;
use crate::solver::problem::{ComponentCounts, FitCandidate, Problem};
use crate::update::cutting::anchor_weights;
use crate::warning::Warning;
use obcut_core::error::Error;
use obcut_core::matrix::Samples;
use obcut_core::normalize::{Scaling, Sliver};
use obcut_core::observer::Clock;
use obcut_core::observer::Stage;
use obcut_core::parallel::Context;
use obcut_core::reduce::RankReduced;
use obcut_core::table::Table;
use obcut_core::unique_rows::{ABSENT, UniqueRows};

/// The rows of a fit, in the forms that its end needs.
pub(crate) struct Tables<'t> {
    pub samples: &'t Samples<'t>,
    pub weights: Option<&'t [f64]>,
    /// All rows, scaled.
    pub all: &'t Table<'t>,
    /// The distinct rows, scaled.
    pub full: &'t Table<'t>,
    pub units: &'t UniqueRows,
}

impl Problem<'_> {
    /// The labels of all rows, and the model that gives those labels.
    pub fn finish(
        &self,
        kept: &mut FitCandidate,
        scaling: &Scaling,
        tables: &Tables<'_>,
        reduced: Option<&RankReduced>,
        k_path: Option<KPath>,
        context: &Context<'_>,
    ) -> Result<(Vec<RowScore>, Model), Error> {
        context.report(Stage::Finish, 0, 0, None)?;
        let (params, k, weights) = (self.params, self.params.n_clusters, self.rows.weights);
        let &Tables { all, full, units, .. } = tables;
        if let Some(reduced) = reduced {
            kept.anchors = reduced.restore(&kept.anchors, full, context)?;
            kept.graph = self.build(full, &kept.layout, &kept.anchors, context)?;
            kept.anchor_weights = anchor_weights(&kept.graph, weights, params.anchor_weights);
        }
        if !matches!(params.init, Init::Given(_)) {
            by_size(&mut kept.labels, weights, k);
        }
        let unit_labels = kept.labels.clone();
        let rule = DecisionRule::votes(&kept.graph, &unit_labels, weights, k);
        let ruled = rule.label(&kept.graph, context)?;
        let mut exceptions: Vec<(u64, u32)> = (0..unit_labels.len())
            .filter(|&u| ruled[u] != unit_labels[u])
            .map(|u| (self.rows.keys[u], unit_labels[u]))
            .collect();
        exceptions.sort_unstable();
        let mut model = Model {
            columns: None,
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
        let labels: Vec<u32> = rows.iter().map(|row| row.label).collect();
        let found = (&labels[..], tables.weights, &association[..]);
        model.explanation = Explanation {
            clusters: clusters(tables.samples, found, k, context)?,
            tried: kept.trace.tried.clone(),
            k_path,
            merges: merges(&kept.tree, &kept.labels, k),
            stability: None,
        };
        Ok((rows, model))
    }

    /// The stability of the clusters on resamples, where it is asked for.
    pub fn add_stability(
        &self,
        model: &mut Model,
        kept: &FitCandidate,
        anchors: Option<&[f64]>,
        context: &Context<'_>,
        clock: &mut Clock,
    ) -> Result<(), Error> {
        if self.params.stability > 0 {
            let found = clock.time(Stage::Stability, || {
                self.stability(&kept.labels, &kept.procedure, anchors, context)
            })?;
            model.explanation.stability = Some(found.fit);
            for (cluster, value) in model.explanation.clusters.iter_mut().zip(found.clusters) {
                cluster.stability = value;
            }
        }
        Ok(())
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
fn spread(of_unit: &[RowScore], units: &UniqueRows) -> Vec<RowScore> {
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
    pub components: ComponentCounts,
    /// Columns most of whose values lie in a sliver of their range.
    pub slivers: Vec<Sliver>,
}

impl Notes {
    pub fn new(plan: &Plan, kept: &FitCandidate, slivers: Vec<Sliver>) -> Self {
        Self {
            capped: plan.capped,
            n_units: plan.n_units,
            n_fragments: kept.n_fragments,
            components: kept.components,
            slivers,
        }
    }

    /// What a user should know about a fit.
    pub fn warnings(&self, model: &Model, trace: &Trace) -> Vec<Warning> {
        let Self { capped, n_units, n_fragments, components, ref slivers } = *self;
        let n_clusters = model.n_clusters();
        let clusters = &model.explanation.clusters;
        let mut warnings = Vec::new();
        if let Some(wanted) = capped {
            warnings.push(Warning::AnchorsCapped { wanted, n_distinct: n_units });
        }
        if let Some(&Sliver { column, share, .. }) = slivers.first() {
            let name = model.feature_names.get(column).cloned();
            let adjusted = model.params.scale == Scale::Auto;
            let more = slivers.len() - 1;
            warnings.push(Warning::NarrowColumn { column, name, more, share, adjusted });
        }
        let n_rows: usize = clusters.iter().map(|cluster| cluster.rows).sum();
        let n_small =
            clusters.iter().filter(|cluster| cluster.rows * n_clusters * 50 < n_rows).count();
        if n_small > 0 {
            warnings.push(Warning::SmallClusters { n_small, n_clusters });
        }
        let is_weak = |j: &usize| clusters[*j].nearest_share > clusters[*j].cohesion;
        let weak: Vec<usize> = (0..clusters.len()).filter(is_weak).collect();
        if !weak.is_empty() {
            warnings.push(Warning::WeakClusters { clusters: weak });
        }
        if trace.n_pieces > n_clusters {
            warnings.push(Warning::MoreComponents { n_components: trace.n_pieces, n_clusters });
        }
        let ComponentCounts { n: n_components, merged, split } = components;
        if n_components > 1 && n_components <= n_clusters && merged > 0 {
            warnings.push(Warning::ComponentsMerged { merged, n_components });
        }
        if n_components >= n_clusters && n_clusters > 1 && split > 0 {
            warnings.push(Warning::ComponentsSplit { split, n_components, n_clusters });
        }
        match model.explanation.k_path.as_ref() {
            Some(path) if path.chosen == 1 && path.clear => warnings.push(Warning::NoClusters),
            Some(path) if path.chosen == 1 => warnings.push(Warning::NoCertainClusters),
            Some(path) if !path.clear => {
                let rivals = path.rivals.iter().take(5).copied().collect();
                warnings.push(Warning::UnclearClusters { n_clusters, rivals });
            }
            _ => {}
        }
        if n_fragments > 0 {
            warnings.push(Warning::Fragments { n_fragments });
        }
        if model.prototypes.is_some() {
            warnings.push(Warning::Prototypes);
        }
        let share = model.exceptions.len() as f64 / n_units as f64;
        if share > 0.1 {
            warnings.push(Warning::RuleDiffers { share });
        }
        if !trace.objective.is_empty() && trace.stop == StopReason::MaxIter {
            warnings.push(Warning::NotConverged { n_iter: trace.n_iter() });
        }
        warnings
    }
}
