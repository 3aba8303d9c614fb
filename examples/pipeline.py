"""OBCut in a pipeline, and a search over its parameters without labels.

Run it with ``python examples/pipeline.py``.
"""

# %% The data.
from sklearn.metrics import calinski_harabasz_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from obcut import OBCut, datasets, metrics

X, y = datasets.make_blobs(1500, 8, 5, spread=1.5, random_state=3)

# %% A pipeline that scales the features, so OBCut does not.
pipeline = make_pipeline(StandardScaler(), OBCut(graph="distance", scale="none", random_state=0))


# %% A scorer without labels: the pipeline labels held-out rows, and the score compares them with the rows.
def label_free(fitted, rows, y=None):
    """Calinski-Harabasz score of the predicted labels."""
    return calinski_harabasz_score(fitted[:-1].transform(rows), fitted.predict(rows))


# %% Search.
search = GridSearchCV(
    pipeline,
    {"obcut__n_clusters": [3, 4, 5, 6, 7], "obcut__n_neighbors": [3, 5]},
    scoring=label_free,
    cv=KFold(3, shuffle=True, random_state=0),
).fit(X)
print("chosen:", search.best_params_)
print(f"NMI with the classes: {metrics.nmi(y, search.predict(X)):.3f}")

# %% `OBCut.score` needs no labels either. It compares parameters of one kind of graph.
print(f"score of the chosen one: {search.best_estimator_.score(X):.3f}")
