//! What a suite found, as one HTML page.

use obcut_report::chart::{
    Axis, BarSeries, Bars, Caption, Cell as Field, Column, Direction, Heat, Line, Lines, LogSwitch,
    TableChart,
};
use obcut_report::{Html, Page, Section, number};

use crate::plan::RunPlan;
use crate::printed::Printed;
use crate::record::RunRecords;
use crate::results::surfaces;
use crate::suite::{Suite, SuiteKind};
use crate::summary::{Gap, ScoreCell, ScoreKind, Scored, SuiteSummary};
use crate::table::{Entry, ScoreTable};

const GIB: f64 = (1u64 << 30) as f64;

/// The page of a suite, as far as its runs are finished.
pub fn page(suite: &Suite, records: &RunRecords) -> String {
    let summary = SuiteSummary::new(suite, records);
    let mut sections = match suite.kind {
        SuiteKind::Scores => scores(&summary),
        SuiteKind::Sensitivity => vec![sensitivity(suite, records)],
        SuiteKind::Convergence => vec![convergence(&summary)],
        SuiteKind::Scaling => vec![scaling(&summary)],
    };
    sections.push(times(&summary));
    sections.extend(unavailable(&summary));
    sections.push(protocol(suite, &summary));
    Page {
        title: suite.title.clone(),
        // Code is marked for Markdown.
        subtitle: suite.about.trim().replace('\n', " ").replace('`', ""),
        tiles: tiles(suite, records, &summary),
        warnings: warnings(suite, records, &summary),
        sections,
        footer: format!("obcut {}, obcut-bench {}", env!("CARGO_PKG_VERSION"), suite.name),
    }
    .html()
}

/// Runs that have a record, and all there are to be on the data sets that are shown.
fn progress(suite: &Suite, records: &RunRecords, summary: &SuiteSummary) -> (usize, usize) {
    let mut planned = RunPlan::without_data(suite).runs;
    planned.retain(|spec| !summary.missing.contains(&spec.data));
    let done = planned.iter().filter(|spec| records.get(&spec.key()).is_some()).count();
    (done, planned.len())
}

fn tiles(suite: &Suite, records: &RunRecords, summary: &SuiteSummary) -> Vec<(String, String)> {
    let (runs, _) = progress(suite, records, summary);
    let mut tiles = vec![
        ("data sets".to_string(), summary.data.len().to_string()),
        ("methods".to_string(), summary.methods.len().to_string()),
        ("seeds".to_string(), summary.seeds(None)),
        ("runs".to_string(), number::count(runs)),
    ];
    if suite.kind == SuiteKind::Scores {
        let table = ScoreTable::new(summary, ScoreKind::Nmi);
        let ranks = table.averages.iter().zip(&table.columns);
        // A rank among one says nothing.
        let ranks = ranks.filter(|_| table.n_ranked > 0);
        let ranks = ranks.filter_map(|(average, name)| average.map(|(_, rank)| (rank, name)));
        if let Some((rank, name)) = ranks.min_by(|a, b| a.0.total_cmp(&b.0)) {
            tiles.push((format!("best average rank (NMI): {name}"), format!("{rank:.2}")));
        }
    }
    tiles
}

