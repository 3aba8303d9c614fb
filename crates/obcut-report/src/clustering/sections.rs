//! The parts of the page, in order. A part without facts is left out.

use super::{Clustering, Convergence, share};
use crate::chart::{
    Axis, BarSeries, Bars, Blocks, Caption, Cell, Column, Direction, Field, Histogram, Line, Lines,
    Points, Scatter, Table,
};
use crate::html::{Html, text};
use crate::number::{count, number, percent, plural, seconds, significant};
use crate::page::Section;
use crate::report_data::{Links, Map, Margins};

/// Sizes, with a table of all clusters.
pub fn sizes(facts: &Clustering) -> Option<Section> {
    let clusters = &facts.explanation.clusters;
    if clusters.is_empty() {
        return None;
    }
    let (k, n) = (facts.k(), facts.n_rows());
    let smallest = clusters.iter().map(|c| c.rows).min().unwrap_or(0);
    let largest = clusters.iter().map(|c| c.rows).max().unwrap_or(0);
    let chart = Bars {
        caption: Caption::new(
            "Rows per cluster",
            format!(
                "The smallest has {}, the largest {}, the average is {}.",
                plural(smallest, "row"),
                plural(largest, "row"),
                number(n as f64 / k as f64)
            ),
        ),
        categories_axis: Axis::new("cluster", ""),
        values_axis: Axis::new("rows", ""),
        categories: (0..k).map(|j| j.to_string()).collect(),
        series: vec![BarSeries {
            values: clusters.iter().map(|c| Some(c.rows as f64)).collect(),
            ..BarSeries::default()
        }],
        direction: Direction::Up,
        category_slots: Some((0..k).collect()),
        limits: None,
    };
    let cohesion = Bars {
        caption: Caption::new(
            "Cohesion",
            "Chance that a step from a row to an anchor and back stays in the cluster. 1: it shares no link with others.",
        ),
        categories_axis: Axis::new("cluster", ""),
        values_axis: Axis::new("chance", "0 to 1"),
        categories: (0..k).map(|j| j.to_string()).collect(),
        series: vec![BarSeries {
            values: clusters.iter().map(|c| Some(c.cohesion)).collect(),
            ..BarSeries::default()
        }],
        direction: Direction::Up,
        category_slots: Some((0..k).collect()),
        limits: Some((0.0, 1.0)),
    };
    let parts = [chart.html(), cohesion.html(), cluster_table(facts).html()];
    let lead = match facts.noise {
        Some(1) => "1 row is marked as noise (label -1). All figures count it in the cluster that it is nearest to.".into(),
        Some(noise) => format!(
            "{} are marked as noise (label -1). All figures count them in the clusters that they are nearest to.",
            plural(noise, "row")
        ),
        None => String::new(),
    };
    Some(Section::new("Clusters", lead, parts))
}

fn cluster_table(facts: &Clustering) -> Table {
    let clusters = &facts.explanation.clusters;
    let n = facts.n_rows().max(1) as f64;
    // Weights are worth a column when they are not all 1.
    let weighted = clusters.iter().any(|c| c.weight != c.rows as f64);
    let means = facts.rows.as_ref().and_then(|s| s.margins.as_ref()).map(|m| &m.means);
    let mut columns =
        vec![Column::numbers("cluster"), Column::numbers("rows"), Column::numbers("share")];
    if weighted {
        columns.push(Column::numbers("weight"));
    }
    columns.push(Column::numbers("cohesion"));
    let resampled = clusters.iter().any(|c| c.stability.is_some());
    if resampled {
        columns.push(Column::numbers("stability"));
    }
    if means.is_some() {
        columns.push(Column::numbers("mean margin"));
    }
    columns.extend([
        Column::numbers("nearest cluster"),
        Column::numbers("steps that end there"),
        Column::words("differs most in"),
    ]);
    let rows = clusters.iter().enumerate().map(|(j, c)| {
        let part = c.rows as f64 / n;
        let mut row = vec![
            Cell::keyed(j.to_string(), j as f64).series(j),
            Cell::count(c.rows),
            Cell::keyed(percent(part), part),
        ];
        if weighted {
            row.push(Cell::number(c.weight));
        }
        row.push(Cell::keyed(share(c.cohesion), c.cohesion));
        if resampled {
            row.push(c.stability.map_or(Cell::words("–"), |s| Cell::keyed(share(s), s)));
        }
        if let Some(means) = means {
            let mean = means.get(j).copied().unwrap_or(f64::NAN);
            row.push(Cell::keyed(significant(mean, 3), mean));
        }
        match c.nearest {
            Some(nearest) => row.extend([
                Cell::keyed(nearest.to_string(), f64::from(nearest)),
                Cell::keyed(percent(c.nearest_share), c.nearest_share),
            ]),
            None => row.extend([Cell::words("none"), Cell::words("–")]),
        }
        row.push(c.features.first().map_or(Cell::words("–"), |f| {
            let words = format!("{} ({} SD)", facts.feature(f.index), signed(f.difference, 1));
            Cell::keyed(words, f.difference.abs())
        }));
        row
    });
    let looked_at = facts.rows.as_ref().and_then(|rows| rows.looked_at);
    let sampled = match looked_at.filter(|_| means.is_some()) {
        Some(n) => format!(" Mean margins are of {}.", plural(n, "row")),
        None => String::new(),
    };
    let stability = match facts.explanation.stability {
        Some(ari) => format!(
            " Stability is how well a cluster comes back when parts of the rows are clustered, from 0 to 1; all clusters together agree with an adjusted Rand index of {}.",
            share(ari)
        ),
        None => String::new(),
    };
    Table {
        caption: Caption::new(
            "All clusters",
            format!(
                "Nearest is the other cluster that a step from its rows to an anchor and back ends in most often.{stability}{sampled}"
            ),
        ),
        columns,
        rows: rows.collect(),
        half: false,
    }
}

