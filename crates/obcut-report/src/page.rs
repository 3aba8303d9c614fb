//! The page around the charts: head, contents, style and script in one file.

use crate::html::{Html, text};
use crate::palette;

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

/// A page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The title.
    pub title: String,
    /// The line below the title.
    pub subtitle: String,
    /// Key facts as (name, value).
    pub tiles: Vec<(String, String)>,
    /// Warnings, shown first.
    pub warnings: Vec<String>,
    /// The sections.
    pub sections: Vec<Section>,
    /// The last line.
    pub footer: String,
}

/// A section of a page, with an entry in the contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// The sentence below the heading; may be empty.
    pub lead: String,
    /// The charts and tables, side by side if there is space.
    pub body: Html,
}

impl Section {
    /// Creates a section.
    pub fn new(
        title: impl Into<String>,
        lead: impl Into<String>,
        parts: impl IntoIterator<Item = Html>,
    ) -> Self {
        Self { title: title.into(), lead: lead.into(), body: parts.into_iter().collect() }
    }
}

impl Page {
    /// Writes the file.
    pub fn html(&self) -> String {
        let contents: String = (self.sections.iter().enumerate())
            .map(|(i, s)| format!("<li><a href=\"#s{i}\">{}</a></li>", text(&s.title)))
            .collect();
        let tiles: String = (self.tiles.iter())
            .map(|(name, value)| {
                format!("<div><dt>{}</dt><dd>{}</dd></div>", text(name), text(value))
            })
            .collect();
        let sections: String = self.sections.iter().enumerate().map(|(i, s)| s.html(i)).collect();
        let parts = [
            ("title", text(&self.title).to_string()),
            ("subtitle", text(&self.subtitle).to_string()),
            ("tiles", tiles),
            ("warnings", self.warning_box()),
            ("contents", contents),
            ("sections", sections),
            ("footer", text(&self.footer).to_string()),
            ("light", palette::properties(false)),
            ("dark", palette::properties(true)),
            ("style", STYLE.to_string()),
            ("script", SCRIPT.to_string()),
        ];
        fill(TEMPLATE, &parts)
    }

    fn warning_box(&self) -> String {
        if self.warnings.is_empty() {
            return "<p class=\"fine\"><strong>✓ No warnings.</strong></p>".into();
        }
        let items: String =
            self.warnings.iter().map(|w| format!("<li>{}</li>", text(&sentence(w)))).collect();
        let n = crate::number::plural(self.warnings.len(), "warning");
        format!(
            "<div class=\"warnings\" role=\"note\"><strong>⚠ {n}</strong><ul>{items}</ul></div>"
        )
    }
}

impl Section {
    fn html(&self, number: usize) -> String {
        let lead = match self.lead.as_str() {
            "" => String::new(),
            lead => format!("<p class=\"lead\">{}</p>", text(lead)),
        };
        format!(
            "<section id=\"s{number}\"><h2>{}</h2>{lead}<div class=\"charts\">\n{}</div></section>\n",
            text(&self.title),
            self.body
        )
    }
}

/// Replaces `{{name}}` in a template by the parts, in one pass: the parts themselves are not searched.
fn fill(template: &str, parts: &[(&str, String)]) -> String {
    let length = parts.iter().map(|part| part.1.len()).sum::<usize>() + template.len();
    let mut out = String::with_capacity(length);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out += before;
        let (name, after) = after.split_once("}}").unwrap_or(("", after));
        if let Some((_, part)) = parts.iter().find(|part| part.0 == name) {
            out += part;
        }
        rest = after;
    }
    out + rest
}

/// Adds a capital at the start and a full stop at the end.
fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    let first: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let end = if words.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_and_leaves_for_nowhere() {
        let page = Page {
            title: "<script>{{style}}".into(),
            tiles: vec![("rows".into(), "1,797".into())],
            warnings: vec!["the graph falls apart".into()],
            sections: vec![Section::new("A & B", "", [Html::paragraph("x < y")])],
            ..Page::default()
        };
        let html = page.html();
        assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
        assert!(html.contains("<title>&lt;script&gt;{{style}}</title>"), "a title is no template");
        assert!(html.contains("<li>The graph falls apart.</li>"));
        assert!(html.contains("<h2>A &amp; B</h2>") && html.contains("x &lt; y"));
        for word in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!html.contains(word), "{word}");
        }
    }

    #[test]
    fn style_and_script_are_small_and_end_no_element() {
        assert!(STYLE.len() + SCRIPT.len() < 16_000, "{}", STYLE.len() + SCRIPT.len());
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("innerHTML"));
    }
}
