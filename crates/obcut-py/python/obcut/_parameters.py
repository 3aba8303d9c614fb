"""The parameters of `OBCut`. Generated from the engine's tables: run `make parameters`."""

from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

#: The section of the documentation.
PARAMETERS = """\
n_clusters : int, "auto" or tuple (low, high), default=8
    Number of clusters; 'auto' or a range chooses it from the data. The choice
    compares the table with one of the same size, mean and covariance that has no
    clusters. 1 means that no clusters were found. A warning says when the data do
    not determine the number clearly.
graph : {"auto", "global", "local", "distance", "neighbors"}, default="auto"
    How rows are linked.

    - ``"auto"``: try several graphs, trees and k-means, keep the best by a score
      that needs no labels
    - ``"global"``: best mixture of all anchors, largest entries kept (the paper)
    - ``"local"``: best mixture of the nearest anchors
    - ``"distance"``: by the distances to the nearest anchors, in closed form
    - ``"neighbors"``: by the distances to the nearest rows, in closed form: every
      row is its own anchor

effort : {"fast", "auto", "thorough"}, default="auto"
    How many candidates graph="auto" tries.

    - ``"fast"``: graphs between rows and anchors, trees and k-means, compared on
      10,000 rows
    - ``"auto"``: graphs of nearest rows as well, compared on 20,000 rows
    - ``"thorough"``: more graphs and anchor sets, compared on 100,000 rows

n_anchors : int or "auto", default="auto"
    Number of anchors in a set.
n_anchor_sets : int or "auto", default="auto"
    Number of independent anchor sets side by side; 'auto' is 5 for the global
    graph, else 1.
n_neighbors : int, default=5
    Number of anchors that a row is linked to.
scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"} or None, default="auto"
    How features are scaled before clustering.

    {scales}

metric : {"euclidean", "cosine"}, default="euclidean"
    Distance between rows.

    - ``"euclidean"``: Euclidean distance between the scaled rows
    - ``"cosine"``: angle between rows: every row is scaled to length 1

init : {"spectral", "kmeans"} or array-like of shape (n_samples,), default="spectral"
    Where the labels start.

    - ``"spectral"``: k-means on the spectral embedding of the graph
    - ``"kmeans"``: k-means on the scaled rows (the paper)

balance : float, default=0.25
    How much graph="auto" favors clusters of equal size, from 0 (not at all) to 1.
noise : float, "auto" or None, default=None
    Mark outlying rows with the label -1: about this share of the rows, or as many
    as the scores suggest. The rows with the largest outlier scores are marked. The
    clusters stay the same, and new rows are marked by the same threshold.
stability : int, default=0
    Number of resamples to measure the stability of the clusters on. Each costs a
    clustering of four fifths of the distinct rows, at most 4,000. The labels stay
    the same.
n_init : int, default=1
    Number of restarts; the result with the best score is kept. The score needs no
    labels. With 1, graph="auto" starts tables of up to 1,000 distinct rows six
    times and those of up to 2,500 three times.
preset : {"paper"} or None, default=None
    "paper" starts from the parameters of the paper: k-means on the rows scaled to
    [0, 1] gives 100 anchors and the first labels, then labels, embedding, graph and
    anchors are learned in turn. Rows are linked by the exact solver;
    row_solver="alm" is the one that the paper names. Parameters that differ from
    their defaults override the preset.
{random_state}
{n_jobs}
{verbose}
anchors : array-like of shape (n_anchors, n_features) or None, default=None
    Table of anchors to use instead of learned ones, in the units of the data.
anchor_weights : {"none", "degree"} or None, default="degree"
    Weights of the anchors in the cut.

    - ``"none"``: all equal (the paper)
    - ``"degree"``: the inverse square root of the degree, bounded, so that no
      anchor dominates

row_solver : {"exact", "authors", "alm"}, default="exact"
    Solver of the problem that links a row to anchors.

    - ``"exact"``: exact, by an active set
    - ``"authors"``: the accelerated projected gradient of the authors' program,
      which often stops early
    - ``"alm"``: the augmented Lagrangian method that the paper names, optimal to
      about 1e-5 and slow

ridge : float, default=0.0
    Ridge penalty on the links of a row, relative to the mean squared distance to
    the center.
max_iter : int, default=30
    Maximum number of iterations of the cut and of the learning loop.
max_sweeps : int, default=10
    Maximum number of passes over the labels in an iteration.
sweep_order : {"shuffled", "rows"}, default="shuffled"
    Order in which the label update visits the rows.

    - ``"shuffled"``: a random order that depends on the content of the rows and the
      seed, never on the file
    - ``"rows"``: the order of the file, which reveals the classes of a sorted file;
      for comparisons only

rows_per_anchor : int or "all", default=100
    Number of rows per anchor that train the anchors.
core_rows : int or "auto", "all", default="auto"
    Coreset size: large tables are clustered on this many distinct rows first, then
    all rows are assigned. 'auto' is 32,768 to 131,072 by the number of features,
    and more for many clusters or anchors, for tables with more than twice as many
    rows. 'all' clusters all rows at once.
reduce : {"auto", "never"}, default="auto"
    Whether wide tables are rotated to fewer columns first, which keeps all
    distances.

    - ``"auto"``: when a dense table has more columns than rows
    - ``"never"``: never

lam : float, default=1.0
    Weight of the cut in the objective of the learning loop.
lam_scale : {"relative", "absolute"}, default="relative"
    Unit of lam.

    - ``"relative"``: relative to the variance of the data, so that 1 suits any
      table
    - ``"absolute"``: as in the objective of the paper

learn : {"auto", "anchors-and-graph", "graph-only", "nothing"}, default="nothing"
    What is learned together with the labels after the start.

    - ``"auto"``: learn anchors and graph, keep the result if its score is better
    - ``"anchors-and-graph"``: anchors and graph (the paper, LA+LG)
    - ``"graph-only"``: the graph alone (FA+LG)
    - ``"nothing"``: nothing: only cut the first graph (FA+FG)

formulation : {"unified", "two-step"}, default="unified"
    Whether the cut takes part in learning the graph.

    - ``"unified"``: one objective for graph and cut (the paper)
    - ``"two-step"``: learn the graph first, then cut it

anchor_update : {"least-squares", "proximal"}, default="proximal"
    How anchors are learned.

    - ``"least-squares"``: least squares with a pseudo-inverse (the paper)
    - ``"proximal"``: least squares with a pull towards the first anchors

pull : float, default=0.01
    Strength of the pull of anchor_update="proximal" towards the first anchors.
tol : float, default=1e-05
    Stop the learning loop when the objective changes by less than this.
stop_on_labels : bool, default=True
    Stop the learning loop also when no label changes.
"""
#: The choices of `scale`.
SCALES = """\
- ``"auto"``: idf or unit for counts with more than 95 % zeros, else minmax that
  a few distant values do not stretch
- ``"minmax"``: every feature to [0, 1]; a constant feature is ignored
- ``"standard"``: every feature to mean 0 and standard deviation 1
- ``"robust"``: every feature to median 0 and interquartile range 1
- ``"unit"``: every row to length 1; a row of zeros stays zero
- ``"idf"``: counts times inverse document frequencies, then every row to length
  1
- ``"none"``: no scaling"""


