"""Cluster a table, look at the results, save the model.

Run it with ``python examples/cluster.py``.
"""

# %% The data: 1,797 handwritten digits, 64 pixels each.
from obcut import OBCut, datasets, metrics

X, y = datasets.load_digits(return_X_y=True)

# %% Cluster. Only the number of clusters has to be set.
model = OBCut(n_clusters=10, random_state=0, n_jobs=-1).fit(X)
print(f"graph {model.graph_}, {len(model.anchors_)} anchors, sizes {model.cluster_sizes_.astype(int)}")

# %% The classes of these data are known, so the labels can be scored.
for name, value in metrics.scores(y, model.labels_).items():
    print(f"{name:>7} {100 * value:5.1f}")

# %% Uncertain rows have a small confidence.
doubtful = model.confidence_.argsort()[:5]
print("least certain rows:", doubtful.tolist())

# %% The features of the first cluster that differ most from the average.
for feature in model.explanation_["clusters"][0]["features"]:
    print(f"pixel {feature['index']:2d}: {feature['mean']:5.2f} here, {feature['overall']:5.2f} overall")
