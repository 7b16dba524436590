"""
Outliers, however they lie
==========================

Among the digits 1 there are some 7s, and every digit is rotated by a random angle. Which ones are
the outliers? The angles are unknown, and there are no labels. We use scikit-learn's digits of 8 x 8
pixels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from gtpca import GTPCA, ProbabilisticGTPCA, Rotation
from gtpca.datasets import random_rotation

digits = load_digits()
usual = digits.images[digits.target == 1]
strange = digits.images[digits.target == 7][:15]
X, _ = random_rotation(np.concatenate([usual, strange]) / 16, angles=16, random_state=0)
odd = np.arange(len(X)) >= len(usual)
print(f"{len(usual)} ones, {len(strange)} sevens")

# %%
# Three ways
# ----------
# The share that components in one pose leave over; the likelihood of
# :class:`~gtpca.ProbabilisticGTPCA`; and, without either, a forest on scores of PCA.

energy = GTPCA(4, Rotation(16), shared_pose=True, random_state=0).fit(X)
density = ProbabilisticGTPCA(4, Rotation(16), tol=1e-4, random_state=0).fit(X)
flat = X.reshape(len(X), -1)
forest = IsolationForest(random_state=0).fit(PCA(4).fit_transform(flat))
oddness = {
    "left over": 1 - energy.score_samples(X),
    "likelihood": -density.score_samples(X),
    "forest on PCA": -forest.score_samples(PCA(4).fit_transform(flat)),
}
for name, values in oddness.items():
    print(f"{name:<15} area under the curve {roc_auc_score(odd, values):.2f}")

# %%
# The least likely digits. ``predict`` draws the line at a given share, ``contamination=0.1`` by
# default.

order = np.argsort(-oddness["likelihood"])[:12]
fig, axes = plt.subplots(1, 12, figsize=(10, 1.3), layout="constrained")
for ax, i in zip(axes, order, strict=True):
    ax.imshow(X[i], cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title("7" if odd[i] else "1", color="#D55E00" if odd[i] else "black")
found = density.predict(X) == -1
print(f"{np.sum(found & odd)} of {odd.sum()} sevens are among the {found.sum()} that predict names")

# %%
# Where it does not help
# ----------------------
# A 6 among 9s is the same digit, rotated: an invariance removes exactly what it is meant to remove.
# And if there are many outliers, they get their own component; then fit on samples that are known
# to be normal.

plt.show()
