//! Tables of scores as Markdown, CSV and LaTeX.

use obcut_report::number::{fixed, plural};

use crate::printed::Printed;
use crate::suite::Suite;
use crate::summary::{
    DataFacts, MethodColumn, ScoreCell, ScoreKind, SuiteSummary, averages, ranks,
};

/// One score of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Mean, deviation and number of runs, and the rank in the row when it is 1 or 2.
    Score {
        /// Mean in percent.
        mean: f64,
        /// Sample deviation.
        deviation: f64,
        /// Runs.
        n: usize,
        /// Rank in the row.
        rank: usize,
    },
    /// The method could not do it.
    NotAvailable,
    /// The method was not run.
    Absent,
}

/// Scores by data set (rows) and method (columns).
#[derive(Clone, Debug)]
pub struct ScoreTable {
    /// The score.
    pub metric: ScoreKind,
    /// Names of the methods.
    pub columns: Vec<String>,
    /// Names of the data sets with their scores.
    pub rows: Vec<(String, Vec<Entry>)>,
    /// Mean score and mean rank of every method that takes part, over the data sets where all of them ran.
    pub averages: Vec<Option<(Option<f64>, f64)>>,
    /// Number of those data sets.
    pub n_ranked: usize,
}

impl ScoreTable {
    /// The table of one score.
    pub fn new(summary: &SuiteSummary, metric: ScoreKind) -> Self {
        let means = summary.means(metric);
        let rows =
            summary.data.iter().zip(&summary.cells).zip(&means).map(|((data, row), means)| {
                let there: Vec<f64> = means.iter().flatten().copied().collect();
                let mut ranked = ranks(&there).into_iter();
                let entries = row.iter().map(|cell| match cell {
                    None => Entry::Absent,
                    Some(cell) => {
                        let rank = ranked.next().unwrap_or(usize::MAX);
                        match cell {
                            ScoreCell::NotAvailable(_) => Entry::NotAvailable,
                            ScoreCell::Scored(scored) => {
                                let (mean, deviation) = scored.score(metric);
                                Entry::Score { mean, deviation, n: scored.runs.len(), rank }
                            }
                        }
                    }
                });
                (data.name.clone(), entries.collect())
            });
        let ranked = summary.ranked();
        let complete = summary.complete(metric, &ranked);
        let mut found = averages(&complete).into_iter();
        let averages = (0..summary.methods.len())
            .map(|m| if ranked.contains(&m) { found.next() } else { None });
        Self {
            metric,
            columns: summary.methods.iter().map(|method| method.label.clone()).collect(),
            rows: rows.collect(),
            averages: averages.collect(),
            // A rank among one says nothing.
            n_ranked: if ranked.len() > 1 { complete.len() } else { 0 },
        }
    }

