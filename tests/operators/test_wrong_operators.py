"""What ``check_operator`` says about mistakes that authors of operators make."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import Family, Operator
from gtpca.testing import check_operator


class Swap(Operator):
    """``(T_s w)(x) = w(x XOR s)`` for 8 points: correct, and slow."""

    def __init__(self):
        super().__init__((8,), (8,), 8)
        self.read = np.arange(8)[:, None] ^ np.arange(8)

    def apply(self, w):
        return w[self.read]

    def adjoint(self, M):
        return np.take_along_axis(M, self.read, axis=1).sum(axis=0)


class Swaps(Family):
    """The family of it."""

    def bind(self, sample_shape):
        return Swap()


def blend(w, read):
    return w + 0.5 * w[read]


WRONG = {
    "list": ({"apply": lambda self, w: [w[r] for r in self.read]}, "apply returned a list"),
    "shape": ({"apply": lambda self, w: w[self.read[:, :4]]}, r"apply: shape \(8, 4\), not \(8, 8"),
    "back": ({"adjoint": lambda self, M: M}, r"adjoint: shape \(8, 8\), not \(8,\)"),
    "clipped": (
        {"apply": lambda self, w: np.maximum(w, 0)[self.read]},
        "apply is not linear: .* of 64 entries are wrong; entry",
    ),
    "adjoint": ({"adjoint": lambda self, M: M.sum(axis=0)}, "dot test: adjoint is not that of app"),
    "selects": (
        {
            "selects": True,
            "apply": lambda self, w: blend(w, self.read),
            "adjoint": lambda self, M: M.sum(axis=0) + 0.5 * Swap.adjoint(self, M),
        },
        "selects is True, but not every entry",
    ),
    "isometric": (
        {
            "isometric": True,
            "apply": lambda self, w: 2 * w[self.read],
            "adjoint": lambda self, M: 2 * Swap.adjoint(self, M),
        },
        r"isometric is True, but \|T_t w\| = 2 \|w\| for t = 0; leave it False",
    ),
    "one at a time": (
        {"correlate": lambda self, P, W: self._correlate(P, W[0])},
        r"correlate, prepare: shape \(12, 8\), not \(3, 12, 8\)",
    ),
    "precision": (
        {"correlate": lambda self, P, W: Operator.correlate(self, P, W) * np.ones(1)},
        "correlate of float32 rows gave float64, not float32; convert weights",
    ),
    "no dict": ({"describe": lambda self, index: index}, "describe returned a ndarray, not a dict"),
    "one pose": (
        {"describe": lambda self, index: {"swap": 1}},
        r"describe: swap has shape \(\), not that of index, \(3, 12\)",
    ),
    "NaN": (
        {"_adjoint_rows": lambda self, X, index: np.full((len(X), 8), np.nan)},
        r"adjoint_at in common transforms: 24 of 24 entries are wrong; entry \[0, 0\] is nan",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_message_names_what_is_wrong(name):
    changes, message = WRONG[name]
    with pytest.raises(AssertionError, match=message):
        check_operator(type("Wrong", (Swap,), changes)())


def test_a_right_one_passes():
    check_operator(Swap())
    check_operator(type("Same", (Swap,), {"selects": True, "isometric": True})())


def test_a_family_must_be_bound():
    with pytest.raises(TypeError, match=r"Swaps\(\) is not an operator; bind\(sample_shape\)"):
        check_operator(Swaps())


def test_a_gram_matrix_without_the_feature_weight_is_caught():
    class Unweighted(Swap):
        def gram(self, stack):
            same = stack @ stack.transpose(0, 2, 1)
            return np.repeat(same[:, None], self.n_transforms, axis=1)

    with pytest.raises(AssertionError, match="gram: ") as caught:
        check_operator(Unweighted())
    assert any("with a feature weight" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("prepare", [lambda X: 2 * X, np.fft.rfft], ids=["scaled", "spectrum"])
def test_what_goes_with_prepare_is_said(prepare):
    spectra = type("Spectra", (Swap,), {"prepare": lambda self, X: prepare(X)})
    with pytest.raises((AssertionError, ValueError)) as caught:
        check_operator(spectra())
    notes = " ".join(caught.value.__notes__)
    assert "check of prepare, correlate" in notes
    assert "Spectra overrides prepare, but not correlate" in notes