/// A number with its sign.
pub(super) fn signed(value: f64, decimals: usize) -> String {
    format!("{value:+.decimals$}").replace('-', "−")
}

/// The map and the graph.
pub fn rows(facts: &Clustering) -> Option<Section> {
    let Some(rows) = &facts.rows else {
        let note = "This page was written without the rows, so the map, the graph and the margins are missing. In Python, pass the rows to add them: model.report(path, X).";
        let body = Html::trusted(format!("<p class=\"note\">{}</p>", text(note)));
        return Some(Section::new("Map and graph", "", [body]));
    };
    let links = links(facts, &rows.links);
    let parts = [map(facts, &rows.map, rows.n_rows).html(), links.html()];
    Some(Section::new("Map and graph", "", parts))
}

fn map(facts: &Clustering, map: &Map, n_rows: usize) -> Scatter {
    let n = map.rows.len();
    let shown = if n < n_rows {
        format!("{} of {}, spread evenly.", count(n), plural(n_rows, "row"))
    } else {
        format!("All {}.", plural(n, "row"))
    };
    let names = facts.explanation.clusters.iter().enumerate();
    Scatter {
        caption: Caption::new(
            "Map of the rows",
            format!(
                "{shown} Every cluster has a disc, similar ones side by side; a row lies at the mean of its anchors, so rows that are hard to place lie between discs."
            ),
        ),
        x: Axis::new("map, to the right", "no unit"),
        y: Axis::new("map, upwards", "no unit"),
        series: names.map(|(j, c)| format!("{j} · {}", count(c.rows))).collect(),
        points: Points {
            x: map.x.clone(),
            y: map.y.clone(),
            series: map.labels.iter().map(|&l| l as usize).collect(),
        },
        fields: vec![
            Field { name: "row".into(), values: map.rows.iter().map(u64::to_string).collect() },
            Field {
                name: "cluster".into(),
                values: map.labels.iter().map(u32::to_string).collect(),
            },
            Field {
                name: "margin".into(),
                values: map.margins.iter().map(|&m| significant(m, 3)).collect(),
            },
        ],
        equal: true,
    }
}

fn links(facts: &Clustering, links: &Links) -> Blocks {
    let columns = match links.n_columns == facts.n_anchors {
        true => plural(links.n_columns, "anchor"),
        false => format!(
            "{} (the anchors, once for every kind of link)",
            plural(links.n_columns, "column")
        ),
    };
    let pieces = match facts.convergence.as_ref().map_or(0, |c| c.n_pieces) {
        n if n > 1 => format!(" The graph falls into {n} separate pieces of some size."),
        _ => String::new(),
    };
    Blocks {
        caption: Caption::new(
            "The graph between rows and anchors",
            format!(
                "{} and {columns} sorted by cluster. Links inside a cluster have its colour, links between clusters are grey; strong links stand out.{pieces}",
                plural(links.n_rows, "row"),
            ),
        ),
        columns: Axis::new("anchors by cluster", ""),
        rows: Axis::new("rows by cluster", ""),
        row_groups: links.row_clusters.iter().map(|&c| c as usize).collect(),
        column_groups: links.column_clusters.iter().map(|&c| c as usize).collect(),
        cells: links.cells.iter().map(|&(i, j, v)| (i as usize, j as usize, v)).collect(),
    }
}

