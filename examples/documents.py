"""Cluster documents and words together.

Run it with ``python examples/documents.py``.
"""

# %% A few sentences about two topics.
from sklearn.feature_extraction.text import CountVectorizer

from obcut import BipartiteCut

texts = [
    "the engine of the car needs oil and new brakes",
    "new tires and brakes made the car safer",
    "the mechanic changed oil in the engine",
    "a car with four tires and a strong engine",
    "the pitcher threw the ball to first base",
    "a home run won the baseball game",
    "the team lost the game in the last inning",
    "the pitcher and the team practise with ball and bat",
]

# %% Documents x words, sparse. An entry is an edge between a document and a word.
vectorizer = CountVectorizer(stop_words="english")
counts = vectorizer.fit_transform(texts)

# %% One cut labels documents and words.
model = BipartiteCut(n_clusters=2, random_state=0).fit(counts)
words = vectorizer.get_feature_names_out()
for cluster in range(2):
    print(f"cluster {cluster}")
    print("  words:", ", ".join(words[model.column_labels_ == cluster][:8]))
    for row in model.get_indices(cluster)[0]:
        print("  text: ", texts[row])
