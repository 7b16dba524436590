"""Diagnostics of models whose samples have gaps: the answers that there are."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import GTPCA, ProbabilisticGTPCA, Shift
from gtpca.diagnostics import check, noise_floor, pose_confidence
from gtpca.diagnostics.wording import GAPS, Commands
from gtpca.page.reality import reality

ESTIMATORS = {
    "GTPCA": GTPCA(2, Shift(8), missing="ignore", random_state=0),
    "one pose": GTPCA(2, Shift(8), missing="ignore", shared_pose=True, random_state=0),
    "density": ProbabilisticGTPCA(1, Shift(8), missing="ignore", random_state=0),
}


@pytest.fixture(scope="module")
def samples():
    """A pattern of 8 points at random places; every seventh value is missing."""
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((60, 40))
    for i, x in enumerate(X):
        x[i % 30 : i % 30 + 8] += 3 * np.hanning(8)
    X[rng.random(X.shape) < 1 / 7] = np.nan
    return X


@pytest.mark.parametrize("name", ESTIMATORS)
def test_gaps_leave_two_answers(name, samples):
    model = ESTIMATORS[name].fit(samples)
    found = check(model, samples)
    assert found.noise.n_real == 1
    assert list(found.answers) == ["noise", "stability"]
    assert found.poses is None
    assert found.sentence.startswith("Component 2 is not above noise")
    assert str(found).endswith(GAPS)
    assert "--missing ignore" in found.sentence
    told = reality(found)
    assert told["sentences"][-1] == GAPS
    assert [row[-1] for row in told["rows"]] == ["", ""]
    with pytest.raises(ValueError, match="X has gaps"):
        pose_confidence(model, samples)


def test_the_noise_floor_of_a_density_with_gaps_is_near_that_without(samples):
    model = ESTIMATORS["density"].fit(samples)
    filled = np.asarray(model.impute(samples))
    gaps, whole = noise_floor(model, samples), noise_floor(model, filled)
    assert gaps.n_real == 1
    np.testing.assert_allclose(gaps.gains[0], whole.gains[0], atol=0.1)


def test_commands_of_models_with_gaps_say_so():
    commands = Commands.of(GTPCA(1, Shift(8), missing="ignore"))
    assert commands.choose() == "gtpca choose DATA --family shift --missing ignore"
    assert commands.fit(1, "a").endswith('--family "shift(window=8)" --missing ignore')
