//! What a suite found, as one Markdown document.

use std::collections::BTreeMap;

use obcut_report::number::{fixed, plural, significant};

use crate::printed::Printed;
use crate::record::RunRecords;
use crate::suite::{MethodEntry, Suite, SuiteKind};
use crate::summary::{Gap, Runs, ScoreCell, ScoreKind, Scored, SuiteSummary, averages, number};
use crate::table::{ScoreTable, escape, markdown};

/// The document.
pub fn document(suite: &Suite, records: &RunRecords) -> String {
    let summary = SuiteSummary::new(suite, records);
    let mut out = format!("## {}\n\n{}\n\n", escape(&suite.title), suite.about.trim());
    out += &protocol(suite, &summary);
    out += &match suite.kind {
        SuiteKind::Scores => scores(&summary),
        SuiteKind::Sensitivity => sensitivity(suite, records),
        SuiteKind::Convergence => convergence(suite, &summary),
        SuiteKind::Scaling => scaling(&summary),
    };
    out += &unavailable(&summary);
    out
}

/// How the runs were made, from the records themselves.
fn protocol(suite: &Suite, summary: &SuiteSummary) -> String {
    let seeds = match summary.seeds(None).as_str() {
        "0" => "No run gave labels".into(),
        "1" => "1 seed".into(),
        n if n.contains(' ') => format!("{n} seeds (the CSV file has the number of every cell)"),
        n => format!("{n} seeds"),
    };
    let mut out = format!("Command: `{}`. {seeds}, {}.", suite.command(), order(suite, summary));
    if matches!(suite.kind, SuiteKind::Scores) {
        out += " Mean ± sample deviation in percent; the best of a line is bold in brackets, the second bold.";
    }
    let budgets = summary.budgets();
    if !budgets.is_empty() {
        out += &format!(" A run may take {budgets}.");
    }
    if !summary.missing.is_empty() {
        let names: Vec<String> = summary.missing.iter().map(|name| escape(name)).collect();
        out += &format!(" Without a run: {}.", names.join(", "));
    }
    out + "\n\n"
}

/// In what order the rows came, in Markdown.
fn order(suite: &Suite, summary: &SuiteSummary) -> String {
    let unshuffled = summary.unshuffled();
    match (suite.shuffle, unshuffled.len()) {
        (_, n) if n == summary.methods.len() => "**rows in the order of the file**".into(),
        (_, 0) => "rows shuffled by the seed before every run".into(),
        _ => format!(
            "rows shuffled by the seed before every run, but **in the order of the file** for: {}",
            escape(&unshuffled.join("; "))
        ),
    }
}

fn scores(summary: &SuiteSummary) -> String {
    let mut out = data_table(summary);
    for metric in ScoreKind::ALL {
        let table = ScoreTable::new(summary, metric);
        out += &format!("### {}\n\n{}\n", metric.name(), table.markdown());
        let unranked = table.unranked();
        if table.n_ranked > 0 && (table.n_ranked < table.rows.len() || !unranked.is_empty()) {
            out += &format!(
                "Averages over the {} where every ranked method ran.",
                plural(table.n_ranked, "data set")
            );
            if !unranked.is_empty() {
                out += &format!(" Not ranked: {}.", escape(&unranked.join("; ")));
            }
            out += "\n\n";
        }
    }
    out += &chosen(summary);
    out += &claims(summary);
    out += &print(summary);
    out += &times(summary);
    out
}

fn data_table(summary: &SuiteSummary) -> String {
    let in_print = summary.data.iter().any(|data| data.printed.is_some());
    let mut header =
        ["data set", "rows", "features", "classes", "seeds"].map(String::from).to_vec();
    if in_print {
        header.push("against the paper's".into());
    }
    let rows: Vec<Vec<String>> = summary
        .data
        .iter()
        .enumerate()
        .map(|(d, data)| {
            let size = data.size.map(|(rows, features, classes)| [rows, features, classes]);
            let [rows, features, classes] =
                size.map_or(["?"; 3].map(String::from), |size| size.map(|n| n.to_string()));
            let same = match (&data.printed, &data.differs) {
                (None, _) => "not in the paper".to_string(),
                (Some(_), None) => "the same".into(),
                (Some(name), Some(what)) => {
                    format!("{}: **not the same**, {}", escape(name), escape(what))
                }
            };
            let mut row = vec![escape(&data.name), rows, features, classes, summary.seeds(Some(d))];
            if in_print {
                row.push(same);
            }
            row
        })
        .collect();
    markdown(&header, &rows) + "\n"
}

