"""
Functions on an uneven grid
===========================

A bump that occurs earlier or later, after a wiggly start. Curves are measured densely at the
beginning, and only occasionally later. Two things are needed: transforms that move functions on
such a grid, here by interpolation, and an inner product that is an integral:
``feature_weight=quadrature(t)``.
"""

import matplotlib.pyplot as plt
import numpy as np

from gtpca import GTPCA, Custom, quadrature

t = np.concatenate([np.linspace(0, 2, 120, endpoint=False), np.linspace(2, 10, 41)])
shifts = np.linspace(-3, 3, 25)  # of the time, in its own units
grid = np.linspace(-3, 13, 81)  # where components are known: all that shifts can reach
q = quadrature(t)


def curves(n_samples, random_state):
    """Curves, and when the bump comes."""
    rng = np.random.default_rng(random_state)
    late, size = rng.uniform(-2.5, 2.5, n_samples), rng.uniform(1, 2, n_samples)
    bump = size[:, None] * np.exp(-((t - 5.5 - late[:, None]) ** 2))
    wiggle = 1.2 * rng.standard_normal((n_samples, 1)) * np.sin(np.pi * t) * np.exp(-t)
    return bump + wiggle + 0.02 * rng.standard_normal(bump.shape), late


X, _ = curves(400, random_state=0)
test, late = curves(400, random_state=1)

# %%
# A family for this grid
# ----------------------
# Shifting array positions would stretch and squeeze these curves. Components get their own even
# grid, and ``(T_s w)(t) = w(t - s)`` is linear in their values there: the columns of its matrix are
# interpolated unit vectors. For curves on an even grid, use :class:`~gtpca.Shift`, which is faster;
# resample them if you can.


def shift_by(s):
    """The matrix of ``T_s``, from values on the grid to values at the times of the curves."""
    return np.stack([np.interp(t - s, grid, unit) for unit in np.eye(len(grid))], axis=1)


family = Custom([shift_by(s) for s in shifts])

# %%
# Sums and integrals
# ------------------
# Three quarters of the points lie in the first fifth of the time. Without weights the fit
# concentrates on what happens there. We compare both models by the integral of the squared
# difference.

models = {"sums": None, "integrals": q}
fitted = {}
for name, weight in models.items():
    fitted[name] = GTPCA(2, family, feature_weight=weight, random_state=0).fit(X)
    codes = fitted[name].encode(test)
    left = [np.sum(q * (test - fitted[name].decode(codes.first(k))) ** 2) for k in (1, 2)]
    share = np.array(left) / np.sum(q * test**2)
    found = shifts[codes.index[:, 0]]
    print(f"{name:<10} left over {share[0]:.3f} {share[1]:.3f}", end="   ")
    print(f"correlation of the time of the bump {np.corrcoef(found, late)[0, 1]:.3f}")

# %%
# With integrals, the first component is the bump, its pose is the time of the bump, and the second
# component is the wiggle. With sums, the wiggle, which most of the points see, is in both.

fig, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
axes[0].plot(t, test[:8].T, ".-", markersize=3, linewidth=0.7)
axes[0].set(title="8 curves, and where they are measured", xlabel="time")
for ax, (name, model) in zip(axes[1:], fitted.items(), strict=True):
    for k, component in enumerate(model.components_, 1):
        ax.plot(grid, component, label=f"component {k}")
    ax.set(title=name, xlabel="time")
    ax.legend(frameon=False)

plt.show()
