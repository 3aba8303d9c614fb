//! Markup, and the conversion of text to markup.

use std::fmt::{self, Display, Write};

use serde::Serialize;

/// Markup that is ready for a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    /// Wraps markup without changing it. It must not contain text from users, which goes through [`text`].
    pub fn trusted(markup: impl Into<String>) -> Self {
        Self(markup.into())
    }

    /// Creates a paragraph of plain text.
    pub fn paragraph(words: &str) -> Self {
        Self(format!("<p>{}</p>", text(words)))
    }

    /// The markup.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Appends markup.
    pub fn push(&mut self, more: &Html) {
        self.0.push_str(&more.0);
    }
}

impl Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(parts: I) -> Self {
        Self(parts.into_iter().map(|part| part.0).collect())
    }
}

/// Text that is safe in an element or a quoted attribute.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(&'a str);

/// Escapes text.
pub fn text(plain: &str) -> Text<'_> {
    Text(plain)
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(c)?,
                c if c.is_control() => f.write_char('\u{fffd}')?,
                // Characters that change the writing direction would reorder the page around them.
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Embeds data for the script in an element that is not executed. No text in the data can close the element.
pub fn data(class: &str, value: &impl Serialize) -> Html {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        // Outside strings, JSON has none of these characters.
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe += &format!("\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    Html(format!("<script type=\"application/json\" class=\"{}\">{safe}</script>", text(class)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_only_text() {
        let nasty = "<script>alert('1')</script> & \"quotes\" \u{0}\u{202e}";
        let shown = text(nasty).to_string();
        assert_eq!(
            shown,
            "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;quotes&quot; \u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn data_cannot_end_its_element() {
        let html = data("points", &["</script><b>", "a&b\u{2028}"]);
        let inside = html.as_str().split_once('>').map_or("", |pair| pair.1);
        let inside = inside.strip_suffix("</script>").unwrap_or("");
        assert!(!inside.contains(['<', '>', '&', '\u{2028}']), "{inside}");
        let back: Vec<String> = serde_json::from_str(inside).unwrap();
        assert_eq!(back, ["</script><b>", "a&b\u{2028}"]);
    }
}
