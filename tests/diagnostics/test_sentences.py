"""Every sentence names the quantity, its value, the threshold and the next command."""

from __future__ import annotations

import shlex
from dataclasses import replace

import numpy as np
import pytest

from gtpca import GTPCA, Compose, Custom, FreeWarp, ProbabilisticGTPCA, Rotation, Shift
from gtpca.diagnostics import Check, Choice, NoiseFloor, PoseConfidence, Stability
from gtpca.diagnostics.warps import WarpChoice
from gtpca.diagnostics.wording import Commands
from gtpca.fitting.cautions import colour_cautions
from gtpca.fitting.wording import in_order

MODEL = GTPCA(3, Shift(64), shared_pose=True, center=True)
COMMAND = Commands.of(MODEL)
FIT = (
    'gtpca fit a.csv -o a-{1}.gtpca -k {0} --family "shift(window=64)" --shared-pose '
    "--center features"
)
CHOOSE = "gtpca choose a.csv --family shift --shared-pose --center features"


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


def choice(n_components, window=60, **other):
    """Three windows that move, of 20 to 200 to choose from."""
    errors = np.array([[0.4, 0.5], [0.3, 0.32], [0.31, 0.33]])
    estimator = GTPCA(1, Shift(window))
    found = Choice(
        windows=np.array([48, 60, 75]),
        errors=errors,
        window=window,
        flat=(60, 75),
        n_components=n_components,
        gains=np.array([0.3, 0.02]),
        band=np.array([0.05, 0.03]),
        level=0.05,
        estimator=estimator,
        commands=Commands.of(estimator),
        beyond=np.zeros(3),
        ends=np.zeros(3),
        tried=(20, 200, 1, 3),
        n_samples=100,
        places=161,
        size=220,
    )
    return replace(found, **other)


