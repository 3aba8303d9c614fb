//! Matrix plots of a sparse matrix whose rows and columns are sorted by group.

use super::frame::WIDTH;
use super::{Axis, Caption, figure, short, svg};
use crate::html::{Html, text};
use crate::palette;

/// Maximum number of groups with lines between them: more lines would hide the cells.
const MOST_BORDERS: usize = 40;
/// Number of shades of a cell.
const SHADES: usize = 5;

/// A matrix plot. Each cell is the mean of some entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    /// Title and note.
    pub caption: Caption,
    /// The axis of the columns, above the plot.
    pub columns: Axis,
    /// The axis of the rows, on the left.
    pub rows: Axis,
    /// Group of every row of cells, in ascending order.
    pub row_groups: Vec<usize>,
    /// Group of every column of cells, in ascending order.
    pub column_groups: Vec<usize>,
    /// Row, column and strength in (0, 1] of every cell that is not empty.
    pub cells: Vec<(usize, usize, f64)>,
}

impl Blocks {
    /// Draws the figure.
    pub fn html(&self) -> Html {
        let (left, top, right) = (30.0, 40.0, 8.0);
        let side = WIDTH - left - right;
        let (n_rows, n_columns) = (self.row_groups.len().max(1), self.column_groups.len().max(1));
        let (height, width) = (side / n_rows as f64, side / n_columns as f64);
        let mut out = String::new();
        out += &format!(
            "<rect class=\"frame\" x=\"{left}\" y=\"{top}\" width=\"{side}\" height=\"{side}\"/>"
        );
        // Cells of the same colour and shade are one path, with a stroke per run of cells in a row.
        let n_groups = palette::LIGHT.len() + 1;
        let mut paths = vec![String::new(); n_groups * SHADES];
        let mut cells: Vec<(usize, usize, usize)> = Vec::with_capacity(self.cells.len());
        for &(row, column, strength) in &self.cells {
            let (Some(&a), Some(&b)) = (self.row_groups.get(row), self.column_groups.get(column))
            else {
                continue;
            };
            let group = if a == b { palette::color(a) } else { n_groups - 1 };
            let shade = ((strength * SHADES as f64).ceil() as usize).clamp(1, SHADES) - 1;
            cells.push((row, column, group * SHADES + shade));
        }
        cells.sort_unstable();
        let mut at = 0;
        while at < cells.len() {
            let (row, column, path) = cells[at];
            let run = (cells[at..].iter().enumerate())
                .take_while(|(i, c)| **c == (row, column + i, path))
                .count();
            paths[path] += &format!(
                "M{} {}h{}",
                short(left + column as f64 * width),
                short(top + (row as f64 + 0.5) * height),
                short((run as f64 * width).max(0.3))
            );
            at += run;
        }
        for (i, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            let (group, shade) = (i / SHADES, i % SHADES);
            let class = if group == n_groups - 1 { "lx".to_string() } else { format!("l{group}") };
            let opacity = short((shade + 1) as f64 / SHADES as f64);
            out += &format!(
                "<path class=\"{class}\" stroke-width=\"{}\" stroke-opacity=\"{opacity}\" d=\"{path}\"/>",
                short(height.max(0.4) + 0.1)
            );
        }
        for (groups, step, across) in
            [(&self.row_groups, height, true), (&self.column_groups, width, false)]
        {
            out += &borders(groups, step, (left, top, side), across);
        }
        out += &format!(
            "<text class=\"axis\" x=\"{left}\" y=\"11\">{} →</text><text class=\"axis\" transform=\"translate(9 {})rotate(-90)\" text-anchor=\"end\">← {}</text>",
            text(&self.columns.text()),
            top,
            text(&self.rows.text())
        );
        let drawn = svg(WIDTH, top + side + 6.0, &self.description(), "", &out);
        figure("blocks", &self.caption, &drawn)
    }

    fn description(&self) -> String {
        let total: f64 = self.cells.iter().map(|c| c.2).sum();
        let inside: f64 = (self.cells.iter())
            .filter(|c| self.row_groups.get(c.0) == self.column_groups.get(c.1))
            .map(|c| c.2)
            .sum();
        let share = if total > 0.0 { 100.0 * inside / total } else { 0.0 };
        format!(
            "Matrix picture: {}. {share:.0} per cent of what is drawn lies in the blocks on the diagonal.",
            self.caption.title
        )
    }
}

/// Draws lines between groups, and the numbers of groups if there is space.
fn borders(
    groups: &[usize],
    step: f64,
    (left, top, side): (f64, f64, f64),
    across: bool,
) -> String {
    let mut out = String::new();
    let n_groups = 1 + groups.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let (mut start, mut last_word) = (0, -1e9);
    while start < groups.len() {
        let end = start + groups[start..].iter().take_while(|g| **g == groups[start]).count();
        let (from, to) = (start as f64 * step, end as f64 * step);
        if end < groups.len() && n_groups <= MOST_BORDERS {
            let d = if across {
                format!("M{} {}h{}", short(left), short(top + to), short(side))
            } else {
                format!("M{} {}v{}", short(left + to), short(top), short(side))
            };
            out += &format!("<path class=\"border\" d=\"{d}\"/>");
        }
        let middle = (from + to) / 2.0;
        let room = if across { 14.0 } else { 8.0 + 7.0 * groups[start].to_string().len() as f64 };
        if middle - last_word >= room {
            last_word = middle;
            let (x, y, anchor) = if across {
                (left - 4.0, top + middle + 3.5, "end")
            } else {
                (left + middle, top - 5.0, "middle")
            };
            out += &format!(
                "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                short(x),
                short(y),
                groups[start]
            );
        }
        start = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_cells_are_one_stroke_and_strays_have_their_own_colour() {
        let blocks = Blocks {
            caption: Caption::new("Graph", ""),
            row_groups: vec![0, 0, 1, 1],
            column_groups: vec![0, 0, 1, 1],
            cells: vec![(0, 0, 1.0), (0, 1, 1.0), (2, 2, 0.5), (3, 0, 0.1)],
            ..Blocks::default()
        };
        let html = blocks.html().to_string();
        assert_eq!(html.matches("class=\"lx\"").count(), 1);
        assert_eq!(html.matches("class=\"l0\"").count(), 1);
        assert!(html.contains("96 per cent"), "{html}");
        assert_eq!(html.matches("class=\"border\"").count(), 2);
        assert!(Blocks::default().html().as_str().contains("<svg"));
    }
}
