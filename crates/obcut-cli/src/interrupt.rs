//! Handling of Ctrl-C and SIGTERM.
//!
//! The first signal asks the fit to stop. If nothing can be asked (while a file is read), or if stopping
//! takes too long, the process exits. While files are written, the run finishes as usual, so that no
//! temporary file is left.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use crate::failure::{Failure, INTERRUPTED};

/// How long a fit may take to stop.
const PATIENCE: Duration = Duration::from_millis(800);

static SIGNALS: AtomicUsize = AtomicUsize::new(0);
static WATCHED: AtomicBool = AtomicBool::new(false);
static WRITING: AtomicBool = AtomicBool::new(false);
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Starts to listen to signals.
pub fn install(json: bool) -> anyhow::Result<()> {
    ctrlc::set_handler(move || {
        let n_before = SIGNALS.fetch_add(1, SeqCst);
        if WRITING.load(SeqCst) && n_before < 2 {
            return;
        }
        if n_before > 0 || !WATCHED.load(SeqCst) {
            leave(json);
        }
        // The handler must return, or a second signal would wait for it.
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            if !WRITING.load(SeqCst) {
                leave(json);
            }
        });
    })?;
    Ok(())
}

/// Whether a signal asked the run to stop.
pub fn requested() -> bool {
    SIGNALS.load(SeqCst) > 0
}

/// Runs work that calls [`requested`] many times a second.
pub fn watched<T>(work: impl FnOnce() -> T) -> T {
    WATCHED.store(true, SeqCst);
    let result = work();
    WATCHED.store(false, SeqCst);
    result
}

/// Writes files without interruption.
///
/// # Errors
/// When a signal arrived before, or writing fails.
pub fn writing<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    WRITING.store(true, SeqCst);
    let result = if requested() { Err(obcut::Error::Cancelled.into()) } else { work() };
    WRITING.store(false, SeqCst);
    result
}

/// Writes a state, also after a signal: the process does not exit before it is written.
pub fn saving<T>(work: impl FnOnce() -> T) -> T {
    let before = WRITING.swap(true, SeqCst);
    let result = work();
    WRITING.store(before, SeqCst);
    result
}

/// Exits, unless another thread is about to: only one message is printed.
fn leave(json: bool) {
    if !LEAVING.swap(true, SeqCst) {
        Failure::interrupted().print(json);
        std::process::exit(i32::from(INTERRUPTED));
    }
}

/// Claims the right to print the last message. If another thread has it, waits for the exit.
pub fn claim_exit() {
    if LEAVING.swap(true, SeqCst) {
        thread::sleep(Duration::from_secs(2));
    }
}
