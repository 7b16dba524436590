"""
Layers inside a classifier
==========================

scikit-learn's digits of 8 x 8 pixels, each at a random position in a frame of 16 x 16. A
:class:`~gtpca.nn.GTPCLayer` is an ordinary torch module: its scores do not change when a digit
moves, and its weights can be trained together with the layers after it. Needs ``gtpca[torch]``.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from torch import nn

from gtpca import GTPCA, Shift
from gtpca.datasets import random_embedding
from gtpca.nn import GTPCLayer, GTPCNetwork

N_SCORES, TRAIN, TEST = 16, slice(0, 1200), slice(1200, None)

flat, labels = load_digits(return_X_y=True)
images, _ = random_embedding(flat.reshape(-1, 8, 8) / 16, (16, 16), random_state=0)
X = torch.from_numpy(images.astype(np.float32))
digit = torch.from_numpy(labels)


class Scores(nn.Module):
    """The scores of several layers, side by side: each looks at the whole image."""

    def __init__(self, components):
        super().__init__()
        self.layers = nn.ModuleList(GTPCLayer(Shift((8, 8)), (16, 16)) for _ in components)
        with torch.no_grad():
            for layer, w in zip(self.layers, components, strict=True):
                layer.weight.copy_(torch.from_numpy(w))

    def forward(self, x):
        return torch.stack([layer(x).score for layer in self.layers], dim=1)


# %%
# The same head on everything
# ---------------------------
# Batch normalisation and one linear layer. Its inputs are scores of PCA, scores of GT-PCA (the
# components of the estimator in a network, fixed), or those of layers that begin at the same
# components and are trained with the head.


def accuracy(inputs, features, epochs=30):
    """Train the head, and the features if they have weights; the share right on ``TEST``."""
    torch.manual_seed(0)
    model = nn.Sequential(features, nn.BatchNorm1d(N_SCORES), nn.Linear(N_SCORES, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        for rows in torch.randperm(1200).split(64):
            loss = nn.functional.cross_entropy(model(inputs[TRAIN][rows]), digit[TRAIN][rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        return float((model(inputs[TEST]).argmax(dim=1) == digit[TEST]).float().mean())


rows = X.reshape(len(X), -1).numpy()
pca = PCA(N_SCORES, random_state=0).fit(rows[TRAIN])
model = GTPCA(N_SCORES, Shift((8, 8)), random_state=0).fit(images[TRAIN])
network = GTPCNetwork.from_estimator(model, dtype=X.dtype).requires_grad_(False)
trained = Scores(model.components_)
for name, inputs, features in (
    ("PCA scores", torch.from_numpy(pca.transform(rows)), nn.Identity()),
    ("GT-PCA scores", network.encode(X)[0], nn.Identity()),
    ("layers, trained with the head", X, trained),
):
    print(f"{name:<32}{accuracy(inputs, features):.3f}")

# %%
# What the layers learned
# -----------------------
# Above: the components of GT-PCA, which explain most of the images. Below: what they became in the
# classifier: better features, but harder to interpret, and no longer ordered.

fig, axes = plt.subplots(2, 8, figsize=(9, 2.6), layout="constrained")
weights = [layer.weight.detach().numpy() for layer in trained.layers]
for row, name, pictures in ((axes[0], "GT-PCA", model.components_), (axes[1], "trained", weights)):
    row[0].set_ylabel(name)
    for ax, picture in zip(row, pictures, strict=False):
        limit = np.abs(picture).max()
        ax.imshow(picture, cmap="PuOr", vmin=-limit, vmax=limit)
        ax.set(xticks=[], yticks=[])
plt.show()
