"""
Outlines of leaves
==================

The outline of a leaf as a curve: distance from its middle, point after point around it. Where the
curve begins is arbitrary, so that two leaves of one kind differ by a circular shift, and a leaf
that lies upside down is traversed backwards. Two hundred leaves of six species of maple and oak, as
distributed with the package aeon (OSULeaf of the UCR archive).
"""

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from gtpca import GTPCA, Compose, Reflection, Shift
from gtpca.readers import read_data

# aeon itself is not imported: its files are enough.
folder = Path(find_spec("aeon").origin).parent / "datasets" / "data" / "OSULeaf"
train, test = (read_data(folder / f"OSULeaf_{part}.ts") for part in ("TRAIN", "TEST"))
X, X_test = (data.rows[:, :426:3] for data in (train, test))  # 142 points are enough

# %%
# Fit
# ---
# ``boundary="circular"`` lets the curve begin anywhere; :class:`~gtpca.Compose` with a reflection
# also turns it round. One pose for the whole leaf.

families = {
    "PCA: nothing moves": None,
    "circular shift": Shift(boundary="circular"),
    "circular shift and reflection": Compose(Shift(boundary="circular"), Reflection()),
}
models = {}
for name, family in families.items():
    model = GTPCA(8, family, shared_pose=True, random_state=0)
    classifier = make_pipeline(model, LinearDiscriminantAnalysis()).fit(X, train.labels)
    models[name] = model
    print(f"{name:<32} left over: {model.resmse(X_test)[-1]:.3f}", end="")
    print(f", species right: {classifier.score(X_test, test.labels):.2f}")

# %%
# Six species: chance is about 0.17. Eight numbers are interpretable features, not the best
# classifier.

model = models["circular shift and reflection"]
aligned = model.align(X_test)
shapes = np.unique(test.labels)
fig, axes = plt.subplots(2, len(shapes), figsize=(11, 3.6), sharex=True, layout="constrained")
for column, species in zip(axes.T, shapes, strict=True):
    for ax, curves in zip(column, (X_test, aligned), strict=True):
        ax.plot(curves[test.labels == species][:12].T, color="#0072B2", alpha=0.4, linewidth=0.7)
        ax.set(xticks=[], yticks=[])
    column[0].set_title(f"species {species}")
axes[0, 0].set_ylabel("as they are")
axes[1, 0].set_ylabel("aligned")

# %%
# The pose is the point at which the leaf begins; it is spread over the whole circle.

poses = model.poses(model.encode(X_test))
fig, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
ax.hist(poses["start"][:, 0], bins=24, color="#999999")
ax.set(xlabel="first point", ylabel="leaves")
print("mirrored:", np.mean(poses["flipped"]).round(2))

# %%
# Where it does not help
# ----------------------
# A smooth closed curve consists of few waves: with enough components PCA follows any shift, and
# Fourier magnitudes are invariant to it without any search. But these provide neither a pose nor a
# component that looks like a leaf.

rebuilt = PCA(8).fit(X)
loss = np.sum((X_test - rebuilt.inverse_transform(rebuilt.transform(X_test))) ** 2)
print(f"centred PCA leaves {loss / np.sum(X_test**2):.3f}")
plt.show()
