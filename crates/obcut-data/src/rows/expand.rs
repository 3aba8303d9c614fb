//! Expansion of folders and patterns to files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::detect::inner_suffix;
use crate::error::Error;
use crate::source::Source;

/// File extensions of tables in a folder. The first group with a file is used, so that notes beside the data
/// do no harm.
const KINDS: [&[&str]; 3] = [&["parquet", "pq"], &["csv", "tsv", "tab"], &["npy"]];

/// Lists the files of a folder or a pattern by name. Other sources are returned unchanged.
///
/// For a folder, these are its Parquet files, else its CSV and TSV files, else its NPY files. A pattern has
/// `*` (any text) or `?` (any character) in its last component. Files whose names start with a dot are
/// ignored.
///
/// # Errors
/// When the folder cannot be read, or there is no file.
pub fn expand(source: &Source) -> Result<Vec<Source>, Error> {
    let Source::Path(path) = source else { return Ok(vec![source.clone()]) };
    if path.is_dir() {
        let files = files_in(path)?;
        let of_kind = |kind: &&[&str]| -> Vec<PathBuf> {
            let fits = |file: &&PathBuf| kind.contains(&inner_suffix(file).as_str());
            files.iter().filter(fits).cloned().collect()
        };
        let found = KINDS.iter().map(of_kind).find(|found| !found.is_empty());
        let source_name = path.display().to_string();
        let found = found.ok_or(Error::NoTables { source_name })?;
        return Ok(found.into_iter().map(Source::Path).collect());
    }
    let pattern = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let Some(pattern) = pattern.filter(|name| name.contains(['*', '?']) && !path.exists()) else {
        return Ok(vec![source.clone()]);
    };
    let pattern: Vec<char> = pattern.chars().collect();
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut found = files_in(folder.unwrap_or(Path::new(".")))?;
    found.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        matches(&pattern, &name.chars().collect::<Vec<_>>())
    });
    if found.is_empty() {
        return Err(Error::NoMatch { pattern: path.display().to_string() });
    }
    // Without a folder if the pattern has none.
    let place = |file: PathBuf| match (folder, file.file_name()) {
        (None, Some(name)) => PathBuf::from(name),
        _ => file,
    };
    Ok(found.into_iter().map(|file| Source::Path(place(file))).collect())
}

/// The visible files of a folder, by name.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let source_name = folder.display().to_string();
    let fail = |cause| Error::reading(&source_name, cause);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !is_hidden && !entry.path().is_dir() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a name matches a pattern. If the rest does not match, the last `*` takes one more character.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries all ways to match a pattern.
    fn slow(pattern: &[char], name: &[char]) -> bool {
        match (pattern.first(), name.first()) {
            (None, None) => true,
            (Some('*'), _) => (0..=name.len()).any(|n| slow(&pattern[1..], &name[n..])),
            (Some(p), Some(n)) => (p == n || *p == '?') && slow(&pattern[1..], &name[1..]),
            _ => false,
        }
    }

    #[test]
    fn patterns_fit_as_all_ways_to_fill_them() {
        let letters = ['a', 'b', '*', '?'];
        let words = |n: u32, of: &[char]| -> Vec<Vec<char>> {
            (0..(of.len()).pow(n))
                .map(|code| (0..n).map(|i| of[code / of.len().pow(i) % of.len()]).collect())
                .collect()
        };
        for p in 0..5 {
            for pattern in words(p, &letters) {
                for name in (0..5).flat_map(|n| words(n, &letters[..2])) {
                    assert_eq!(matches(&pattern, &name), slow(&pattern, &name));
                }
            }
        }
    }
}