    /// As Markdown: the best score of a row bold in brackets, the second bold.
    pub fn markdown(&self) -> String {
        let cell = |entry: &Entry| match entry {
            Entry::Score { mean, deviation, rank, n } => {
                // One run has no deviation.
                let spread = if *n > 1 { format!(" ±{deviation:.2}") } else { String::new() };
                let mean = fixed(*mean, 2);
                match rank {
                    1 => format!("**[{mean}]**{spread}"),
                    2 => format!("**{mean}**{spread}"),
                    _ => mean + &spread,
                }
            }
            Entry::NotAvailable => "N/A".into(),
            Entry::Absent => String::new(),
        };
        let header = std::iter::once(self.metric.name().to_string());
        let header: Vec<String> = header.chain(self.columns.iter().map(|c| escape(c))).collect();
        let mut lines: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|(name, row)| std::iter::once(escape(name)).chain(row.iter().map(cell)).collect())
            .collect();
        for (name, values) in self.average_lines() {
            lines.push(std::iter::once(name.to_string()).chain(values).collect());
        }
        markdown(&header, &lines)
    }

    /// As rows of LaTeX between `\toprule` and `\bottomrule` (package booktabs).
    pub fn latex(&self) -> String {
        let cell = |entry: &Entry| match entry {
            Entry::Score { mean, deviation, rank, n } => {
                let mean = fixed(*mean, 2);
                let text = match rank {
                    1 => format!("[\\textbf{{{mean}}}]"),
                    2 => format!("\\textbf{{{mean}}}"),
                    _ => mean,
                };
                match n {
                    1 => text,
                    _ => format!("{text}$_{{\\pm{deviation:.2}}}$"),
                }
            }
            Entry::NotAvailable => "N/A".into(),
            Entry::Absent => String::new(),
        };
        let mut out = format!(
            "\\begin{{tabular}}{{l{}}}\n\\toprule\n{}(\\%)",
            "c".repeat(self.columns.len()),
            self.metric.name()
        );
        for column in &self.columns {
            out += &format!(" & {}", escape_latex(column));
        }
        out += " \\\\\n\\midrule\n";
        for (name, row) in &self.rows {
            let cells: Vec<String> = row.iter().map(cell).collect();
            out += &latex_line(name, &cells);
        }
        let averages = self.average_lines();
        if !averages.is_empty() {
            out += "\\midrule\n";
        }
        for (name, values) in averages {
            out += &format!("{name} & {} \\\\\n", values.join(" & "));
        }
        out + "\\bottomrule\n\\end{tabular}\n"
    }

    /// Methods that have scores here but take no part in ranks.
    pub fn unranked(&self) -> Vec<&str> {
        let has_score = |m: usize| self.rows.iter().any(|(_, row)| row[m] != Entry::Absent);
        let columns = self.columns.iter().enumerate().zip(&self.averages);
        let unranked = columns.filter(|((m, _), average)| average.is_none() && has_score(*m));
        unranked.map(|((_, name), _)| name.as_str()).collect()
    }

    fn average_lines(&self) -> Vec<(&'static str, Vec<String>)> {
        if self.n_ranked == 0 {
            return Vec::new();
        }
        let score = |average: &Option<(Option<f64>, f64)>| match average {
            Some((Some(score), _)) => format!("{score:.2}"),
            Some((None, _)) => "-".into(),
            None => String::new(),
        };
        let rank = |average: &Option<(Option<f64>, f64)>| {
            average.map_or(String::new(), |(_, rank)| format!("{rank:.2}"))
        };
        vec![
            ("average score", self.averages.iter().map(score).collect()),
            ("average rank", self.averages.iter().map(rank).collect()),
        ]
    }
}

/// All scores, one line each, then averages and ranks. `rank` is that among the methods of the data set.
pub fn csv(summary: &SuiteSummary) -> String {
    let mut out = "data,method,metric,mean,deviation,runs,rank,printed,same_data,shuffled,seconds,peak_bytes,chosen,note\n".to_string();
    let tables = ScoreKind::ALL.map(|metric| ScoreTable::new(summary, metric));
    for (d, (data, row)) in summary.data.iter().zip(&summary.cells).enumerate() {
        let same = match (&data.printed, &data.differs) {
            (None, _) => "",
            (Some(_), None) => "yes",
            (Some(_), Some(_)) => "no",
        };
        for (m, (method, cell)) in summary.methods.iter().zip(row).enumerate() {
            let start = format!("{},{}", quote(&data.name), quote(&method.label));
            match cell {
                None => {}
                Some(ScoreCell::NotAvailable(why)) => {
                    out += &format!("{start},,,,,,,{same},{},,,,{}\n", method.shuffled, quote(why));
                }
                Some(ScoreCell::Scored(scored)) => {
                    let (seconds, n) = (scored.seconds(), scored.runs.len());
                    let peak = scored.peak_bytes().map_or(String::new(), |bytes| bytes.to_string());
                    let chosen = quote(scored.chosen.as_deref().unwrap_or(""));
                    for table in &tables {
                        let Entry::Score { mean, deviation, rank, .. } = table.rows[d].1[m] else {
                            continue;
                        };
                        // One run has no deviation.
                        let deviation = if n > 1 { deviation.to_string() } else { String::new() };
                        out += &format!(
                            "{start},{},{mean},{deviation},{n},{rank},{},{same},{},{seconds},{peak},{chosen},\n",
                            table.metric.name(),
                            printed(table.metric, data, method),
                            method.shuffled
                        );
                    }
                }
            }
        }
    }
    for table in tables.iter().filter(|table| table.n_ranked > 0) {
        for (name, average) in table.columns.iter().zip(&table.averages) {
            let Some((score, rank)) = average else { continue };
            let name = format!("{},{}", quote(name), table.metric.name());
            let score = score.map_or(String::new(), |score| score.to_string());
            let n = table.n_ranked;
            for (what, value) in [("average score", score), ("average rank", rank.to_string())] {
                out += &format!("{what},{name},{value},,,,,,,,,,over {}\n", plural(n, "data set"));
            }
        }
    }
    out
}

