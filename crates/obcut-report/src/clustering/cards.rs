//! The section on the features that distinguish clusters.

use super::sections::signed;
use super::{ClusteringFacts, share};
use crate::chart::swatch;
use crate::html::{Html, text};
use crate::number::{count, percent, plural, significant};
use crate::page::Section;
use crate::palette;

/// Number of clusters that are shown; the others are collapsed.
const OPEN: usize = 12;

/// A card per cluster.
pub fn differences(facts: &ClusteringFacts) -> Option<Section> {
    let k = facts.k();
    if k == 0 {
        return None;
    }
    let cards = |range: std::ops::Range<usize>| -> String {
        format!("<div class=\"cards\">{}</div>", range.map(|j| card(facts, j)).collect::<String>())
    };
    let mut body = cards(0..k.min(OPEN));
    if k > OPEN {
        body += &format!(
            "<details class=\"wide\"><summary>{}</summary>{}</details>",
            plural(k - OPEN, "more cluster"),
            cards(OPEN..k)
        );
    }
    let lead = if k == 1 {
        "One cluster does not differ from the table."
    } else {
        "The features that differ most from the table as a whole: mean of the cluster beside the mean of all rows, and bars in standard deviations (SD) of the feature."
    };
    Some(Section::new("What sets clusters apart", lead, [Html::trusted(body)]))
}

fn card(facts: &ClusteringFacts, j: usize) -> String {
    let c = &facts.explanation.clusters[j];
    let part = c.rows as f64 / facts.n_rows().max(1) as f64;
    let mut out = format!(
        "<article class=\"card\"><h3>{}Cluster {j}</h3><p>{}, {} of all. Cohesion {}",
        swatch(j),
        plural(c.rows, "row"),
        percent(part),
        share(c.cohesion)
    );
    if let Some(nearest) = c.nearest {
        out += &format!(", nearest cluster {nearest} ({})", percent(c.nearest_share));
    }
    out += ".</p>";
    let widest = facts.explanation.clusters.iter().flat_map(|c| &c.features);
    let widest = widest.map(|f| f.difference.abs()).fold(1.0, f64::max);
    if !c.features.is_empty() {
        let rows: String = (c.features.iter())
            .map(|f| {
                let name = facts.feature(f.index);
                let [mean, overall] = apart(f.mean, f.overall);
                let tip = format!(
                    "{name}: mean {mean} here, {overall} in all rows, {} SD",
                    signed(f.difference, 2)
                );
                format!(
                    "<dt title=\"{0}\">{0}</dt><dd>{1}</dd><dd>{2} <small>({3})</small></dd>",
                    text(&name),
                    bar(f.difference / widest, j, &tip),
                    text(&mean),
                    text(&overall)
                )
            })
            .collect();
        out += &format!("<dl>{rows}</dl>");
    }
    let typical = facts.rows.as_ref().and_then(|rows| rows.typical.get(j));
    if let Some(rows) = typical.filter(|rows| !rows.is_empty()) {
        let rows: Vec<String> = rows.iter().map(|&row| count(row as usize)).collect();
        let word = if rows.len() == 1 { "row" } else { "rows" };
        let among = match facts.rows.as_ref().and_then(|rows| rows.looked_at) {
            Some(n) => format!(" among {}", plural(n, "row")),
            None => String::new(),
        };
        out += &format!(
            "<p>Nearest to the centre{}: {word} {}.</p>",
            text(&among),
            text(&rows.join(" · "))
        );
    }
    out + "</article>\n"
}

/// Formats two numbers with enough digits to distinguish them, since means of times are close.
fn apart(a: f64, b: f64) -> [String; 2] {
    let words = |digits: usize| [a, b].map(|value| significant(value, digits));
    let differ = |digits: &usize| {
        let [x, y] = words(*digits);
        x != y
    };
    let digits = (4..=15).find(differ).unwrap_or(4);
    // Two digits of the difference.
    words(if digits > 4 { (digits + 1).min(15) } else { 4 })
}

/// Draws a bar from the middle to either side; 1 fills half of it.
fn bar(length: f64, cluster: usize, tip: &str) -> String {
    let half = 36.0 * length.clamp(-1.0, 1.0);
    let (x, width) = (37.0 + half.min(0.0), half.abs().max(0.5));
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 74 10\" role=\"img\" aria-label=\"{0}\"><path class=\"base\" d=\"M37 0V10\"/><rect class=\"f{1}\" x=\"{x:.1}\" y=\"1\" width=\"{width:.1}\" height=\"8\" data-tip=\"{0}\"/></svg>",
        text(tip),
        palette::color(cluster)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_that_lie_close_have_more_digits() {
        assert_eq!(apart(0.5, 0.25), ["0.5", "0.25"]);
        assert_eq!(apart(1_700_000_010.0, 1_700_000_250.0), ["1,700,000,010", "1,700,000,250"]);
        assert_eq!(apart(3.0, 3.0), ["3", "3"]);
        assert_eq!(apart(1.000_012, 1.000_034), ["1.000012", "1.000034"]);
    }
}