fn warnings(suite: &Suite, records: &RunRecords, summary: &SuiteSummary) -> Vec<String> {
    let mut out = Vec::new();
    let (done, all) = progress(suite, records, summary);
    if done < all {
        let [done, all] = [done, all].map(number::count);
        out.push(format!("the suite is not finished: {done} of {all} runs are there"));
    }
    let cells = summary.cells.iter().flatten().flatten();
    let none = cells.filter(|cell| matches!(cell, ScoreCell::NotAvailable(_))).count();
    let parts = summary.gaps.iter().filter(|gap| !gap.is_meant()).count();
    let place = "the reasons are below, under Not available";
    if none > 0 {
        out.push(format!("no score in {}: {place}", number::plural(none, "cell")));
    }
    if parts > 0 {
        let runs = number::plural(parts, "case");
        out.push(format!("no score of some settings or seeds, in {runs}: {place}"));
    }
    let unshuffled = summary.unshuffled();
    if !unshuffled.is_empty() {
        let which = match unshuffled.len() == summary.methods.len() {
            true => String::new(),
            false => format!(" for {}", unshuffled.join("; ")),
        };
        out.push(format!(
            "rows were not shuffled{which}: files that are sorted by class can raise scores"
        ));
    }
    if !summary.missing.is_empty() {
        out.push(format!("data sets of the suite without a run: {}", summary.missing.join(", ")));
    }
    out.extend(summary.engine_warning());
    let seeds = summary.seeds(None);
    if seeds.contains(' ') {
        out.push(format!("not all cells have the same number of seeds: {seeds}"));
    }
    let differ: Vec<&str> = summary
        .data
        .iter()
        .filter(|data| data.printed.is_some() && data.differs.is_some())
        .map(|data| data.name.as_str())
        .collect();
    if !differ.is_empty() {
        let names = differ.join(", ");
        out.push(format!(
            "rebuilt, and so not the data sets of the paper, whatever their name: {names}"
        ));
    }
    out
}

fn scores(summary: &SuiteSummary) -> Vec<Section> {
    let tables = ScoreKind::ALL.map(|metric| score_table(&ScoreTable::new(summary, metric)));
    let bars = (0..summary.data.len()).map(|d| score_bars(summary, d));
    let mut sections = vec![
        Section::new(
            "Scores",
            "Mean ± standard deviation over the seeds, in percent. A click on a head sorts; of a data set the best is marked by colour, the second is bold.",
            tables,
        ),
        Section::new("Data sets", "NMI of every method; whiskers are standard deviations.", bars),
    ];
    if ScoreTable::new(summary, ScoreKind::Nmi).n_ranked > 0 {
        sections.insert(1, ranks(summary));
    }
    sections.extend(print(summary));
    sections
}

/// Methods in lines, so that they can be sorted by data set and by rank.
fn score_table(table: &ScoreTable) -> Html {
    let mut columns = vec![Column::words("method")];
    columns.extend(table.rows.iter().map(|(name, _)| Column::numbers(name)));
    if table.n_ranked > 0 {
        columns.push(Column::numbers("average score"));
        columns.push(Column::numbers("average rank"));
    }
    let best = table.averages.iter().flatten().map(|(_, rank)| *rank).fold(f64::INFINITY, f64::min);
    let rows = table.columns.iter().enumerate().map(|(m, label)| {
        let mut row = vec![Field::words(label)];
        row.extend(table.rows.iter().map(|(_, entries)| {
            match &entries[m] {
                Entry::Score { mean, deviation, rank, n } => match n {
                    1 => Field::keyed(number::fixed(*mean, 2), *mean),
                    _ => Field::mean(*mean, *deviation, 2),
                }
                .place(*rank),
                Entry::NotAvailable => Field::words("N/A"),
                Entry::Absent => Field::words(""),
            }
        }));
        if table.n_ranked > 0 {
            let (score, rank) = match table.averages[m] {
                Some((score, rank)) => (score, Some(rank)),
                None => (None, None),
            };
            row.push(score.map_or(Field::words("–"), |s| Field::keyed(format!("{s:.2}"), s)));
            row.push(rank.map_or(Field::words("–"), |r| {
                Field::keyed(format!("{r:.2}"), r).best(r == best)
            }));
        }
        row
    });
    let unranked = table.unranked();
    let note = match (table.n_ranked, unranked.is_empty()) {
        (0, _) => String::new(),
        (n, true) => format!("Averages over {}.", number::plural(n, "data set")),
        (n, false) => format!(
            "Averages over {}. Not ranked: {}.",
            number::plural(n, "data set"),
            unranked.join("; ")
        ),
    };
    let caption = Caption::new(format!("{} (%)", table.metric.name()), note);
    TableChart { caption, columns, rows: rows.collect(), half: false }.html()
}