/// The figure that the paper prints, if it has one.
fn printed(metric: ScoreKind, data: &DataFacts, method: &MethodColumn) -> String {
    let (Some(data), Some(method)) = (&data.printed, &method.printed) else {
        return String::new();
    };
    match Printed::tables().figure(metric, data, method) {
        None => String::new(),
        Some(None) => "N/A".into(),
        Some(Some((mean, _))) => mean.to_string(),
    }
}

/// All tables in LaTeX, with what the paper prints, and how the runs were made in comments.
pub fn latex(suite: &Suite, summary: &SuiteSummary) -> String {
    let mut out = format!("% {}\n", one_line(&suite.command()));
    let unshuffled = summary.unshuffled();
    if !unshuffled.is_empty() {
        out +=
            &format!("% rows in the order of the file for: {}\n", one_line(&unshuffled.join("; ")));
    }
    for (data, row) in summary.data.iter().zip(&summary.cells) {
        for (method, cell) in summary.methods.iter().zip(row) {
            if let Some(ScoreCell::NotAvailable(why)) = cell {
                let line = format!("N/A: {} on {}: {why}", method.label, data.name);
                out += &format!("% {}\n", one_line(&line));
            }
        }
    }
    for metric in ScoreKind::ALL {
        out += &format!("\n{}", ScoreTable::new(summary, metric).latex());
    }
    for metric in ScoreKind::ALL {
        out += &latex_print(summary, metric);
    }
    out
}

/// Ours and, in brackets, the paper's.
fn latex_print(summary: &SuiteSummary, metric: ScoreKind) -> String {
    let methods: Vec<usize> =
        (0..summary.methods.len()).filter(|&m| summary.methods[m].printed.is_some()).collect();
    let mut lines = String::new();
    for (data, row) in summary.data.iter().zip(&summary.cells) {
        let cells: Vec<String> = methods
            .iter()
            .map(|&m| {
                let ours = match &row[m] {
                    Some(ScoreCell::Scored(scored)) => fixed(scored.score(metric).0, 1),
                    Some(ScoreCell::NotAvailable(_)) => "N/A".into(),
                    None => String::new(),
                };
                (ours, printed(metric, data, &summary.methods[m]))
            })
            .map(|(ours, print)| if print.is_empty() { ours } else { format!("{ours} ({print})") })
            .collect();
        if data.printed.is_some() && cells.iter().any(|cell| cell.contains('(')) {
            let mark = if data.differs.is_some() { "$^{\\neq}$" } else { "" };
            lines += &latex_line(&data.name, &cells).replacen(" &", &format!("{mark} &"), 1);
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let heads: String = methods
        .iter()
        .map(|&m| format!(" & {}", escape_latex(&summary.methods[m].label)))
        .collect();
    format!(
        "\n% ours, and in brackets what the paper prints; an unequal sign marks data that are not the paper's\n\\begin{{tabular}}{{l{}}}\n\\toprule\n{}(\\%){heads} \\\\\n\\midrule\n{lines}\\bottomrule\n\\end{{tabular}}\n",
        "c".repeat(methods.len()),
        metric.name()
    )
}

/// A line of a table. Its name may start with a bracket, which would belong to the line break before it.
fn latex_line(name: &str, cells: &[String]) -> String {
    format!("{{}}{} & {} \\\\\n", escape_latex(name), cells.join(" & "))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A table in Markdown, the first column to the left.
pub fn markdown(header: &[String], rows: &[Vec<String>]) -> String {
    let mut out =
        format!("| {} |\n|---{}|\n", header.join(" | "), "|---:".repeat(header.len() - 1));
    for row in rows {
        out += &format!("| {} |\n", row.join(" | "));
    }
    out
}

/// Text that is only text in Markdown.
pub fn escape(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '~' | '$' => out.extend(['\\', letter]),
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '\n' | '\r' => out.push(' '),
            _ => out.push(letter),
        }
    }
    out
}

/// Text that is only text in LaTeX.
fn escape_latex(text: &str) -> String {
    let mut out = String::new();
    for letter in one_line(text).chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', letter]),
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            'λ' => out += "$\\lambda$",
            _ => out.push(letter),
        }
    }
    out
}

