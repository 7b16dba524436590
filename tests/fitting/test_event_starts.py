"""Starts of templates: mixed ones are told apart, faint ones are found, doubles are exchanged."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from gtpca.data.signals import Piecewise, Signal
from gtpca.fitting.event_starts import faint_template
from gtpca.fitting.events import EventFit, EventRecipe, begun, companions, exchanged, unmixed
from gtpca.model.decoding import Dictionary, Placed, render

LENGTH = 24
U = np.arange(LENGTH)
A = np.hanning(LENGTH) * np.sin(U / 1.5)
B = np.exp(-(((U - 9) / 4) ** 2)) - 0.4 * np.exp(-(((U - 17) / 3) ** 2))


def unit(w):
    return w / np.linalg.norm(w)


def alike(w, v):
    """Cosine at the best lag."""
    return np.correlate(np.pad(unit(w.ravel()), LENGTH), unit(v), "valid").max()


def planted(noise, templates, size=1.0, n=9000):
    """A recording with events of both templates at random places, and a recipe for it."""
    rng = np.random.default_rng(0)
    start = np.sort(rng.choice(np.arange(20, n - 40, 45), 120, replace=False))
    start += rng.integers(40, size=120)
    group = rng.integers(len(templates), size=120)
    scores = size * rng.uniform(0.8, 1.2, (120, 1))
    weights = np.stack([unit(t)[None, :, None] for t in templates])
    Y = render(Placed(start, group, scores), weights, n) + noise * rng.standard_normal((n, 1))
    recipe = EventRecipe(len(templates), LENGTH, refractory=12, rng=check_random_state(0))
    return Y, [Piecewise(Signal(Y), np.zeros(1))], recipe


def test_companions_are_events_at_one_distance():
    start = np.arange(0, 3000, 100)
    events = Placed(start, np.zeros(30, int), np.full((30, 1), 2.0))
    others = Placed(start[:20] + 7, np.ones(20, int), np.full((20, 1), -1.0))
    found = companions([events.joined(others)], 2, LENGTH)
    assert found == [(0, 1, 7, -0.5), (1, 0, -7, -2.0)]
    assert companions([events.joined(others.take(slice(0, 9)))], 2, LENGTH)[0][:2] == (1, 0)


def test_a_template_mixed_with_another_is_told_apart():
    _, signals, recipe = planted(0.02, [A, B])
    mixed = unit(unit(B) - 0.7 * np.roll(unit(A), 3))
    weights = np.stack([unit(A), mixed])[:, None, :, None]
    fit = begun(signals, recipe, weights)
    assert max(alike(w, B) for w in fit.dictionary.weights) < 0.95
    after = unmixed(fit, signals, recipe)
    assert after is not None
    assert after.objective < fit.objective
    assert max(alike(w, B) for w in after.dictionary.weights) > 0.98
    assert max(alike(w, A) for w in after.dictionary.weights) > 0.98


def test_faint_templates_are_found():
    Y, _, recipe = planted(1.0, [B], size=4.5)
    found = faint_template([Y], recipe)
    assert found.shape == (1, 1, LENGTH, 1)
    assert np.isclose(np.linalg.norm(found), 1)
    assert alike(found, B) > 0.75


def test_a_template_that_is_there_twice_is_exchanged():
    Y, signals, recipe = planted(0.3, [A, B], size=3.0)
    weights = np.stack([unit(A), unit(A)])[:, None, :, None]
    twice = Dictionary(weights, True, 12)
    prices = np.full((1, 2), 1.5)
    start = np.arange(0)
    fit = EventFit(twice, prices, [Placed(start, start, np.zeros((0, 1)))], objective=np.sum(Y**2))
    after = exchanged(fit, [Y], signals, recipe)
    assert after is not None
    assert max(alike(w, B) for w in after.dictionary.weights) > 0.9
