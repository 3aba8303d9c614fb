//! A name for the state of the engine: a hash of the sources of the library and of the other methods, and of the
//! versions of what they are built on. Records carry it, so that runs of different states can be told apart.

use std::fs;
use std::path::{Path, PathBuf};

const SOURCES: [&str; 3] = ["../obcut/src", "../obcut-baselines/src", "../../Cargo.lock"];

fn main() {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for source in SOURCES.map(Path::new).iter().filter(|source| source.exists()) {
        println!("cargo::rerun-if-changed={}", source.display());
        for file in files(source) {
            // The name as well: the same text elsewhere is other code.
            add(&mut hash, file.to_string_lossy().replace('\\', "/").as_bytes());
            // Line ends depend on how the sources were checked out.
            add(
                &mut hash,
                fs::read_to_string(&file).unwrap_or_default().replace('\r', "").as_bytes(),
            );
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=OBCUT_ENGINE={:08x}", (hash >> 32) ^ (hash & 0xffff_ffff));
}

/// FNV-1a.
fn add(hash: &mut u64, bytes: &[u8]) {
    for &byte in bytes {
        *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

/// All sources below a path, in the order of their names.
fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(path) else { return vec![path.to_path_buf()] };
    let mut entries: Vec<PathBuf> = folder.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let files = entries.iter().flat_map(|entry| files(entry));
    files.filter(|file| file.extension().is_some_and(|suffix| suffix == "rs")).collect()
}
