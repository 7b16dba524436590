"""
A family of your own
====================

A click is recorded in a room: after a delay that differs from recording to recording, a weaker
echo follows. As a linear map of the click ``w``,

    (T_d w)(x) = w(x) + gain * w(x - d).

No family of the library does that. Here are two ways to add one.
"""

import matplotlib.pyplot as plt
import numpy as np

from gtpca import GTPCA, Custom, Family, Operator
from gtpca.testing import assert_same_components, check_operator

N_TIMES, GAIN, DELAYS, NOISE = 80, 0.6, np.arange(5, 45, 2), 0.05
rng = np.random.default_rng(0)
x = np.arange(N_TIMES)
click = np.sin(x / 1.5) * np.exp(-x / 6)


def recordings(n_samples):
    """Clicks with an echo, and the delay of each."""
    delay = rng.choice(DELAYS, n_samples)
    echo = np.array([np.concatenate([np.zeros(d), click[: N_TIMES - d]]) for d in delay])
    X = rng.uniform(0.5, 1.5, (n_samples, 1)) * (click + GAIN * echo)
    return X + NOISE * rng.standard_normal(X.shape), delay


train, _ = recordings(300)
test, delay = recordings(300)

# %%
# Matrices
# --------
# The short way: hand the matrices to :class:`~gtpca.Custom`. Sparse matrices and linear functions
# will do as well.

matrices = [np.eye(N_TIMES) + GAIN * np.eye(N_TIMES, k=-d) for d in DELAYS]
by_matrix = GTPCA(1, Custom(matrices), random_state=0).fit(train)
still = GTPCA(1).fit(train)  # no family: ordinary PCA, not centred
print(f"ResMSE with one component: {by_matrix.resmse(test)[0]:.3f}", end="")
print(f", without the family {still.resmse(test)[0]:.3f}", end="")
print(f"; the noise is {NOISE**2 * test.size / np.sum(test**2):.3f} of the energy")

# %%
# A class
# -------
# The long way has names and parameters, and needs no matrix: an :class:`~gtpca.Operator` with
# ``apply`` (one row per transform) and its ``adjoint``, and a :class:`~gtpca.Family` that makes it
# in ``bind``.


class EchoOperator(Operator):
    def __init__(self, delays, gain, n_times):
        super().__init__((n_times,), (n_times,), len(delays))
        self.delays, self.gain = np.asarray(delays), gain

    def apply(self, w):
        late = [np.concatenate([np.zeros(d), w[: len(w) - d]]) for d in self.delays]
        return w + self.gain * np.stack(late)

    def adjoint(self, M):
        early = [np.append(row[d:], np.zeros(d)) for row, d in zip(M, self.delays, strict=True)]
        return M.sum(axis=0) + self.gain * np.sum(early, axis=0)

    def describe(self, index):
        return {"delay": self.delays[index]}


class Echo(Family):
    def __init__(self, delays=(5, 10), gain=0.5):
        self.delays = delays
        self.gain = gain

    def bind(self, sample_shape):
        return EchoOperator(self.delays, self.gain, *sample_shape)


# %%
# :func:`~gtpca.testing.check_operator` compares every method with its definition, the adjoint by
# the dot test ``<T w, x> = <w, T* x>``; it raises an error that names the method which is wrong.

check_operator(Echo(DELAYS, GAIN).bind((N_TIMES,)))
model = GTPCA(1, Echo(DELAYS, GAIN), random_state=0).fit(train)
assert_same_components(model, by_matrix)
found = model.poses(model.encode(test))["delay"][:, 0]
print(f"delay found in {np.mean(found == delay):.1%} of the recordings")

fig, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
recording = test[0] / np.linalg.norm(test[0])
ax.plot(recording, color="#999999", label=f"recording, echo after {delay[0]}")
ax.plot(model.components_[0], color="#0072B2", label="component: the click")
ax.legend(frameon=False)
plt.show()
