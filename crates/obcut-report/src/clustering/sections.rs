//! The sections on clusters and rows. A section without facts is omitted.

use super::{ClusteringFacts, share};
use crate::chart::{
    Axis, BarSeries, Bars, Blocks, Caption, Cell, Column, Field, Histogram, Scatter, ScatterPoints,
    TableChart,
};
use crate::html::{Html, text};
use crate::number::{count, number, percent, plural, significant};
use crate::page::Section;
use crate::report_data::{Links, Map, Margins};

/// Sizes and cohesion of the clusters, and a table.
pub fn sizes(facts: &ClusteringFacts) -> Option<Section> {
    let clusters = &facts.explanation.clusters;
    if clusters.is_empty() {
        return None;
    }
    let (k, n) = (facts.k(), facts.n_rows());
    let smallest = clusters.iter().map(|c| c.rows).min().unwrap_or(0);
    let largest = clusters.iter().map(|c| c.rows).max().unwrap_or(0);
    let sizes = format!(
        "The smallest has {}, the largest {}, the average is {}.",
        plural(smallest, "row"),
        plural(largest, "row"),
        number(n as f64 / k as f64)
    );
    let chart = |caption, values_axis, values: Vec<Option<f64>>, limits| Bars {
        caption,
        categories_axis: Axis::new("cluster", ""),
        values_axis,
        categories: (0..k).map(|j| j.to_string()).collect(),
        series: vec![BarSeries { values, ..BarSeries::default() }],
        category_slots: Some((0..k).collect()),
        limits,
        ..Bars::default()
    };
    let rows = clusters.iter().map(|c| Some(c.rows as f64)).collect();
    let rows = chart(Caption::new("Rows per cluster", sizes), Axis::new("rows", ""), rows, None);
    let note = "Probability that a step from a row to an anchor and back stays in the cluster. At 1, the cluster shares no links with others.";
    let cohesion = chart(
        Caption::new("Cohesion", note),
        Axis::new("probability", "0 to 1"),
        clusters.iter().map(|c| Some(c.cohesion)).collect(),
        Some((0.0, 1.0)),
    );
    let parts = [rows.html(), cohesion.html(), cluster_table(facts).html()];
    let lead = match facts.noise {
        Some(1) => {
            "1 row is marked as noise (label -1). All values count it in its nearest cluster."
                .into()
        }
        Some(noise) => format!(
            "{} are marked as noise (label -1). All values count them in their nearest clusters.",
            plural(noise, "row")
        ),
        None => String::new(),
    };
    Some(Section::new("Clusters", lead, parts))
}

fn cluster_table(facts: &ClusteringFacts) -> TableChart {
    let clusters = &facts.explanation.clusters;
    let n = facts.n_rows().max(1) as f64;
    // Weights get a column unless all are 1.
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
        Column::numbers("steps to it"),
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
            " Stability is the agreement with clusterings of subsets of the rows, from 0 to 1; the adjusted Rand index over all clusters is {}.",
            share(ari)
        ),
        None => String::new(),
    };
    TableChart {
        caption: Caption::new(
            "All clusters",
            format!(
                "Nearest is the other cluster that is most probable after a step from a row to an anchor and back.{stability}{sampled}"
            ),
        ),
        columns,
        rows: rows.collect(),
        half: false,
    }
}

/// Formats a number with its sign.
pub(super) fn signed(value: f64, decimals: usize) -> String {
    format!("{value:+.decimals$}").replace('-', "−")
}

/// The map and the graph.
pub fn rows(facts: &ClusteringFacts) -> Option<Section> {
    let Some(rows) = &facts.rows else {
        let note = "This report was written without the rows, so the map, the graph and the margins are missing. To add them in Python, pass the rows: model.report(path, X).";
        let body = Html::trusted(format!("<p class=\"note\">{}</p>", text(note)));
        return Some(Section::new("Map and graph", "", [body]));
    };
    let links = links(facts, &rows.links);
    let parts = [map(facts, &rows.map, rows.n_rows).html(), links.html()];
    Some(Section::new("Map and graph", "", parts))
}

fn map(facts: &ClusteringFacts, map: &Map, n_rows: usize) -> Scatter {
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
                "{shown} Every cluster is a disc, beside similar ones. A row is at the mean of its anchors, so uncertain rows are between discs."
            ),
        ),
        x: Axis::new("map, to the right", "no unit"),
        y: Axis::new("map, upwards", "no unit"),
        series: names.map(|(j, c)| format!("{j} · {}", count(c.rows))).collect(),
        points: ScatterPoints {
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

fn links(facts: &ClusteringFacts, links: &Links) -> Blocks {
    let columns = match links.n_columns == facts.n_anchors {
        true => plural(links.n_columns, "anchor"),
        false => {
            format!("{} (the anchors, for every kind of link)", plural(links.n_columns, "column"))
        }
    };
    let pieces = match facts.convergence.as_ref().map_or(0, |c| c.n_pieces) {
        n if n > 1 => format!(" The graph has {n} components, without tiny ones."),
        _ => String::new(),
    };
    Blocks {
        caption: Caption::new(
            "The graph between rows and anchors",
            format!(
                "{} and {columns}, sorted by cluster. Links inside a cluster have its colour, links between clusters are grey, and strong links are dark.{pieces}",
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

/// Margins, and the least certain rows.
pub fn certainty(facts: &ClusteringFacts) -> Option<Section> {
    let rows = facts.rows.as_ref()?;
    let margins = rows.margins.as_ref()?;
    let lead = "The margin of a row is the advantage of its cluster over the second best: 0 on the border, and larger for certain rows. Margins are comparable within one clustering.";
    Some(Section::new(
        "Certainty",
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
            format!("{spread}High bars on the left mean that many rows are near a border."),
        ),
        x: Axis::new("margin", "no unit"),
        y: Axis::new("rows", ""),
        from: margins.from,
        to: margins.to,
        counts: margins.counts.clone(),
    }
}

fn uncertain(margins: &Margins, looked_at: Option<usize>) -> TableChart {
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
    TableChart {
        caption: Caption::new("Least certain rows", format!("Rows count from 0.{among}")),
        columns: ["row", "cluster", "second best", "margin"].map(Column::numbers).to_vec(),
        rows: rows.collect(),
        half: true,
    }
}
