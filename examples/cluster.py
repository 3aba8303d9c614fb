"""Cluster a table, look at what came out, keep the model.

Run it with ``python examples/cluster.py``.
"""

# %% The data: 1,797 handwritten digits, 64 pixels each.
from obcut import OBCut, datasets, metrics

X, y = datasets.load_digits(return_X_y=True)

# %% Cluster. Nothing but the number of clusters has to be set.
model = OBCut(n_clusters=10, random_state=0, n_jobs=-1).fit(X)
print(f"graph {model.graph_}, {len(model.anchors_)} anchors, sizes {model.cluster_sizes_.astype(int)}")

# %% The classes are known here, so the labels can be scored.
for name, value in metrics.scores(y, model.labels_).items():
    print(f"{name:>7} {100 * value:5.1f}")

# %% Rows that are hard to place have a small confidence.
doubtful = model.confidence_.argsort()[:5]
print("least certain rows:", doubtful.tolist())

# %% What sets the first cluster apart: features that differ most from the average.
for feature in model.explanation_["clusters"][0]["features"]:
    print(f"pixel {feature['index']:2d}: {feature['mean']:5.2f} here, {feature['overall']:5.2f} overall")