class OBCutParameters:
    """The parameters of `OBCut`."""

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), tuple, StrOptions({"auto"})],
        "graph": [StrOptions({"auto", "distance", "global", "local", "neighbors"})],
        "effort": [StrOptions({"auto", "fast", "thorough"})],
        "n_anchors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "n_anchor_sets": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "scale": [StrOptions({"auto", "idf", "minmax", "none", "robust", "standard", "unit"}), None],
        "metric": [StrOptions({"cosine", "euclidean"})],
        "init": [StrOptions({"kmeans", "spectral"}), "array-like"],
        "balance": [Interval(Real, 0, 1, closed="both")],
        "noise": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"}), None],
        "stability": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "preset": [StrOptions({"paper"}), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "anchors": ["array-like", None],
        "anchor_weights": [StrOptions({"degree", "none"}), None],
        "row_solver": [StrOptions({"alm", "authors", "exact"})],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_sweeps": [Interval(Integral, 1, None, closed="left")],
        "sweep_order": [StrOptions({"rows", "shuffled"})],
        "rows_per_anchor": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"}), None],
        "core_rows": [Interval(Integral, 1, None, closed="left"), StrOptions({"all", "auto"}), None],
        "reduce": [StrOptions({"auto", "never"})],
        "lam": [Interval(Real, 0, None, closed="left")],
        "lam_scale": [StrOptions({"absolute", "relative"})],
        "learn": [StrOptions({"anchors-and-graph", "auto", "graph-only", "nothing"})],
        "formulation": [StrOptions({"two-step", "unified"})],
        "anchor_update": [StrOptions({"least-squares", "proximal"})],
        "pull": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "stop_on_labels": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int | Literal["auto"] | tuple[int, int] = 8,
        *,
        graph: Literal["auto", "global", "local", "distance", "neighbors"] = "auto",
        effort: Literal["fast", "auto", "thorough"] = "auto",
        n_anchors: int | Literal["auto"] | None = "auto",
        n_anchor_sets: int | Literal["auto"] | None = "auto",
        n_neighbors: int = 5,
        scale: Literal["auto", "minmax", "standard", "robust", "unit", "idf", "none"] | None = "auto",
        metric: Literal["euclidean", "cosine"] = "euclidean",
        init: Literal["spectral", "kmeans"] | ArrayLike = "spectral",
        balance: float = 0.25,
        noise: float | Literal["auto"] | None = None,
        stability: int = 0,
        n_init: int = 1,
        preset: Literal["paper"] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
        anchors: ArrayLike | None = None,
        anchor_weights: Literal["none", "degree"] | None = "degree",
        row_solver: Literal["exact", "authors", "alm"] = "exact",
        ridge: float = 0.0,
        max_iter: int = 30,
        max_sweeps: int = 10,
        sweep_order: Literal["shuffled", "rows"] = "shuffled",
        rows_per_anchor: int | Literal["all"] | None = 100,
        core_rows: int | Literal["auto", "all"] | None = "auto",
        reduce: Literal["auto", "never"] = "auto",
        lam: float = 1.0,
        lam_scale: Literal["relative", "absolute"] = "relative",
        learn: Literal["auto", "anchors-and-graph", "graph-only", "nothing"] = "nothing",
        formulation: Literal["unified", "two-step"] = "unified",
        anchor_update: Literal["least-squares", "proximal"] = "proximal",
        pull: float = 0.01,
        tol: float = 1e-05,
        stop_on_labels: bool = True,
    ) -> None:
        self.n_clusters = n_clusters
        self.graph = graph
        self.effort = effort
        self.n_anchors = n_anchors
        self.n_anchor_sets = n_anchor_sets
        self.n_neighbors = n_neighbors
        self.scale = scale
        self.metric = metric
        self.init = init
        self.balance = balance
        self.noise = noise
        self.stability = stability
        self.n_init = n_init
        self.preset = preset
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.anchors = anchors
        self.anchor_weights = anchor_weights
        self.row_solver = row_solver
        self.ridge = ridge
        self.max_iter = max_iter
        self.max_sweeps = max_sweeps
        self.sweep_order = sweep_order
        self.rows_per_anchor = rows_per_anchor
        self.core_rows = core_rows
        self.reduce = reduce
        self.lam = lam
        self.lam_scale = lam_scale
        self.learn = learn
        self.formulation = formulation
        self.anchor_update = anchor_update
        self.pull = pull
        self.tol = tol
        self.stop_on_labels = stop_on_labels
