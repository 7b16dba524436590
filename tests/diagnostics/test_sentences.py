"""Every sentence names the quantity, its value, the threshold and the next command."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gtpca import GTPCA, ProbabilisticGTPCA, Rotation, Shift
from gtpca.diagnostics import Check, Choice, NoiseFloor, PoseConfidence, Stability
from gtpca.diagnostics.wording import Commands
from gtpca.fitting.wording import coloured_residual

MODEL = GTPCA(3, Shift(64), shared_pose=True, center=True)
COMMAND = Commands.of(MODEL)
FIT = "gtpca fit a.csv -o a.gtpca -k {} --family 'shift(window=64)' --shared-pose --center features"


def noise(n_real):
    """Three components, of which some are real; the bar of noise is 1.5 %."""
    surrogates = np.tile(np.linspace(0.01, 0.015, 19), (3, 1))
    surrogates[n_real + 1 :] = np.nan
    p = np.array([0.05 if k < n_real else 0.4 if k == n_real else np.nan for k in range(3)])
    gains = np.where(np.arange(3) < n_real, 0.25, 0.0125)
    return NoiseFloor(gains, surrogates, p, 0.05, n_real, COMMAND)


def again(n_stable):
    """Three components, of which some are stable."""
    halves = np.tile(np.where(np.arange(3) < n_stable, 0.95, 0.4321), (4, 1))
    return Stability(halves, np.full((2, 3), 0.99), 0.8, n_stable, COMMAND)


def poses(ambiguous=0.02, ends=0.05):
    """One pose per sample."""
    margin = np.where(np.arange(100) < 100 * ambiguous, 1.0, 9.0)[:, None]
    share = np.array([ambiguous])
    at_ends = {"centre": np.array([ends])}
    index = np.zeros((100, 1), int)
    return PoseConfidence(index, margin, share, at_ends, {"centre": 0.1}, np.log(19), COMMAND)


def choice(n_components, window=60):
    """Three windows."""
    errors = np.array([[0.4, 0.5], [0.3, 0.32], [0.31, 0.33]])
    family = Shift(window)
    return Choice(
        np.array([48, 60, 75]), errors, window, (60, 75), n_components,
        np.array([0.3, 0.02]), np.array([0.05, 0.03]), 0.05, GTPCA(1, family),
    )  # fmt: skip


CASES = {
    "all real": (
        noise(3),
        "Component 3, the last, is above noise: it explains 25 % of what is left, and of 19 "
        "surrogates of noise the bar is 1.5 % (p = 0.05, level 0.05); to try more, "
        f"`{FIT.format(6).replace('a.gtpca', 'a-more.gtpca')}`.",
    ),
    "two real": (
        noise(2),
        "Component 3 is not above noise: it explains 1.25 % of what is left, and of 19 surrogates "
        f"of noise the bar is 1.5 % (p = 0.4, level 0.05); keep 2 with `{FIT.format(2)}`.",
    ),
    "none real": (
        noise(0),
        "Component 1 is not above noise: it explains 1.25 % of what is left, and of 19 surrogates "
        "of noise the bar is 1.5 % (p = 0.4, level 0.05); try other windows with `gtpca choose "
        "a.csv --family shift --shared-pose`.",
    ),
    "all stable": (
        again(3),
        "Component 3, the last, is stable: similarity 0.95 between halves of the rows and 0.99 "
        "between seeds (threshold 0.8); look at all with `gtpca report a.gtpca a.csv -o "
        "report.html`.",
    ),
    "one stable": (
        again(1),
        "Component 2 is not stable: similarity 0.43 between halves of the rows and 0.99 between "
        f"seeds (threshold 0.8); keep 1 with `{FIT.format(1)}`.",
    ),
    "none stable": (
        again(0),
        "Component 1 is not stable: similarity 0.43 between halves of the rows and 0.99 between "
        "seeds (threshold 0.8); try other windows with `gtpca choose a.csv --family shift "
        "--shared-pose`.",
    ),
    "clear": (
        poses(),
        "Poses are clear: 2 % of the samples have another pose of component 1 within odds of 19 to "
        "1 (margin below 2.94; bar 10 %); look at them with `gtpca report a.gtpca a.csv -o "
        "report.html`.",
    ),
    "ambiguous": (
        poses(0.23),
        "Poses are not all to be trusted: 23 % of the samples have another pose of component 1 "
        "within odds of 19 to 1 (margin below 2.94; bar 10 %); look at them with `gtpca transform "
        "a.gtpca a.csv -o poses.csv --poses`.",
    ),
    "ends": (
        poses(0.23, 0.38),
        "38 % of the samples sit at the first or last centre of component 1 (bar 10 %): the window "
        "may be too short, or boundary='partial' is needed; see `gtpca choose a.csv --family "
        "shift --shared-pose`.",
    ),
    "chosen": (
        choice(1),
        "Window 60 has the smallest held-out error, 31 % (flat from 60 to 75: within one standard "
        "error of the difference), and 1 component is above noise: component 2 explains 2 % of "
        "what is left (noise 3 %, level 0.05); next `gtpca fit a.csv -o a.gtpca -k 1 --family "
        "'shift(window=60)'`.",
    ),
    "chosen, all": (
        choice(2),
        "Window 60 has the smallest held-out error, 31 % (flat from 60 to 75: within one standard "
        "error of the difference), and 2 components are above noise: component 2 explains 2 % of "
        "what is left (noise 3 %, level 0.05), and 2 were the most to be tried; next `gtpca fit "
        "a.csv -o a.gtpca -k 2 --family 'shift(window=60)'`.",
    ),
    "nothing to choose": (
        choice(0),
        "No component is above noise: component 1 explains 30 % of what is left (noise 5 %, level "
        "0.05); to look at one all the same, `gtpca fit a.csv -o a.gtpca -k 1 --family "
        "'shift(window=60)'`.",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sentences(name):
    found, expected = CASES[name]
    assert found.advice("a.gtpca", "a.csv") == expected
    assert str(found).endswith(found.sentence)


def test_the_advice_of_a_check_is_what_matters_most():
    good = Check(noise(3), again(3), poses())
    assert good.sentence == noise(3).sentence
    assert Check(noise(2), again(1), poses(0.5)).sentence == noise(2).sentence
    assert Check(noise(3), again(1), poses(0.5)).sentence == again(1).sentence
    assert Check(noise(3), again(3), poses(0.5)).sentence == poses(0.5).sentence


def test_commands_say_what_the_model_was_told():
    model = GTPCA(1, "shift((3, 4), boundary='partial')", sample_shape=(8, 9), polarity="positive")
    commands = Commands.of(model)
    assert commands.choose("a b.npy") == (
        """gtpca choose 'a b.npy' --family "shift(boundary='partial')" --sample-shape 8x9"""
    ).replace('"shift', "'shift").replace(')"', ")'").replace("'partial'", """'"'"'partial'"'"'""")
    assert commands.fit(2).endswith("--sample-shape 8x9 --polarity positive")
    assert Commands.of(GTPCA(1, Rotation(4))).choose("a") == (
        "gtpca choose a --family 'rotation(angles=4)'"
    )


def test_ends_of_other_ranges_are_no_matter_of_windows():
    found = replace(poses(), ends={"factor": np.array([0.5])}, end_bars={"factor": 0.2})
    assert found.advice("a.gtpca", "a.csv") == (
        "50 % of the samples sit at the first or last factor of component 1 (bar 20 %): the range "
        "may be too narrow; see `gtpca plot poses a.gtpca a.csv -o poses.png`."
    )


def test_the_first_direction_of_a_density_is_its_pattern():
    commands = Commands.of(ProbabilisticGTPCA(2, "shift(5)", sample_shape=(8,)))
    assert commands.fit(3, "a.csv", "a.gtpca") == (
        "gtpca fit a.csv -o a.gtpca -k 2 --family 'shift(window=5)' --sample-shape 8 "
        "--probabilistic"
    )
    assert " -k 0 " in commands.fit(1)
    assert commands.choose("a.csv") == "gtpca choose a.csv --family shift --sample-shape 8"
    both = Commands.of(ProbabilisticGTPCA(1, polarity="both")).fit(2)
    assert both == "gtpca fit DATA -o MODEL -k 1 --family identity --polarity both --probabilistic"


def test_no_pattern_is_said_before_all_else():
    doubt = "there is no evidence for a pattern: by 0.2 nats per row (above 0 is needed)"
    found = Check(noise(2), again(1), poses(0.5), doubt)
    assert found.advice("a.gtpca", "a.csv") == (
        "There is no evidence for a pattern: by 0.2 nats per row (above 0 is needed); try other "
        "windows with `gtpca choose a.csv --family shift --shared-pose`."
    )
    assert str(found).startswith(found.sentence)


def test_they_are_drawn():
    pytest.importorskip("matplotlib", reason="draws")
    import matplotlib as mpl

    mpl.use("Agg")
    lines = [line.get_ydata() for line in noise(2).plot().lines]
    np.testing.assert_array_equal(lines[2], noise(2).gains)
    np.testing.assert_array_equal(lines[1], noise(2).band)
    np.testing.assert_array_equal(again(1).plot().lines[0].get_ydata(), again(1).halves.ravel())
    np.testing.assert_array_equal(
        np.sort(poses(0.1).margin[:, 0]), poses(0.1).plot().lines[0].get_ydata()
    )
    ax = choice(1).plot()
    assert any(60 in line.get_xdata() for line in ax.lines)
    mpl.pyplot.close("all")


def test_a_residual_that_is_not_white_names_correlation_bar_and_command():
    colour = coloured_residual(0.87, 0.9)
    found = Check(noise(3), again(3), poses(), colour=colour)
    assert found.advice("a.gtpca", "a.csv") == (
        "What the components leave is not white: neighbours are correlated by 0.87 (above 0.5 is "
        "much), and 90 % of the energy is left; with noise='stationary' poses and components may "
        "be found that such noise hides; try `gtpca fit a.csv -o a-more.gtpca -k 1 --family "
        "'shift(window=64)' --shared-pose --center features --noise stationary`."
    )
    assert found.sentence in str(found)
    assert "correlated by -0.35 (below -0.2 is much)" in coloured_residual(-0.35, 0.7)
    for correlation, share in ((0.87, 0.3), (0.3, 0.9), (-0.1, 0.9), (None, 0.9)):
        assert coloured_residual(correlation, share) is None


def test_poses_of_a_faint_pattern_say_how_faint_it_is():
    found = Check(noise(3), again(3), poses(0.5), strength=2.0)
    said = found.advice("a.gtpca", "a.csv")
    assert said.startswith(
        "The pattern is faint: its norm is 2 standard deviations of the noise (about 4 are needed "
        "for poses of single samples; averages of 4 samples in one pose would have it, or as many "
        "channels with noise of their own). Poses are not all to be trusted: 50 %"
    )
    clear = Check(noise(3), again(3), poses(0.5), strength=6.0).advice("a.gtpca", "a.csv")
    assert clear.startswith("Poses are not all to be trusted")
