//! Tables that can be sorted by every column.

use super::{Caption, swatch};
use crate::html::{Html, text};
use crate::number;

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Name, with its unit if it has one.
    pub name: String,
    /// Whether it holds numbers, which are aligned on the right and sorted by value.
    pub number: bool,
}

impl Column {
    /// Creates a column of text.
    pub fn words(name: impl Into<String>) -> Self {
        Self { name: name.into(), number: false }
    }

    /// Creates a column of numbers.
    pub fn numbers(name: impl Into<String>) -> Self {
        Self { name: name.into(), number: true }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The text.
    pub text: String,
    /// The sort key, if not the text. Empty cells come last.
    pub key: Option<f64>,
    /// The rank, if it is marked: 1 is the best, 2 the second.
    pub place: Option<usize>,
    /// The series whose mark is in front of the text.
    pub series: Option<usize>,
}

impl Cell {
    /// Creates a cell of text.
    pub fn words(words: impl Into<String>) -> Self {
        Self { text: words.into(), ..Self::default() }
    }

    /// Creates a cell of a number with four significant digits.
    pub fn number(value: f64) -> Self {
        Self { text: number::number(value), key: Some(value), ..Self::default() }
    }

    /// Creates a cell of a count.
    pub fn count(value: usize) -> Self {
        Self { text: number::count(value), key: Some(value as f64), ..Self::default() }
    }

    /// Creates a cell of a mean and its spread, sorted by the mean.
    pub fn mean(mean: f64, spread: f64, decimals: usize) -> Self {
        let text =
            format!("{} ± {}", number::fixed(mean, decimals), number::fixed(spread, decimals));
        Self { text, key: Some(mean), ..Self::default() }
    }

    /// Creates a cell of text that is sorted by a number.
    pub fn keyed(words: impl Into<String>, key: f64) -> Self {
        Self { text: words.into(), key: Some(key), ..Self::default() }
    }

    /// Marks the cell as the best.
    pub fn best(self, best: bool) -> Self {
        Self { place: best.then_some(1), ..self }
    }

    /// Marks the cell if it is the best or the second.
    pub fn place(self, place: usize) -> Self {
        Self { place: Some(place).filter(|place| (1..=2).contains(place)), ..self }
    }

    /// Adds the mark of a series.
    pub fn series(self, series: usize) -> Self {
        Self { series: Some(series), ..self }
    }
}

/// A table. A click or the enter key on a column header sorts by the column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableChart {
    /// Title and note.
    pub caption: Caption,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, with a cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Whether it takes half the width of the page, beside another figure.
    pub half: bool,
}

impl TableChart {
    /// Draws the table.
    pub fn html(&self) -> Html {
        let head: String = self.columns.iter().map(head).collect();
        let body: String = (self.rows.iter())
            .map(|row| {
                let cells = row.iter().zip(&self.columns).enumerate();
                let cells = cells.map(|(i, (cell, column))| cell.html(column, i == 0));
                format!("<tr>{}</tr>\n", cells.collect::<String>())
            })
            .collect();
        let note = match self.caption.note.as_str() {
            "" => String::new(),
            note => format!("<p>{}</p>", text(note)),
        };
        let title = text(&self.caption.title).to_string();
        let wide = if self.half { "" } else { " wide" };
        Html::trusted(format!(
            "<figure class=\"chart{wide} table\"><figcaption><h3>{title}</h3>{note}</figcaption><div class=\"scroll\" role=\"region\" aria-label=\"{title}\" tabindex=\"0\"><table class=\"sortable\"><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div></figure>\n"
        ))
    }
}

fn head(column: &Column) -> String {
    let class = if column.number { " class=\"n\"" } else { "" };
    format!(
        "<th scope=\"col\" aria-sort=\"none\"{class}><button type=\"button\">{}</button></th>",
        text(&column.name)
    )
}

impl Cell {
    fn html(&self, column: &Column, first: bool) -> String {
        let (mark, words) = match self.place {
            Some(1) => ("best", "<span class=\"unseen\"> (best)</span>"),
            Some(_) => ("second", "<span class=\"unseen\"> (second)</span>"),
            None => ("", ""),
        };
        let class = match (column.number, mark) {
            (true, "") => " class=\"n\"".into(),
            (true, mark) => format!(" class=\"n {mark}\""),
            (false, "") => String::new(),
            (false, mark) => format!(" class=\"{mark}\""),
        };
        let key = match self.key.filter(|key| key.is_finite()) {
            Some(key) => format!(" data-key=\"{key}\""),
            None => String::new(),
        };
        let mark = self.series.map(swatch).unwrap_or_default();
        let (start, end) = if first { ("th scope=\"row\"", "th") } else { ("td", "td") };
        format!("<{start}{class}{key}>{mark}{}{words}</{end}>", text(&self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_buttons_and_numbers_have_keys() {
        let table = TableChart {
            caption: Caption::new("Scores", ""),
            columns: vec![Column::words("method"), Column::numbers("NMI (%)")],
            rows: vec![
                vec![Cell::words("a<b").series(1), Cell::mean(75.0, 1.25, 1).place(1)],
                vec![Cell::words("c"), Cell::number(f64::NAN)],
                vec![Cell::words("d"), Cell::number(2.0).place(2)],
                vec![Cell::words("e"), Cell::number(1.0).place(3)],
            ],
            half: true,
        };
        let html = table.html().to_string();
        assert_eq!(html.matches("aria-sort=\"none\"").count(), 2);
        assert!(html.contains("<td class=\"n best\" data-key=\"75\">75.0 ± 1.2"), "{html}");
        assert!(html.contains("<td class=\"n\">–</td>"), "{html}");
        assert!(html.contains("<td class=\"n second\" data-key=\"2\">2<span"), "{html}");
        assert!(html.contains("<td class=\"n\" data-key=\"1\">1</td>"), "{html}");
        assert!(html.contains("<th scope=\"row\">c</th>"), "{html}");
        assert!(html.contains("a&lt;b") && html.contains("swatch"));
    }
}