CHOSEN = (
    "component 2 explains 2 % of the residual (noise 3 %, level 0.05, not corrected for the choice "
    "of the window on the same samples); next `gtpca fit a.csv -o a.gtpca -k {} --family "
    '"shift(window={})"`.'
)
SMALLEST = (
    "Window 60 has the smallest held-out error, 31 % (flat from 60 to 75: within one standard "
    "error of the difference), and "
)
CASES = {
    "an offset": (
        replace(noise(3), offset=0.987),
        "The means of samples hold 98.7 % of the energy (bar 50 %): what component 1 explains of a "
        "constant says nothing about a pattern; fit again with `"
        + FIT.format(3, "centred").replace("features", "samples")
        + "`.",
    ),
    "all real": (
        noise(3),
        "Component 3, the last, is above noise: it explains 25 % of the residual; for 19 "
        "surrogates of noise the bar is 1.5 % (p = 0.05, level 0.05); to try more, "
        f"`{FIT.format(6, 'more')}`.",
    ),
    "two real": (
        noise(2),
        "Component 3 is not above noise: it explains 1.25 % of the residual; for 19 surrogates "
        f"of noise the bar is 1.5 % (p = 0.4, level 0.05); keep 2 with `{FIT.format(2, 'k2')}`.",
    ),
    "none real": (
        noise(0),
        "Component 1 is not above noise: it explains 1.25 % of the residual; for 19 surrogates "
        f"of noise the bar is 1.5 % (p = 0.4, level 0.05); try other windows with `{CHOOSE}`.",
    ),
    "signs of innovations": (
        replace(noise(2), kinds=("blocks", "flips", "flips"), peaks=np.array([0.9, 0.9, 0.3])),
        "Component 3 is not above noise: it explains 1.25 % of the residual; for 19 surrogates "
        "of noise (signs of innovations flipped) the bar is 1.5 % (p = 0.4, level 0.05); keep 2 "
        f"with `{FIT.format(2, 'k2')}`.",
    ),
    "a single point in heavy tails": (
        replace(noise(0), kinds=("blocks",), peaks=np.array([0.97, 0.9, 0.3]), kurtosis=4.321),
        "Component 1 is not above noise: it explains 1.25 % of the residual; for 19 surrogates "
        "of noise (innovations, which are skewed, permuted in blocks) the bar is 1.5 % (p = 0.4, "
        "level 0.05), it is hardly more than a single point (97 % of its energy; bar 80 %), as "
        "is typical of outliers, and the residual has heavy tails (excess kurtosis 4.3, 0 for "
        f"Gaussian noise; bar 1); try other windows with `{CHOOSE}`.",
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
        f"seeds (threshold 0.8); keep 1 with `{FIT.format(1, 'k1')}`.",
    ),
    "none stable": (
        again(0),
        "Component 1 is not stable: similarity 0.43 between halves of the rows and 0.99 between "
        f"seeds (threshold 0.8); try other windows with `{CHOOSE}`.",
    ),
    "clear": (
        poses(),
        "Poses are clear: 2 % of the samples have another pose of component 1 within odds of 19 to "
        "1 (margin below 2.94; bar 10 %); look at them with `gtpca report a.gtpca a.csv -o "
        "report.html`.",
    ),
    "ambiguous": (
        poses(0.23),
        "Not all poses can be trusted: 23 % of the samples have another pose of component 1 "
        "within odds of 19 to 1 (margin below 2.94; bar 10 %); look at them with `gtpca transform "
        "a.gtpca a.csv -o poses.csv --poses`.",
    ),
    "ends": (
        poses(0.23, 0.38),
        "38 % of the samples are at the first or last centre of component 1 (bar 10 %): the window "
        f"may be too short, or boundary='partial' is needed; see `{CHOOSE}`.",
    ),
    "chosen": (choice(1), SMALLEST + "1 component is above noise: " + CHOSEN.format(1, 60)),
    "chosen, all": (
        choice(2, tried=(20, 200, 1, 2)),
        SMALLEST + "2 components are above noise: " + CHOSEN.format(2, 60) + " But at most 2 "
        "components were tried: there may be more.",
    ),
    "chosen in seconds": (
        choice(1, step=0.004, unit="s"),
        "Window 60 (0.24 s) has the smallest held-out error, 31 % (flat from 60 (0.24 s) to 75 "
        "(0.3 s): within one standard error of the difference), and 1 component is above noise: "
        + CHOSEN.format(1, 60),
    ),
    "chosen of those that move": (
        choice(1, 75, beyond=np.array([0, 0.2, 0.01]), flat=(75, 75)),
        "Window 75 has the smallest held-out error of the windows that can move far enough (window "
        "60 cannot), 32 % (flat from 75 to 75: within one standard error of the difference), and 1 "
        "component is above noise: " + CHOSEN.format(1, 75),
    ),
    "cannot move": (
        choice(1, beyond=np.array([0.3, 0.382, 0.4]), places=61),
        SMALLEST + "1 component is above noise: " + CHOSEN.format(1, 60) + " But window 60 cannot "
        "move far enough: it has 61 positions in 220 points, and 38.2 % of the samples match best "
        "beyond these (bar 5 %), so that their poses are wrong; try shorter windows or "
        "boundary='partial'.",
    ),
    "can hardly move": (
        choice(1, places=50),
        SMALLEST + "1 component is above noise: " + CHOSEN.format(1, 60) + " But window 60 can "
        "hardly move: it has 50 positions in 220 points.",
    ),
    "longest": (
        choice(1, tried=(20, 60, 1, 3)),
        SMALLEST + "1 component is above noise: " + CHOSEN.format(1, 60) + " But window 60 is the "
        "longest that was tried: a longer one may be better.",
    ),
    "shortest, and fewer than wanted": (
        choice(1, tried=(60, 200, 2, 3)),
        SMALLEST + "1 component is above noise: " + CHOSEN.format(1, 60) + " But window 60 is the "
        "shortest that was tried: a shorter one may be better. But at least 2 components "
        "were requested, but only 1 component is above noise.",
    ),
    "piled up": (
        choice(1, ends=np.array([0, 0.15, 0])),
        SMALLEST + "1 component is above noise: " + CHOSEN.format(1, 60) + " But 15 % of the "
        "samples are at the first or last position of window 60 (bar 10 %): patterns may lie "
        "beyond these.",
    ),
    "few samples": (
        choice(1, n_samples=19),
        SMALLEST + "1 component is above noise: " + CHOSEN.format(1, 60) + " But 19 samples are "
        "few for a choice by 2 folds (20 are needed).",
    ),
    "nothing to choose": (
        choice(0),
        "No component is above noise: component 1 explains 30 % of the residual (noise 5 %, level "
        "0.05, not corrected for the choice of the window on the same samples); to look at one "
        'anyway, `gtpca fit a.csv -o a.gtpca -k 1 --family "shift(window=60)"`.',
    ),
    "a number only": (
        choice(1, None, windows=np.array([], int), errors=np.zeros((0, 2)), tried=(1, 3)),
        "1 component is above noise: component 2 explains 2 % of the residual (noise 3 %, level "
        "0.05); next `gtpca fit a.csv -o a.gtpca -k 1 --family shift`.",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sentences(name):
    found, expected = CASES[name]
    assert found.advice("a.gtpca", "a.csv") == expected
    assert str(found).endswith(found.sentence)


def warps(chosen):
    """Three things that were tried: two warps, and 4 components without any."""
    estimator = GTPCA(2, FreeWarp(knots=5, weights=20), shared_pose=True)
    return WarpChoice(
        knots=np.array([1, 5, 0]),
        weights=np.array([20, 20, 80]),
        n_components=np.array([2, 2, 4]),
        errors=np.array([[0.3, 0.4], [0.1, 0.1], [0.2, 0.3]]),
        energies=np.array([1.0, 1.0]),
        chosen=chosen,
        plain=2,
        estimator=estimator,
        commands=Commands.of(estimator),
    )


def test_what_hidden_points_say_of_warps():
    beside = (
        "at hidden points the error is 10 % with the best warp and 25 % with 4 components and no "
        "warp (difference 15 +- 5 %); "
    )
    assert warps(1).sentence == (
        f"Take 5 knots, 20 weights and 2 components: {beside}next `gtpca fit DATA -o MODEL -k 2 "
        '--family "freewarp(knots=5, weights=20)" --shared-pose`.'
    )
    assert warps(2).sentence.startswith(f"No warp is supported: {beside}without warps, `gtpca fit")
    assert warps(2).table["best"].tolist() == [False, False, True]


def test_the_advice_of_a_check_is_what_matters_most():
    good = Check(noise(3), again(3), poses())
    assert good.sentence == noise(3).sentence
    assert Check(noise(2), again(1), poses(0.5)).sentence == noise(2).sentence
    assert Check(noise(3), again(1), poses(0.5)).sentence == again(1).sentence
    assert Check(noise(3), again(3), poses(0.5)).sentence == poses(0.5).sentence


def commands_of(model, *files):
    return Commands.of(model).named(*(files or ("a.gtpca", "a.csv")))


def test_commands_say_what_the_model_was_told():
    model = GTPCA(1, "shift((3, 4), boundary='partial')", sample_shape=(8, 9), polarity="positive")
    commands = commands_of(model, "m", "a b.npy")
    assert commands.choose() == (
        """gtpca choose "a b.npy" --family "shift(axes=(0, 1), boundary='partial')" """
        "--sample-shape 8x9 --polarity positive"
    )
    assert commands.fewer(2) == (
        """gtpca fit "a b.npy" -o m-k2 -k 2 --family "shift(window=(3, 4), boundary='partial')" """
        "--sample-shape 8x9 --polarity positive"
    )
    every = GTPCA(1, missing="ignore", ridge=0.5, refine=2, center="samples", n_restarts=3)
    every.set_params(batch_size=7, n_jobs=2, random_state=5)
    assert commands_of(every).more(2) == (
        "gtpca fit a.csv -o a-more.gtpca -k 2 --family identity --missing ignore --center samples "
        "--ridge 0.5 --refine 2 --seed 5 --restarts 3 --batch-size 7 --jobs 2"
    )


def test_names_of_files_are_quoted_for_people_and_for_a_shell():
    model = GTPCA(1, Shift("0.8s"))
    assert """--family "shift(window='0.8s')\"""" in commands_of(model).more(2)
    for name in ["a b.csv", "-a.csv", "it's.csv", 'say "a".csv', "$HOME.csv", "a`b`.csv", "a\\b!"]:
        words = shlex.split(commands_of(model, name, name).report())
        assert words[2:4] == [f"./{name}" if name.startswith("-") else name] * 2


def test_no_command_overwrites_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = commands_of(MODEL)
    found = [commands.fewer(2), commands.more(2), commands.report(), commands.poses()]
    found += [commands.histogram()]
    for text in found:
        words = shlex.split(text)
        output = words[words.index("-o") + 1]
        assert output not in ("a.gtpca", "a.csv")
        (tmp_path / output).touch()
    again = [commands.fewer(2), commands.more(2), commands.report(), commands.poses()]
    again += [commands.histogram()]
    for text in again:
        words = shlex.split(text)
        assert not (tmp_path / words[words.index("-o") + 1]).exists()
    assert " -o a-k2-2.gtpca " in again[0]


def test_advice_suits_the_family():
    turned = replace(noise(0), commands=Commands.of(GTPCA(1, Rotation(4), sample_shape=(8, 8))))
    assert turned.advice("a.gtpca", "a.csv").endswith(
        "another family or more samples may help; look at it with `gtpca report a.gtpca a.csv -o "
        "report.html`."
    )
    both = GTPCA(1, Compose(Shift((5, 5)), Rotation(4)))
    assert commands_of(both).choose() == (
        'gtpca choose a.csv --family "compose(outer=shift(axes=(0, 1)), inner=rotation(angles=4))"'
    )


def test_what_no_command_can_say_is_said_in_python():
    weighted = GTPCA(2, Shift(5), feature_weight=np.ones(9), center=True)
    commands = commands_of(weighted)
    assert commands.more(4) == "sklearn.base.clone(model).set_params(n_components=4).fit(X)"
    assert commands.choose() == (
        "gtpca.diagnostics.choose(X, model.family, center=model.center, "
        "feature_weight=model.feature_weight)"
    )
    own = GTPCA(2, Custom([lambda w: w], 9))
    assert commands_of(own).more(4) == commands.more(4)


def test_ends_of_other_ranges_are_no_matter_of_windows():
    found = replace(poses(), ends={"factor": np.array([0.5])}, end_bars={"factor": 0.2})
    assert found.advice("a.gtpca", "a.csv") == (
        "50 % of the samples are at the first or last factor of component 1 (bar 20 %): the range "
        "may be too narrow; see `gtpca plot poses a.gtpca a.csv -o poses.png`."
    )


def test_the_first_direction_of_a_density_is_its_pattern():
    commands = commands_of(ProbabilisticGTPCA(2, "shift(5)", sample_shape=(8,)))
    assert commands.fewer(3) == (
        'gtpca fit a.csv -o a-k3.gtpca -k 2 --family "shift(window=5)" --sample-shape 8 '
        "--probabilistic"
    )
    assert " -k 0 " in commands.fewer(1)
    assert commands.choose() == "gtpca choose a.csv --family shift --sample-shape 8"
    both = Commands.of(ProbabilisticGTPCA(1, polarity="both")).fewer(2)
    assert both == (
        "gtpca fit DATA -o MODEL-k2 -k 1 --family identity --polarity both --probabilistic"
    )


def test_no_pattern_is_said_before_all_else():
    doubt = "there is no evidence for a pattern: by 0.2 nats per row (above 0 is needed)"
    found = Check(noise(2), again(1), poses(0.5), doubt)
    assert found.advice("a.gtpca", "a.csv") == (
        "There is no evidence for a pattern: by 0.2 nats per row (above 0 is needed); try other "
        f"windows with `{CHOOSE}`."
    )
    assert str(found).startswith(found.sentence)


def test_colour_is_said_before_a_doubt_and_before_windows():
    doubt = "there is no evidence for a pattern: by 0.2 nats per row (above 0 is needed)"
    colour = colour_cautions(0.87, 0.9, 10_000)
    found = Check(noise(0), again(0), poses(0.5), doubt, colour)
    assert found.sentence.startswith("What the components leave is not white")
    assert found.sentence.endswith("poses and components that such noise hides.")
    first, second, *_ = str(found).split("\n\n")
    assert first == found.sentence
    assert second == (
        "There is no evidence for a pattern: by 0.2 nats per row (above 0 is needed); fit again "
        "with noise='stationary' (--noise stationary) first, since noise that is not white can "
        "hide one."
    )
    nothing = Check(noise(0), again(0), poses(0.5), cautions=colour)
    assert nothing.sentence == found.sentence
    offset = "the means of samples hold 90 % of the energy"
    pile = "80 % of the samples have component 1 at the same start, 3"
    assert in_order([pile, *colour, offset]) == [offset, *colour, pile]


def test_gaps_are_said_after_the_other_answers():
    found = Check(noise(3), again(3), None)
    assert found.sentence == found.noise.sentence
    assert str(found).endswith(
        "Samples have gaps: their poses were not compared with the next best ones, which needs all "
        "values; fill them with `impute` to see how clear poses are."
    )


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


def test_a_residual_that_is_not_white_names_correlation_bar_and_option():
    found = Check(noise(3), again(3), poses(), cautions=colour_cautions(0.87, 0.9, 10_000))
    assert found.advice("a.gtpca", "a.csv") == (
        "What the components leave is not white: neighbours are correlated by 0.87 (above 0.5 is "
        "much), and 90 % of the energy is left. noise='stationary' (--noise stationary) may find "
        "poses and components that such noise hides."
    )
    assert found.sentence in str(found)
    [said] = colour_cautions(-0.35, 0.7, 10_000)
    assert "correlated by -0.35 (below -0.2 is much)" in said
    for correlation, share in ((0.87, 0.3), (0.3, 0.9), (-0.1, 0.9), (None, 0.9)):
        assert colour_cautions(correlation, share, 10_000) == ()


def test_commands_say_what_noise_is():
    coloured = commands_of(GTPCA(1, Shift(8), noise="stationary"))
    assert coloured.more(2).endswith(' -k 2 --family "shift(window=8)" --noise stationary')
    assert coloured.choose() == "gtpca choose a.csv --family shift --noise stationary"
    assert "--noise" not in commands_of(ProbabilisticGTPCA(1, Shift(8), noise="white")).more(2)
    features = commands_of(ProbabilisticGTPCA(1, Shift(8), noise="features"))
    assert "--noise features" in features.more(2)
    assert "--noise" not in features.choose()
    given = commands_of(GTPCA(1, Shift(8), noise=np.ones((3, 20))))
    assert given.more(2) == "sklearn.base.clone(model).set_params(n_components=2).fit(X)"
    assert given.choose() == "gtpca.diagnostics.choose(X, model.family, noise=model.noise)"


def test_poses_of_a_faint_pattern_say_how_faint_it_is():
    found = Check(noise(3), again(3), poses(0.5), strength=2.0)
    said = found.advice("a.gtpca", "a.csv")
    assert said.startswith(
        "The pattern is faint: its norm is 2 standard deviations of the noise (about 4 are needed "
        "for poses of single samples; averages of 4 samples in the same pose would reach that, or "
        "as many channels with independent noise). Not all poses can be trusted: 50 %"
    )
    clear = Check(noise(3), again(3), poses(0.5), strength=6.0).advice("a.gtpca", "a.csv")
    assert clear.startswith("Not all poses can be trusted")