/// What was chosen with labels.
fn chosen(summary: &SuiteSummary) -> String {
    let mut rows = Vec::new();
    for (data, row) in summary.data.iter().zip(&summary.cells) {
        for (method, cell) in summary.methods.iter().zip(row) {
            if let Some(ScoreCell::Scored(Scored { chosen: Some(chosen), .. })) = cell {
                rows.push(vec![escape(&data.name), escape(&method.label), escape(chosen)]);
            }
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let header = ["data set", "method", "chosen with the labels, by mean NMI"].map(String::from);
    format!("### Settings chosen with the labels\n\n{}\n", markdown(&header, &rows))
}

/// Each of our own columns against the methods of the paper: the ranking claim.
fn claims(summary: &SuiteSummary) -> String {
    let is_other = |&m: &usize| summary.methods[m].printed.is_some() && !summary.methods[m].ours;
    let (others, rest): (Vec<usize>, Vec<usize>) =
        (0..summary.methods.len()).filter(is_other).partition(|&m| summary.has_run(m));
    let ours: Vec<usize> =
        (0..summary.methods.len()).filter(|&m| summary.methods[m].ours).collect();
    if others.len() < 2 || ours.is_empty() {
        return String::new();
    }
    let header = [
        "against the other methods",
        "average rank",
        "best of the others",
        "first on",
        "first on (ACC)",
        "first on (PUR)",
    ]
    .map(String::from);
    let mut rows = Vec::new();
    for &m in &ours {
        let columns: Vec<usize> = others.iter().copied().chain([m]).collect();
        let first = |metric| {
            let rows = summary.complete(metric, &columns);
            let is_first = |row: &&Vec<f64>| {
                row.last().is_some_and(|score| !score.is_nan())
                    && crate::summary::ranks(row).last() == Some(&1)
            };
            format!("{} of {}", rows.iter().filter(is_first).count(), rows.len())
        };
        let found = averages(&summary.complete(ScoreKind::Nmi, &columns));
        let Some(((_, rank), rest)) = found.split_last() else { continue };
        let best = rest.iter().zip(&others).min_by(|a, b| a.0.1.total_cmp(&b.0.1));
        let best = best.map_or(String::new(), |((_, rank), &m)| {
            format!("{} {rank:.2}", escape(&summary.methods[m].label))
        });
        rows.push(vec![
            escape(&summary.methods[m].label),
            format!("{rank:.2}"),
            best,
            first(ScoreKind::Nmi),
            first(ScoreKind::Acc),
            first(ScoreKind::Pur),
        ]);
    }
    let rest: Vec<String> = rest.iter().map(|&m| escape(&summary.methods[m].label)).collect();
    let rest = match rest.len() {
        0 => String::new(),
        _ => format!(" Left out, since too few of their runs are made: {}.", rest.join(", ")),
    };
    format!(
        "### Ranks\n\nEach line ranks one column of ours (NMI) among the methods that the paper compares with. The paper prints 1.13 for OBCut, 4.75 for the next, and first on 7 of 8.{rest}\n\n{}\n",
        markdown(&header, &rows)
    )
}

/// Ours beside the print, where the data set has a row in it.
fn print(summary: &SuiteSummary) -> String {
    let printed = Printed::tables();
    let mut out = String::new();
    let columns: Vec<usize> =
        (0..summary.methods.len()).filter(|&m| summary.methods[m].printed.is_some()).collect();
    for metric in [ScoreKind::Nmi, ScoreKind::Acc, ScoreKind::Pur] {
        let mut rows = Vec::new();
        for (data, row) in summary.data.iter().zip(&summary.cells) {
            let Some(name) = &data.printed else { continue };
            let mark = if data.differs.is_some() { " ≠" } else { "" };
            let mut line = vec![format!("{}{mark}", escape(&data.name))];
            for &m in &columns {
                let ours = match &row[m] {
                    Some(ScoreCell::Scored(scored)) => fixed(scored.score(metric).0, 1),
                    Some(ScoreCell::NotAvailable(_)) => "N/A".into(),
                    None => "".into(),
                };
                let column = summary.methods[m].printed.as_deref().unwrap_or_default();
                let print = match printed.figure(metric, name, column) {
                    Some(Some((mean, _))) => format!("{mean:.1}"),
                    _ => "N/A".into(),
                };
                line.push(format!("{ours} ({print})"));
            }
            rows.push(line);
        }
        if rows.is_empty() || columns.is_empty() {
            return String::new();
        }
        let header = std::iter::once(metric.name().to_string());
        let labels = columns.iter().map(|&m| escape(&summary.methods[m].label));
        let header: Vec<String> = header.chain(labels).collect();
        out += &format!("{}\n", markdown(&header, &rows));
    }
    format!(
        "### Beside the print\n\nOurs, and in brackets what the paper prints. ≠ marks data sets that are not the paper's: the table of data sets says how they differ.\n\n{out}"
    )
}

/// Seconds and memory by data set and method.
fn times(summary: &SuiteSummary) -> String {
    let header = std::iter::once("seconds (GiB)".to_string());
    let header: Vec<String> =
        header.chain(summary.methods.iter().map(|method| escape(&method.label))).collect();
    let rows: Vec<Vec<String>> = summary
        .data
        .iter()
        .zip(&summary.cells)
        .map(|(data, row)| {
            std::iter::once(escape(&data.name)).chain(row.iter().map(time)).collect()
        })
        .collect();
    format!(
        "### Seconds and memory of one run\n\nMean seconds of the fit, and the most memory of its process, data included. {}.\n\n{}\n",
        escape(&summary.ways()),
        markdown(&header, &rows)
    )
}

fn time(cell: &Option<ScoreCell>) -> String {
    match cell {
        Some(ScoreCell::Scored(scored)) => {
            let gib = scored.peak_bytes().map_or(String::new(), |bytes| {
                format!(" ({})", significant(bytes as f64 / (1u64 << 30) as f64, 2))
            });
            let seconds = scored.seconds();
            let digits = if seconds < 10.0 { 2 } else { 0 };
            format!("{seconds:.digits$}{gib}")
        }
        Some(ScoreCell::NotAvailable(_)) => "N/A".into(),
        None => String::new(),
    }
}

/// Why scores are missing.
fn unavailable(summary: &SuiteSummary) -> String {
    let mut rows = Vec::new();
    for (data, row) in summary.data.iter().zip(&summary.cells) {
        for (method, cell) in summary.methods.iter().zip(row) {
            if let Some(ScoreCell::NotAvailable(why)) = cell {
                rows.push([&data.name, &method.label, "all", why].map(escape).to_vec());
            }
        }
    }
    for Gap { data, method, which, why } in &summary.gaps {
        rows.push([data, method, which, why].map(|text| escape(text)).to_vec());
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "### Not available\n\n{}\n",
        markdown(&["data set", "method", "runs", "why"].map(String::from), &rows)
    )
}

/// The mean score of every point of a grid of two settings.
#[derive(Clone, Debug)]
pub struct Surface {
    /// Data set.
    pub data: String,
    /// Method.
    pub method: String,
    /// Names of the settings: of the rows, of the columns.
    pub settings: [String; 2],
    /// Values of the first setting, as text.
    pub rows: Vec<String>,
    /// Values of the second.
    pub columns: Vec<String>,
    /// Mean of each score (NMI, ACC, PUR, ARI) in percent by row and column; none where no run is finished.
    pub values: Vec<Vec<Option<[f64; 4]>>>,
}

/// The surfaces of a suite: methods with a grid of two settings.
pub fn surfaces(suite: &Suite, records: &RunRecords) -> Vec<Surface> {
    let mut out = Vec::new();
    for data in &suite.data {
        for entry in suite.method.iter().filter(|m| m.grid.len() == 2 && m.takes(&data.name)) {
            let mut axes = entry.grid.iter();
            let (Some((row_name, rows)), Some((column_name, columns))) = (axes.next(), axes.next())
            else {
                continue;
            };
            let mut values = Vec::new();
            for row in rows {
                let at = |column: &serde_json::Value| {
                    let mut settings = entry.set.clone();
                    settings.insert(row_name.clone(), row.clone());
                    settings.insert(column_name.clone(), column.clone());
                    means(suite, entry, &data.name, &settings, records)
                };
                values.push(columns.iter().map(at).collect::<Vec<_>>());
            }
            if values.iter().flatten().all(Option::is_none) {
                continue;
            }
            out.push(Surface {
                data: data.name.clone(),
                method: entry.label.clone(),
                settings: [row_name.clone(), column_name.clone()],
                rows: rows.iter().map(number).collect(),
                columns: columns.iter().map(number).collect(),
                values,
            });
        }
    }
    out
}

/// Mean scores of the finished runs with some settings; none where they are missing or over budget.
fn means(
    suite: &Suite,
    entry: &MethodEntry,
    data: &str,
    settings: &BTreeMap<String, serde_json::Value>,
    records: &RunRecords,
) -> Option<[f64; 4]> {
    let runs = Runs::of(suite, entry, data, settings, records).usable().ok()?;
    if runs.is_empty() {
        return None;
    }
    let scored = Scored { runs, chosen: None };
    Some(ScoreKind::ALL.map(|metric| scored.score(metric).0))
}

fn sensitivity(suite: &Suite, records: &RunRecords) -> String {
    let mut out = String::new();
    for surface in surfaces(suite, records) {
        let header: Vec<String> =
            std::iter::once(format!("{} \\ {}", surface.settings[0], surface.settings[1]))
                .chain(surface.columns.iter().cloned())
                .map(|text| escape(&text))
                .collect();
        let rows: Vec<Vec<String>> = surface
            .rows
            .iter()
            .zip(&surface.values)
            .map(|(name, values)| {
                let cell = |v: &Option<[f64; 4]>| v.map_or("–".into(), |v| fixed(v[0], 1));
                std::iter::once(escape(name)).chain(values.iter().map(cell)).collect()
            })
            .collect();
        out += &format!(
            "### {}: NMI of {}\n\n{}\n",
            escape(&surface.data),
            escape(&surface.method),
            markdown(&header, &rows)
        );
    }
    out
}

fn convergence(suite: &Suite, summary: &SuiteSummary) -> String {
    let header =
        ["data set", "method", "seeds", "iterations", "first value", "last value", "largest rise"]
            .map(String::from);
    let mut rows = Vec::new();
    for (data, row) in summary.data.iter().zip(&summary.cells) {
        for (method, cell) in suite.method.iter().zip(row) {
            let Some(ScoreCell::Scored(scored)) = cell else { continue };
            let values =
                || scored.runs.iter().map(|run| &run.outcome.objective).filter(|o| !o.is_empty());
            let Some(first) = values().next() else { continue };
            let iterations = values().map(|o| o.len() - 1);
            let (least, most) =
                (iterations.clone().min().unwrap_or(0), iterations.max().unwrap_or(0));
            rows.push(vec![
                escape(&data.name),
                escape(&method.label),
                scored.runs.len().to_string(),
                if least == most { most.to_string() } else { format!("{least} to {most}") },
                format!("{:.4}", first[0]),
                format!("{:.4}", first[first.len() - 1]),
                format!("{:.1e}", values().map(|o| largest_rise(o)).fold(0.0, f64::max)),
            ]);
        }
    }
    format!(
        "Values are of seed 0, the largest rise between two iterations is over all seeds, as a share of the largest value.\n\n{}\n",
        markdown(&header, &rows)
    )
}

/// The largest rise from one value to the next, as a share of the largest value: one near 0 is no measure.
pub fn largest_rise(values: &[f64]) -> f64 {
    if values.iter().any(|value| !value.is_finite()) {
        return f64::INFINITY;
    }
    let largest = values.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
    values.windows(2).map(|pair| (pair[1] - pair[0]) / largest).fold(0.0, f64::max)
}

fn scaling(summary: &SuiteSummary) -> String {
    data_table(summary) + &times(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_is_a_share_of_the_largest_value() {
        assert_eq!(largest_rise(&[4.0, 3.0, 3.3, 3.2]), (3.3 - 3.0) / 4.0);
        assert_eq!(largest_rise(&[4.0, 1e-9, 0.1]), (0.1 - 1e-9) / 4.0);
        assert_eq!(largest_rise(&[4.0, 3.0]), 0.0);
        assert_eq!(largest_rise(&[4.0, f64::NAN]), f64::INFINITY);
        assert_eq!(largest_rise(&[-4.0, -3.0]), 0.25);
    }
}