/// Margins, and the rows that could as well be elsewhere.
pub fn certainty(facts: &Clustering) -> Option<Section> {
    let rows = facts.rows.as_ref()?;
    let margins = rows.margins.as_ref()?;
    let lead = "The margin of a row is how much better its cluster is than the second best: 0 on the border, the larger the surer. It compares rows of one clustering.";
    Some(Section::new(
        "How sure",
        lead,
        [histogram(margins, rows.looked_at).html(), uncertain(margins, rows.looked_at).html()],
    ))
}

fn histogram(margins: &Margins, looked_at: Option<usize>) -> Histogram {
    let which = match looked_at {
        Some(n) => format!("Margins of {}", plural(n, "row")),
        None => "Margins of all rows".into(),
    };
    let spread = if looked_at.is_some() { "Spread over the table. " } else { "" };
    Histogram {
        caption: Caption::new(
            which,
            format!("{spread}A heap on the left: many rows lie near a border."),
        ),
        x: Axis::new("margin", "no unit"),
        y: Axis::new("rows", ""),
        from: margins.from,
        to: margins.to,
        counts: margins.counts.clone(),
    }
}

fn uncertain(margins: &Margins, looked_at: Option<usize>) -> Table {
    let among = match looked_at {
        Some(n) => format!(" Among the {} of the histogram.", plural(n, "row")),
        None => String::new(),
    };
    let rows = margins.uncertain.iter().map(|u| {
        vec![
            Cell::keyed(u.row.to_string(), u.row as f64),
            Cell::keyed(u.label.to_string(), f64::from(u.label)).series(u.label as usize),
            Cell::keyed(u.second.to_string(), f64::from(u.second)).series(u.second as usize),
            Cell::keyed(significant(u.margin, 3), u.margin),
        ]
    });
    Table {
        caption: Caption::new("Least certain rows", format!("Rows count from 0.{among}")),
        columns: ["row", "cluster", "second best", "margin"].map(Column::numbers).to_vec(),
        rows: rows.collect(),
        half: true,
    }
}

/// Both terms of the objective, or the cut alone, and the seconds.
pub fn course(facts: &Clustering) -> Option<Section> {
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
    let mut words = format!("{}: {}.", plural(c.n_iter, "iteration"), c.stop.text());
    if c.objective.is_empty() {
        words += " Anchors and graph were not learned (the default), so the cut is the only term.";
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
    // One value is told by the sentence above: a curve takes two.
    let is_curve = |values: &[f64]| values.len() > 1;
    if is_curve(&c.residual) {
        let note = "Squared distance of the rows to the mixtures of anchors that stand for them; smaller is better.";
        let title = "Fit of the graph (first term)";
        parts.push(curve(title, note, "squared distance", &c.residual, 0));
    }
    if is_curve(&c.cut) {
        let title = if learned { "Cut (second term)" } else { "Cut" };
        let note = "How well links stay inside balanced clusters; larger is better.";
        parts.push(curve(title, note, "value of the cut", &c.cut, 1));
    }
    if is_curve(&c.objective) {
        let note =
            "The first term less lambda times the cut, and small penalties; smaller is better.";
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
        category_slots: None,
        limits: None,
    }
}

/// What the automatic choices tried.
pub fn choices(facts: &Clustering) -> Option<Section> {
    let mut parts = Vec::new();
    if let Some(path) = &facts.explanation.k_path {
        let state = match (path.chosen, path.clear) {
            (1, true) => "the table looks like one group",
            (_, true) => "no other comes near it",
            _ => "the data do not tell it clearly",
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
                (_, true) => "cuts a graph that is in k pieces",
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
        let table = Table {
            caption: Caption::new(
                "Candidates that were tried",
                "Association is how well labels hold together on a graph, balance how even their sizes are; both are at most 1.",
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
    let lead = "Chosen without knowing any classes; the larger score wins.";
    (!parts.is_empty()).then(|| Section::new("Choices", lead, parts))
}

/// The command and all settings.
pub fn settings(facts: &Clustering) -> Option<Section> {
    let mut parts = Vec::new();
    if let Some(command) = &facts.command {
        parts.push(Html::trusted(format!(
            "<figure class=\"chart wide\"><figcaption><h3>The same again</h3><p>Same data, settings and seed give the same labels, for any number of threads.</p></figcaption><pre>{}</pre></figure>\n",
            text(command)
        )));
    }
    if !facts.settings.is_empty() {
        let pairs = facts.settings.iter().map(|(name, value)| {
            format!("<div><dt>{}</dt><dd>{}</dd></div>", text(name), text(value))
        });
        parts.push(Html::trusted(format!(
            "<figure class=\"chart wide\"><figcaption><h3>All settings</h3><p>What ends in “used” is what the program made of it.</p></figcaption><dl class=\"pairs\">{}</dl></figure>\n",
            pairs.collect::<String>()
        )));
    }
    (!parts.is_empty()).then(|| Section::new("Settings", "", parts))
}
