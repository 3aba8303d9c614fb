"""Four plots of a clustering, written to clustering.png.

Run it with ``python examples/plot.py``; it needs matplotlib (``pip install obcut[plot]``).
"""

# %% Cluster the digits.
import matplotlib.pyplot as plt

from obcut import OBCut, datasets, plot

X, _ = datasets.load_digits(return_X_y=True)
model = OBCut(n_clusters=10, random_state=0, n_jobs=-1).fit(X)

# %% Draw.
figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
plot.convergence(model, ax=axes[0, 0])
plot.cluster_sizes(model, ax=axes[0, 1])
plot.graph(model, X, ax=axes[1, 0])
plot.embedding(model, X, ax=axes[1, 1])
figure.savefig("clustering.png", dpi=120)
print("written to clustering.png")
