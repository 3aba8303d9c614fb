//! Parts of messages: shortened texts and suggestions of similar names.

use std::borrow::Cow;

/// Shortens a text to `limit` characters on one line.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let mut out: String = text.chars().take(limit).flat_map(char::escape_debug).collect();
    if text.chars().nth(limit).is_some() {
        out.push_str("...");
    }
    out
}

/// Shortens bytes of a text file to 40 characters.
pub(crate) fn shorten_bytes(bytes: &[u8]) -> String {
    shorten(&String::from_utf8_lossy(&bytes[..bytes.len().min(400)]), 40)
}

/// A hint for a missing name: the nearest name, else the first few names.
pub(crate) fn hint_for(wanted: &str, names: &[String]) -> String {
    let nearest = names.iter().map(|name| (distance(wanted, name), name)).min();
    match nearest {
        Some((d, name)) if d <= 1 + wanted.chars().count() / 3 => {
            format!("did you mean '{}'?", shorten(name, 40))
        }
        _ => list_of(names),
    }
}

/// Lists the number of names and the first few of them.
pub(crate) fn list_of(names: &[String]) -> String {
    if names.is_empty() {
        return "there is none".to_string();
    }
    let few: Vec<String> = names.iter().take(8).map(|n| shorten(n, 40)).collect();
    let more = if names.len() > few.len() { ", ..." } else { "" };
    format!("there are {}: {}{more}", names.len(), few.join(", "))
}

/// Case-insensitive Levenshtein distance. Long names are truncated: a typo shows in the first characters.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(64).collect();
    let b: Vec<char> = b.to_lowercase().chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// A text of one line without characters that a terminal obeys instead of showing. Names of files and columns may have any.
pub fn visible(text: &str) -> Cow<'_, str> {
    // Control characters, and those that change the direction of what follows.
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if obeyed(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_met_with_the_nearest_name() {
        let names = ["sepal_length".to_string(), "species".to_string()];
        assert_eq!(hint_for("Specis", &names), "did you mean 'species'?");
        assert_eq!(hint_for("zzzzzz", &names), "there are 2: sepal_length, species");
        assert_eq!(hint_for("zzz", &[]), "there is none");
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert!(matches!(visible("größe [m²] 日本"), Cow::Borrowed(_)));
        assert_eq!(visible("a\u{1b}[31mb\u{7}\n"), "a\\u{1b}[31mb\\u{7}\\n");
        assert_eq!(visible("\u{9b}2J\u{202e}x"), "\\u{9b}2J\\u{202e}x");
    }

    #[test]
    fn texts_in_messages_stay_short_and_on_one_line() {
        assert_eq!(shorten("a\nb", 40), "a\\nb");
        assert_eq!(shorten(&"x".repeat(50), 40), format!("{}...", "x".repeat(40)));
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