/// A field of a CSV file.
fn quote(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{DataFacts, MethodColumn, Scored};

    fn summary() -> SuiteSummary {
        let scored = |values: &[f64]| {
            let runs = values
                .iter()
                .enumerate()
                .map(|(seed, &nmi)| crate::record::tests::record("x", "m", seed as u64, nmi));
            Some(ScoreCell::Scored(Scored { runs: runs.collect(), chosen: None }))
        };
        let method = |label: &str, ranked| MethodColumn {
            label: label.into(),
            printed: None,
            ranked,
            chosen: false,
            shuffled: true,
            ours: false,
        };
        let data =
            |name: &str| DataFacts { name: name.into(), size: None, printed: None, differs: None };
        SuiteSummary {
            data: vec![data("a|b"), data("c_d")],
            methods: vec![method("one", true), method("two", true), method("λ 100%", false)],
            cells: vec![
                vec![scored(&[0.5, 0.7]), scored(&[0.4]), scored(&[0.1])],
                vec![scored(&[0.2]), Some(ScoreCell::NotAvailable("more, than".into())), None],
            ],
            ..SuiteSummary::default()
        }
    }

    #[test]
    fn the_best_two_are_marked_and_names_are_only_names() {
        let table = ScoreTable::new(&summary(), ScoreKind::Nmi);
        let expected = "\
| NMI | one | two | λ 100% |
|---|---:|---:|---:|
| a\\|b | **[60.00]** ±14.14 | **40.00** | 10.00 |
| c\\_d | **[20.00]** | N/A |  |
| average score | 40.00 | - |  |
| average rank | 1.00 | 2.00 |  |
";
        assert_eq!(table.markdown(), expected);
        let latex = table.latex();
        assert!(latex.contains("[\\textbf{60.00}]$_{\\pm14.14}$ & \\textbf{40.00}"), "{latex}");
        assert!(latex.contains("c\\_d") && latex.contains("$\\lambda$ 100\\%"), "{latex}");
    }

    #[test]
    fn every_score_has_a_line_of_its_own() {
        let text = csv(&summary());
        assert_eq!(text.lines().count(), 1 + 4 * 4 + 1 + 4 * 4);
        assert!(text.contains("c_d,two,,,,,,,,true,,,,\"more, than\""), "{text}");
        assert!(text.contains("c_d,one,NMI,20,,1,1,,,true,"), "one run has no deviation: {text}");
        assert!(text.contains("average rank,two,NMI,2,"), "{text}");
        assert!(text.contains("average score,two,NMI,,"), "{text}");
        let fields = text.lines().next().unwrap().split(',').count();
        assert!(text.lines().filter(|l| !l.contains('"')).all(|l| l.split(',').count() == fields));
    }

    #[test]
    fn latex_tells_what_is_missing_and_what_the_paper_prints() {
        let mut found = summary();
        found.data[0] = DataFacts {
            name: "[Yale\n2]".into(),
            printed: Some("Yale".into()),
            differs: Some("other".into()),
            size: None,
        };
        found.methods[0].printed = Some("LSC".into());
        found.methods[1].shuffled = false;
        let mut suite = Suite::named("quick").unwrap();
        suite.typed = "obcut-bench 'a\nb'".into();
        let text = latex(&suite, &found);
        assert!(text.starts_with("% obcut-bench 'a b'\n"), "{text}");
        assert!(text.contains("% rows in the order of the file for: two\n"), "{text}");
        assert!(text.contains("% N/A: two on c_d: more, than\n"), "{text}");
        assert!(text.contains("\\\\\n\\midrule\n{}[Yale 2] & "), "{text}");
        let print = Printed::tables().figure(ScoreKind::Nmi, "Yale", "LSC").unwrap().unwrap().0;
        assert!(text.contains(&format!("{{}}[Yale 2]$^{{\\neq}}$ & 60.0 ({print}) ")), "{text}");
    }
}