fn score_bars(summary: &SuiteSummary, d: usize) -> Html {
    let data = &summary.data[d];
    let there: Vec<usize> =
        (0..summary.methods.len()).filter(|&m| summary.cells[d][m].is_some()).collect();
    let score = |m: &usize| match &summary.cells[d][*m] {
        Some(ScoreCell::Scored(scored)) => Some(scored.score(ScoreKind::Nmi)),
        _ => None,
    };
    let size = data.size.map_or(String::new(), |(rows, features, classes)| {
        let [rows, features] = [rows, features].map(number::count);
        format!("{rows} rows, {features} features, {classes} classes.")
    });
    let differs = match &data.differs {
        Some(how) => format!(" Not the paper's data set: {how}."),
        None => String::new(),
    };
    Bars {
        caption: Caption::new(&data.name, size + &differs),
        categories_axis: Axis::new("method", ""),
        values_axis: Axis::new("NMI", "%"),
        categories: there.iter().map(|&m| summary.methods[m].label.clone()).collect(),
        series: vec![BarSeries {
            name: String::new(),
            values: there.iter().map(|m| score(m).map(|s| s.0)).collect(),
            spread: there.iter().map(|m| score(m).map(|s| s.1)).collect(),
            slot: None,
        }],
        direction: Direction::Right,
        category_slots: Some(there.iter().map(|&m| slot(summary, m)).collect()),
        limits: Some((0.0, 100.0)),
    }
    .html()
}

/// Our own method stands out by its colour.
fn slot(summary: &SuiteSummary, method: usize) -> usize {
    usize::from(!summary.methods[method].ours)
}

fn ranks(summary: &SuiteSummary) -> Section {
    let ranked = summary.ranked();
    let metrics = [ScoreKind::Nmi, ScoreKind::Acc, ScoreKind::Pur, ScoreKind::Ari];
    let tables = metrics.map(|metric| ScoreTable::new(summary, metric));
    let series = tables.iter().map(|table| BarSeries {
        name: table.metric.name().into(),
        values: ranked.iter().map(|&m| table.averages[m].map(|(_, rank)| rank)).collect(),
        spread: Vec::new(),
        slot: None,
    });
    let note = format!(
        "Mean rank over {} where all of these ran: 1 is the best, methods without a score share the last rank.",
        number::plural(tables[0].n_ranked, "data set")
    );
    let bars = Bars {
        caption: Caption::new("Average rank", note),
        categories_axis: Axis::new("method", ""),
        values_axis: Axis::new("average rank", "1 is best"),
        categories: ranked.iter().map(|&m| summary.methods[m].label.clone()).collect(),
        series: series.collect(),
        direction: Direction::Right,
        category_slots: None,
        limits: None,
    };
    Section::new("Ranks", "", [bars.html()])
}

