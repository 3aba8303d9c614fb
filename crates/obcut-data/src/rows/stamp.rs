//! What shows that a file changed: its length, its time of change and which file it is.

use std::fs::{self, Metadata};
use std::path::PathBuf;
use std::time::SystemTime;

use crate::source::Source;

/// A file as it was at some moment.
#[derive(Debug)]
pub(super) struct Stamp {
    path: PathBuf,
    state: Option<FileState>,
}

#[derive(Debug, PartialEq)]
struct FileState {
    length: u64,
    modified: Option<SystemTime>,
    /// Device and number of the file: another file may have taken its name.
    identity: Option<(u64, u64)>,
}

impl Stamp {
    /// The file of a source. `None` for a pipe, which has no state to compare.
    pub(super) fn of(source: &Source) -> Option<Self> {
        let Source::Path(path) = source else { return None };
        let meta = fs::metadata(path).ok()?;
        meta.is_file().then(|| Self { path: path.clone(), state: Some(FileState::of(&meta)) })
    }

    /// Whether the file is still as it was.
    pub(super) fn is_current(&self) -> bool {
        fs::metadata(&self.path).ok().map(|meta| FileState::of(&meta)) == self.state
    }

    /// The name of the file, for messages.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }
}

impl FileState {
    fn of(meta: &Metadata) -> Self {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            Some((meta.dev(), meta.ino()))
        };
        #[cfg(not(unix))]
        let identity = None;
        Self { length: meta.len(), modified: meta.modified().ok(), identity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grows_or_is_replaced_or_removed_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "12").unwrap();
        let stamp = Stamp::of(&Source::Path(path.clone())).unwrap();
        assert!(stamp.is_current());
        fs::write(&path, "123").unwrap();
        assert!(!stamp.is_current());
        let stamp = Stamp::of(&Source::Path(path.clone())).unwrap();
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        // Another file of the same length and time.
        let other = folder.path().join("y");
        fs::write(&other, "456").unwrap();
        fs::File::options().append(true).open(&other).unwrap().set_modified(time).unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(stamp.is_current(), cfg!(not(unix)));
        fs::remove_file(&path).unwrap();
        assert!(!stamp.is_current());
        assert!(Stamp::of(&Source::Path(path)).is_none() && Stamp::of(&Source::Stdin).is_none());
    }
}
