"""Progress of a fit: a progress bar, and the callbacks of scikit-learn."""

import contextlib
import sys
import time

#: Stack level from a warning in `fit` to the line that called `fit`, past the decorators of `fit`.
CALLER = 4

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Does nothing, because this scikit-learn has no callbacks."""

    def with_callbacks(method):
        """Does nothing, because this scikit-learn has no callbacks."""
        return method

    CALLER = 3


def _in_notebook():
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


class Bar:
    """Shows progress on standard error: a bar in a terminal or a notebook, otherwise one line per stage.

    Parameters
    ----------
    verbose : int
        1 shows the bar, 2 every iteration.
    """

    def __init__(self, verbose):
        self.verbose = verbose
        self.start = time.perf_counter()
        self.place = None
        self.bar = None
        self.width = 0
        self.tqdm = None
        self.shows_bar = sys.stderr.isatty() or _in_notebook()
        if self.shows_bar:
            with contextlib.suppress(ImportError):
                from tqdm.auto import tqdm

                self.tqdm = tqdm

    def __call__(self, stage, iteration, max_iterations, objective, restart):
        """Handle one progress report of the engine."""
        is_new = self.place != (stage, restart)
        self.place = (stage, restart)
        if self.tqdm is not None:
            self._with_tqdm(is_new, stage, iteration, max_iterations, objective, restart)
            return
        text = _describe(stage, iteration, max_iterations, objective, restart)
        if self.shows_bar:
            self._redraw(_drawn(iteration, max_iterations) + text)
        elif is_new or self.verbose > 1:
            self._line(text)

    def close(self):
        """Remove the bar."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None
        elif self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
            self.width = 0

    def _with_tqdm(self, is_new, stage, iteration, max_iterations, objective, restart):
        if is_new:
            if self.bar is not None:
                self.bar.close()
            run = f" (run {restart[0] + 1} of {restart[1]})" if restart[1] > 1 else ""
            self.bar = self.tqdm(total=max_iterations or None, desc=stage + run, leave=self.verbose > 1)
        if max_iterations and self.bar.total != max_iterations:
            self.bar.reset(total=max_iterations)
        self.bar.update(iteration - self.bar.n)
        if objective is not None:
            self.bar.set_postfix(objective=f"{objective:.6g}")

    def _redraw(self, text):
        text = f"{self._seconds():7.1f} s {text}"[:79]
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def _line(self, text):
        sys.stderr.write(f"[{self._seconds():8.3f} s] {text}\n")
        sys.stderr.flush()

    def _seconds(self):
        return time.perf_counter() - self.start


def _describe(stage, iteration, max_iterations, objective, restart):
    text = stage
    if max_iterations:
        text += f", iteration {iteration} of {max_iterations}"
    if objective is not None:
        text += f", objective {objective:.6g}"
    if restart[1] > 1:
        text += f" (run {restart[0] + 1} of {restart[1]})"
    return text


def _drawn(iteration, max_iterations, width=20):
    if not max_iterations:
        return ""
    full = width * iteration // max_iterations
    return f"[{'=' * full}{' ' * (width - full)}] "


class Tasks:
    """Reports progress to the callbacks of scikit-learn: a task per stage, with a subtask per iteration.

    Parameters
    ----------
    estimator : object
        The estimator.
    X, sample_weight : object
        The data of the fit.
    """

    def __init__(self, estimator, X, sample_weight):
        self.estimator = estimator
        self.data = {"X": X, "metadata": {"sample_weight": sample_weight}}
        self.root = estimator._init_callback_context(max_subtasks=None)
        self.root.call_on_fit_task_begin(estimator=estimator, **self.data)
        self.stage = None
        self.place = None
        self.done = 0

    def __call__(self, stage, iteration, max_iterations, objective, restart):
        """Handle one progress report of the engine."""
        if self.place != (stage, restart):
            self._end_stage()
            self.place, self.done = (stage, restart), 0
            self.stage = self.root.subcontext(task_name=stage, max_subtasks=max_iterations or None)
            self.stage.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        while self.done < iteration:
            self.done += 1
            task = self.stage.subcontext(task_name="iteration")
            task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            task.call_on_fit_task_end(estimator=self.estimator, **self.data)

    def close(self):
        """End the open tasks."""
        self._end_stage()
        self.root.call_on_fit_task_end(estimator=self.estimator, **self.data)

    def _end_stage(self):
        if self.stage is not None:
            self.stage.call_on_fit_task_end(estimator=self.estimator, **self.data)
            self.stage = None


@contextlib.contextmanager
def listening(estimator, X, sample_weight=None):
    """The function that the engine reports progress to during a fit; None without listeners."""
    listeners = [Bar(estimator.verbose)] if estimator.verbose else []
    if getattr(estimator, "_skl_callbacks", None):
        listeners.append(Tasks(estimator, X, sample_weight))

    def report(*progress):
        for listener in listeners:
            listener(*progress)

    try:
        yield report if listeners else None
    finally:
        for listener in listeners:
            listener.close()
