"""
A pipeline with GridSearchCV
============================

The estimator is a scikit-learn transformer: it can be part of a pipeline, and every parameter can
be searched over by its name, including those of the family. Digits of 8 x 8 pixels at a random
position in a frame of 12 x 12; which digit is it?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from gtpca import ALS, GTPCA, Shift
from gtpca.datasets import random_embedding

images, digit = load_digits().images / 16, load_digits().target
X, _ = random_embedding(images, (12, 12), random_state=0)
train, test = slice(0, 500), slice(500, 1797)

# %%
# Search
# ------
# ``gtpca__family__window`` is the window of the family of the step named "gtpca". A smaller window
# moves further, but sees less of the digit.

model = GTPCA(shared_pose=True, family=Shift((8, 8)), solver=ALS(n_init=4), random_state=0)
pipeline = Pipeline(
    [
        ("gtpca", model),
        ("scale", StandardScaler()),
        ("classify", LogisticRegression(max_iter=2000)),
    ]
)
grid = {"gtpca__family__window": [(6, 6), (8, 8), (10, 10)], "gtpca__n_components": [5, 20]}
search = GridSearchCV(pipeline, grid, cv=2).fit(X[train], digit[train])
print("best:", search.best_params_)
print(f"accuracy on new digits: {search.score(X[test], digit[test]):.3f}")

# %%
# The same without moving, and with digits that were never moved, which is an upper limit:

plain = Pipeline([("pca", PCA(20)), ("scale", StandardScaler()), pipeline.steps[-1]])
for name, pictures in (("PCA, moved digits", X), ("PCA, digits in place", images)):
    rows = pictures.reshape(len(pictures), -1)
    print(f"{name:<22} {plain.fit(rows[train], digit[train]).score(rows[test], digit[test]):.3f}")

# %%
# The table of the search.

windows, sizes = grid.values()
accuracy = search.cv_results_["mean_test_score"].reshape(len(windows), len(sizes))
fig, ax = plt.subplots(figsize=(4.5, 3), layout="constrained")
picture = ax.imshow(accuracy, cmap="viridis")
ax.set_xticks(range(len(sizes)), sizes)
ax.set_yticks(range(len(windows)), [w[0] for w in windows])
ax.set(xlabel="components", ylabel="window")
for (row, column), value in np.ndenumerate(accuracy):
    ax.text(column, row, f"{value:.2f}", ha="center", va="center", color="white")

# %%
# Where it does not help
# ----------------------
# A grid search fits the model for each point and fold. Search with a cheap solver,
# ``ALS(n_init=4)``, and fit the best point with the default one. What is best for a classifier need
# not be the window of the pattern: see :doc:`/howto/window` for that.

plt.show()
