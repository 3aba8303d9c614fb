//! The sections on convergence, choices and settings. A section without facts is omitted.

use super::{ClusteringFacts, Convergence, share};
use crate::chart::{
    Axis, BarSeries, Bars, Caption, Cell, Column, Direction, Line, Lines, TableChart,
};
use crate::html::{Html, text};
use crate::number::{number, plural, seconds};
use crate::page::Section;

/// Convergence of the objective or the cut, and seconds per stage.
pub fn course(facts: &ClusteringFacts) -> Option<Section> {
    let mut parts = Vec::new();
    let mut lead = String::new();
    if let Some(c) = &facts.convergence {
        lead = outcome(c);
        parts.extend(terms(c));
    }
    if !facts.seconds.is_empty() {
        parts.push(time(&facts.seconds).html());
    }
    (!lead.is_empty() || !parts.is_empty())
        .then(|| Section::new("Convergence and time", lead, parts))
}

fn outcome(c: &Convergence) -> String {
    let mut words = format!("{}: {}.", plural(c.n_iter, "iteration"), c.stop);
    if c.objective.is_empty() {
        words += " Anchors and graph were not learned (the default), so only the cut is optimized.";
    }
    if c.loop_rejected {
        words +=
            " Learning anchors and graph was tried and scored worse, so the first cut is kept.";
    }
    if let ([cut], true) = (c.cut.as_slice(), c.objective.len() < 2) {
        words += &format!(" Value of the cut: {}.", number(*cut));
    }
    if c.cut.is_empty() && c.objective.is_empty() {
        words += " With a single cluster there is nothing to cut.";
    }
    words
}

fn terms(c: &Convergence) -> Vec<Html> {
    let curve = |title: &str, note: &str, y: &str, values: &[f64], first: usize| {
        let points = values.iter().enumerate().map(|(i, &v)| ((i + first) as f64, v)).collect();
        Lines {
            caption: Caption::new(title, note),
            x: Axis::new("iteration", ""),
            y: Axis::new(y, "no unit"),
            lines: vec![Line::new("", points)],
            whole_x: true,
            ..Lines::default()
        }
        .html()
    };
    let learned = !c.objective.is_empty();
    let mut parts = Vec::new();
    // A single value is in the sentence above; a curve needs two.
    let is_curve = |values: &[f64]| values.len() > 1;
    if is_curve(&c.residual) {
        let note = "Squared distance between the rows and their combinations of anchors; smaller is better.";
        let title = "Fit of the graph (first term)";
        parts.push(curve(title, note, "squared distance", &c.residual, 0));
    }
    if is_curve(&c.cut) {
        let title = if learned { "Cut (second term)" } else { "Cut" };
        let note = "Links inside balanced clusters; larger is better.";
        parts.push(curve(title, note, "value of the cut", &c.cut, 1));
    }
    if is_curve(&c.objective) {
        let note =
            "The first term minus lambda times the cut, plus small penalties; smaller is better.";
        parts.push(curve("Objective (both terms)", note, "objective", &c.objective, 0));
    }
    parts
}

fn time(stages: &[(String, f64)]) -> Bars {
    let total: f64 = stages.iter().map(|stage| stage.1).sum();
    Bars {
        caption: Caption::new("Seconds per stage", format!("{} in all.", seconds(total))),
        categories_axis: Axis::new("stage", ""),
        values_axis: Axis::new("time", "s"),
        categories: stages.iter().map(|stage| stage.0.clone()).collect(),
        series: vec![BarSeries {
            values: stages.iter().map(|stage| Some(stage.1)).collect(),
            ..BarSeries::default()
        }],
        direction: Direction::Right,
        ..Bars::default()
    }
}

/// The candidates of the automatic choices.
pub fn choices(facts: &ClusteringFacts) -> Option<Section> {
    let mut parts = Vec::new();
    if let Some(path) = &facts.explanation.k_path {
        let state = match (path.chosen, path.clear) {
            (1, true) => "the table has no separate groups",
            (_, true) => "no other number scores similarly",
            _ => "the data do not determine it clearly",
        };
        let mut lines = vec![Line::new(
            if path.reference.is_some() { "this table" } else { "" },
            path.tried.iter().map(|t| (t.n_clusters as f64, t.score)).collect(),
        )];
        if path.reference.is_some() {
            let of = |t: &obcut::KScore| t.reference.map(|score| (t.n_clusters as f64, score));
            lines.push(Line::new("without clusters", path.tried.iter().filter_map(of).collect()));
        }
        parts.push(
            Lines {
                caption: Caption::new(
                    "Score of every number of clusters",
                    format!("{} was chosen; {state}.", path.chosen),
                ),
                x: Axis::new("clusters", ""),
                y: Axis::new("score", "0 to 1"),
                lines,
                whole_x: true,
                from_zero: true,
                ..Lines::default()
            }
            .html(),
        );
    }
    let tried = &facts.explanation.tried;
    if !tried.is_empty() {
        let rows = tried.iter().map(|t| {
            let on = t.association.iter().map(|(graph, a)| format!("{graph} {}", share(*a)));
            let note = match (t.kept, t.ruled_out) {
                (true, _) => "kept",
                (_, true) => "cuts a graph with k components",
                _ => "",
            };
            vec![
                Cell::words(&t.graph),
                Cell::words(&t.start),
                Cell::keyed(
                    if t.vectors > 0 { t.vectors.to_string() } else { String::new() },
                    t.vectors as f64,
                ),
                Cell::keyed(format!("{:.2}", t.score), t.score).best(t.kept),
                Cell::words(on.collect::<Vec<_>>().join(", ")),
                Cell::keyed(share(t.balance), t.balance),
                Cell::words(note),
            ]
        });
        let table = TableChart {
            caption: Caption::new(
                "Candidates",
                "Association measures how many links of a graph are inside clusters, balance how equal the sizes are; both are at most 1.",
            ),
            columns: vec![
                Column::words("graph"),
                Column::words("start"),
                Column::numbers("eigenvectors"),
                Column::numbers("score"),
                Column::words("association on"),
                Column::numbers("balance"),
                Column::words("outcome"),
            ],
            rows: rows.collect(),
            half: false,
        };
        parts.push(table.html());
    }
    let lead = "Choices do not use classes; the largest score wins.";
    (!parts.is_empty()).then(|| Section::new("Choices", lead, parts))
}

/// The command and the settings.
pub fn settings(facts: &ClusteringFacts) -> Option<Section> {
    let mut parts = Vec::new();
    if let Some(command) = &facts.command {
        parts.push(Html::trusted(format!(
            "<figure class=\"chart wide\"><figcaption><h3>Repeat this clustering</h3><p>The same data, settings and seed give the same labels for any number of threads.</p></figcaption><pre>{}</pre></figure>\n",
            text(command)
        )));
    }
    if !facts.settings.is_empty() {
        let pairs = facts.settings.iter().map(|(name, value)| {
            format!("<div><dt>{}</dt><dd>{}</dd></div>", text(name), text(value))
        });
        parts.push(Html::trusted(format!(
            "<figure class=\"chart wide\"><figcaption><h3>All settings</h3><p>Names that end in “used” are the values that were chosen.</p></figcaption><dl class=\"pairs\">{}</dl></figure>\n",
            pairs.collect::<String>()
        )));
    }
    (!parts.is_empty()).then(|| Section::new("Settings", "", parts))
}
