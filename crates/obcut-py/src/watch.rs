//! Runs work in a thread of its own, while the caller's thread handles signals and progress. If either raises an
//! exception, the work is cancelled.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use obcut::{Error, Observer, Progress};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::raised;

/// Time between two checks of signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Forwards progress to a listener, if there is one, and can be cancelled.
struct ChannelObserver {
    cancelled: AtomicBool,
    sender: Mutex<Option<Sender<Progress>>>,
}

impl Observer for ChannelObserver {
    fn progress(&self, progress: &Progress) {
        if let Ok(sender) = self.sender.lock()
            && let Some(sender) = &*sender
        {
            // The listener may have ended, which is not an error of the fit.
            let _ = sender.send(*progress);
        }
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Runs `work` without the interpreter's lock. `listener` is called with the stage, the iteration, the maximum number
/// of iterations, the objective, and the restart (its number, the number of restarts).
pub fn watched<T: Send>(
    py: Python<'_>,
    listener: Option<Py<PyAny>>,
    work: impl FnOnce(&dyn Observer) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let (progress, events) = channel();
    let (done, end) = channel();
    let watch = ChannelObserver {
        cancelled: AtomicBool::new(false),
        sender: Mutex::new(listener.is_some().then_some(progress)),
    };
    py.detach(move || {
        thread::scope(|scope| {
            let worker = scope.spawn({
                let watch = &watch;
                move || {
                    let result = work(watch);
                    // Wakes the other thread, also when a panic drops it.
                    drop(done);
                    result
                }
            });
            let failure = attend(&watch, &events, &end, listener.as_ref());
            match (failure, worker.join()) {
                (Some(error), _) => Err(error),
                (None, Ok(result)) => result.map_err(raised),
                (None, Err(_)) => Err(PyRuntimeError::new_err(
                    "internal error: a panic in the engine; please report it with the traceback above",
                )),
            }
        })
    })
}

/// Waits for the end. Returns the exception of a signal or of the listener.
fn attend(
    watch: &ChannelObserver,
    events: &Receiver<Progress>,
    end: &Receiver<()>,
    listener: Option<&Py<PyAny>>,
) -> Option<PyErr> {
    let mut failure = None;
    loop {
        let over = end.recv_timeout(SIGNAL_INTERVAL) == Err(RecvTimeoutError::Disconnected);
        if failure.is_none() {
            let looked = Python::attach(|py| {
                py.check_signals()?;
                events.try_iter().try_for_each(|event| report(py, listener, &event))
            });
            if let Err(error) = looked {
                watch.cancelled.store(true, Ordering::Relaxed);
                failure = Some(error);
            }
        }
        if over {
            return failure;
        }
    }
}

fn report(py: Python<'_>, listener: Option<&Py<PyAny>>, event: &Progress) -> PyResult<()> {
    let Some(listener) = listener else { return Ok(()) };
    let Progress { stage, iteration, max_iterations, objective, restart } = *event;
    listener.call1(py, (stage.name(), iteration, max_iterations, objective, restart))?;
    Ok(())
}
