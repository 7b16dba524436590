"""How many kinds and components: what is chosen, and what the sentence says of it."""

from dataclasses import replace

import numpy as np
import pytest

from gtpca import Shift
from gtpca.diagnostics import choose_kinds
from gtpca.diagnostics.kinds import KindChoice, simplest

SHAPES = np.array([[1, 3, 5, 3, 1], [5, 1, -2, 1, 5]])


def signals(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = 0.3 * rng.standard_normal((n, 24))
    for i, row in enumerate(X):
        row[i % 20 : i % 20 + 5] += SHAPES[i % 2]
    return X


@pytest.fixture(scope="module")
def found():
    return choose_kinds(signals(), Shift(5), (1, 3), (0, 1))


def made(pairs, means, noise=0.1):
    """A choice with given mean likelihoods."""
    rng = np.random.default_rng(0)
    likelihoods = np.array(means)[:, None] + noise * rng.standard_normal((len(means), 400))
    pairs = np.array(pairs)
    best = pairs[simplest(pairs, likelihoods)]
    return KindChoice(pairs, likelihoods, *map(int, best), estimator=None)


def test_both_numbers_are_found(found):
    assert (found.n_kinds, found.n_components) == (2, 0)
    assert found.likelihoods.shape == (6, 60)
    assert found.table["best"].sum() == 1
    assert found.table["less"].min() == 0
    assert not found.rises
    model = found.estimator.fit(signals())
    assert model.n_kinds == 2
    assert model.tol == 1e-5  # that of a fit, not of the search


def test_the_sentence_says_what_to_take(found):
    assert found.sentence.startswith("Take 2 kinds with 0 components, the simplest")
    assert "found.estimator.fit(X)" in found.sentence
    assert str(found).splitlines()[0].split()[:2] == ["kinds", "components"]


def test_of_pairs_that_are_as_likely_the_simplest_is_taken():
    pairs, wave = np.array([(1, 0), (1, 1), (2, 0), (2, 1)]), np.tile([-1.0, 1.0], 200)
    likelihoods = np.array([0 * wave, 2 + 0.1 * wave, 2 - 0.1 * wave, 2.001 + 0.05 * wave])
    assert simplest(pairs, likelihoods) in (1, 2)
    choice = KindChoice(pairs, likelihoods, 1, 1, estimator=None)
    assert choice.stand_ins.tolist() == [[2, 0], [2, 1]]
    assert "can stand for each other" in choice.sentence


def test_a_likelihood_that_rises_to_the_end_is_said():
    choice = made([(1, 0), (2, 0), (3, 0)], [0.0, 1.0, 2.0])
    assert choice.n_kinds == 3
    assert choice.rises
    assert "rises up to 3 kinds, the most that were tried" in choice.sentence
    less = made([(1, 0), (2, 0), (3, 0)], [0.0, 1.0, 0.5])
    assert not less.rises
    assert "rises" not in less.sentence


def test_a_single_pair_has_a_sentence():
    choice = made([(2, 1)], [0.0])
    assert choice.sentence.startswith("Take 2 kinds with 1 component,")
    assert not replace(choice, n_kinds=2).rises


def test_bad_input():
    X = signals(20)
    with pytest.raises(ValueError, match=r"n_kinds=\(1, 2, 3\) must be a pair"):
        choose_kinds(X, Shift(5), (1, 2, 3))
    with pytest.raises(ValueError, match=r"n_kinds\[0\]=0 must be"):
        choose_kinds(X, Shift(5), (0, 2))
    with pytest.raises(ValueError, match="needs at least 63 samples, but X has 20"):
        choose_kinds(X, Shift(5), (1, 20))


def test_threads_change_nothing(found):
    again = choose_kinds(signals(), Shift(5), (1, 3), (0, 1), n_jobs=2)
    assert np.array_equal(again.likelihoods, found.likelihoods)