/// Ours beside the print.
fn print(summary: &SuiteSummary) -> Option<Section> {
    let printed = Printed::tables();
    let mut rows = Vec::new();
    for (data, row) in summary.data.iter().zip(&summary.cells) {
        let Some(name) = &data.printed else { continue };
        for (method, cell) in summary.methods.iter().zip(row) {
            let (Some(column), Some(cell)) = (&method.printed, cell) else { continue };
            let mut line = vec![
                Field::words(&data.name),
                Field::words(if data.differs.is_some() { "no" } else { "yes" }),
                Field::words(&method.label),
            ];
            for metric in [ScoreKind::Nmi, ScoreKind::Acc, ScoreKind::Pur] {
                line.push(match cell {
                    ScoreCell::Scored(scored) => {
                        let mean = scored.score(metric).0;
                        Field::keyed(number::fixed(mean, 2), mean)
                    }
                    ScoreCell::NotAvailable(_) => Field::words("N/A"),
                });
                line.push(match printed.figure(metric, name, column).flatten() {
                    Some((mean, _)) => Field::keyed(format!("{mean:.2}"), mean),
                    None => Field::words("N/A"),
                });
            }
            rows.push(line);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let mut columns =
        vec![Column::words("data set"), Column::words("same data"), Column::words("method")];
    for metric in ["NMI", "ACC", "PUR"] {
        columns.push(Column::numbers(format!("{metric}, ours")));
        columns.push(Column::numbers(format!("{metric}, print")));
    }
    let caption = Caption::new(
        "Ours and what the paper prints (%)",
        "Where the data are not the same, the figures cannot be compared.",
    );
    let table = TableChart { caption, columns, rows, half: false };
    Some(Section::new("Beside the print", "", [table.html()]))
}

fn sensitivity(suite: &Suite, records: &RunRecords) -> Section {
    let mut parts = Vec::new();
    for surface in surfaces(suite, records) {
        for (index, metric) in ScoreKind::ALL.into_iter().enumerate() {
            let heat = Heat {
                caption: Caption::new(
                    format!("{}: {} of {}", surface.data, metric.name(), surface.method),
                    "",
                ),
                x: Axis::new(&surface.settings[1], ""),
                y: Axis::new(&surface.settings[0], ""),
                value: Axis::new(metric.name(), "%"),
                columns: surface.columns.clone(),
                rows: surface.rows.clone(),
                values: surface
                    .values
                    .iter()
                    .map(|row| row.iter().map(|cell| cell.map(|scores| scores[index])).collect())
                    .collect(),
                range: None,
            };
            parts.push(heat.html());
        }
    }
    Section::new("Scores over two settings", "Means over the seeds.", parts)
}

fn convergence(summary: &SuiteSummary) -> Section {
    let mut parts = Vec::new();
    for (data, row) in summary.data.iter().zip(&summary.cells) {
        let mut lines = Vec::new();
        for (method, cell) in summary.methods.iter().zip(row) {
            let Some(ScoreCell::Scored(scored)) = cell else { continue };
            let Some(run) = scored.runs.first() else { continue };
            let values = run.outcome.objective.iter().enumerate();
            let values = values.filter(|(_, v)| v.is_finite());
            let points: Vec<(f64, f64)> = values.map(|(i, &v)| (i as f64, v)).collect();
            if !points.is_empty() {
                lines.push(Line::new(&method.label, points));
            }
        }
        if lines.is_empty() {
            continue;
        }
        let chart = Lines {
            caption: Caption::new(&data.name, "Objective of the first seed; smaller is better."),
            x: Axis::new("iteration", ""),
            y: Axis::new("objective", ""),
            lines,
            whole_x: true,
            from_zero: false,
            log: LogSwitch::Never,
            log_first: false,
        };
        parts.push(chart.html());
    }
    Section::new("Objective by iteration", "", parts)
}

fn scaling(summary: &SuiteSummary) -> Section {
    let curves = |value: &dyn Fn(&Scored) -> Option<f64>| -> Vec<Line> {
        let mut lines = Vec::new();
        for (m, method) in summary.methods.iter().enumerate() {
            let mut points = Vec::new();
            for (data, row) in summary.data.iter().zip(&summary.cells) {
                if let (Some((rows, _, _)), Some(ScoreCell::Scored(scored))) = (data.size, &row[m])
                    && let Some(y) = value(scored)
                {
                    points.push((rows as f64, y));
                }
            }
            // A suite may list its data sets in any order.
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            if !points.is_empty() {
                lines.push(Line { name: method.label.clone(), points, slot: Some(m) });
            }
        }
        lines
    };
    let chart = |title: &str, note: &str, y: Axis, lines: Vec<Line>| {
        Lines {
            caption: Caption::new(title, note),
            x: Axis::new("rows", ""),
            y,
            lines,
            whole_x: false,
            from_zero: true,
            log: LogSwitch::Both,
            log_first: true,
        }
        .html()
    };
    let seconds = chart(
        "Seconds",
        "Of the method, reading left out. A curve ends where a run was over budget.",
        Axis::new("seconds per run", "s"),
        curves(&|scored| Some(scored.seconds())),
    );
    let memory = chart(
        "Memory",
        "The most that the process of a run held, data included.",
        Axis::new("memory", "GiB"),
        curves(&|scored| scored.peak_bytes().map(|bytes| bytes as f64 / GIB)),
    );
    Section::new("Against the number of rows", "", [seconds, memory])
}

fn times(summary: &SuiteSummary) -> Section {
    let table = |title: &str, note: &str, value: &dyn Fn(&Scored) -> Option<f64>| {
        let mut columns = vec![Column::words("method")];
        columns.extend(summary.data.iter().map(|data| Column::numbers(&data.name)));
        let rows = summary.methods.iter().enumerate().map(|(m, method)| {
            let mut row = vec![Field::words(&method.label)];
            row.extend(summary.cells.iter().map(|cells| {
                match &cells[m] {
                    Some(ScoreCell::Scored(scored)) => value(scored)
                        .map_or(Field::words(""), |v| Field::keyed(number::significant(v, 3), v)),
                    Some(ScoreCell::NotAvailable(_)) => Field::words("N/A"),
                    None => Field::words(""),
                }
            }));
            row
        });
        TableChart {
            caption: Caption::new(title, note),
            columns,
            rows: rows.collect(),
            half: false,
        }
        .html()
    };
    let seconds = table("Seconds (s)", "Mean over the seeds, reading left out.", &|scored| {
        Some(scored.seconds())
    });
    let memory = table("Memory (GiB)", "The most that a process held, data included.", &|scored| {
        scored.peak_bytes().map(|bytes| bytes as f64 / GIB)
    });
    Section::new("Seconds and memory", summary.ways(), [seconds, memory])
}

fn unavailable(summary: &SuiteSummary) -> Option<Section> {
    let mut rows = Vec::new();
    for (data, row) in summary.data.iter().zip(&summary.cells) {
        for (method, cell) in summary.methods.iter().zip(row) {
            if let Some(ScoreCell::NotAvailable(why)) = cell {
                rows.push([&data.name, &method.label, "all", why].map(Field::words).to_vec());
            }
        }
    }
    for Gap { data, method, which, why } in &summary.gaps {
        rows.push([data, method, which, why].map(Field::words).to_vec());
    }
    if rows.is_empty() {
        return None;
    }
    let table = TableChart {
        caption: Caption::new("Why there is no score", ""),
        columns: ["data set", "method", "runs", "why"].map(Column::words).to_vec(),
        rows,
        half: false,
    };
    Some(Section::new("Not available", "", [table.html()]))
}

fn protocol(suite: &Suite, summary: &SuiteSummary) -> Section {
    let mut rows = Vec::new();
    let mut line =
        |name: &str, text: String| rows.push(vec![Field::words(name), Field::words(text)]);
    line("command", suite.command());
    let unshuffled = summary.unshuffled();
    let order = match unshuffled.len() {
        0 => "shuffled by the seed before every run".into(),
        n if n == summary.methods.len() => "in the order of the file".to_string(),
        _ => format!(
            "shuffled by the seed before every run, but in the order of the file for: {}",
            unshuffled.join("; ")
        ),
    };
    line("rows", order);
    line("labels", "read by the scorer alone, except where settings are chosen with them".into());
    line("budget of a run", summary.budgets());
    for (data, row) in summary.data.iter().zip(&summary.cells) {
        for (method, cell) in summary.methods.iter().zip(row) {
            if let Some(ScoreCell::Scored(Scored { chosen: Some(chosen), .. })) = cell {
                line(
                    &format!("{}, {}", method.label, data.name),
                    format!("{chosen}, chosen with the labels by mean NMI"),
                );
            }
        }
    }
    let table = TableChart {
        caption: Caption::new("How the runs were made", ""),
        columns: vec![Column::words("what"), Column::words("how")],
        rows,
        half: false,
    };
    Section::new("Protocol", "", [table.html()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::some_runs;

    #[test]
    fn all_runs_of_a_grid_are_counted() {
        let (suite, records) = some_runs();
        let tiles = tiles(&suite, &records, &SuiteSummary::new(&suite, &records));
        let runs = tiles.iter().find(|(name, _)| name == "runs").map(|(_, n)| n.as_str());
        assert_eq!(runs, Some("5"), "four of a grid and one over its time");
    }
}
