"""What the experiments of the paper are: settings, tasks, models, repetitions and profiles.

Data, jobs, tables, figures and the command all read it from here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gtpca import checks
from gtpca.families import Family, Rotation, Shift

__all__ = [
    "ALL_CHANNELS",
    "EXPERIMENTS",
    "METRICS",
    "MODELS",
    "OWN_TITLES",
    "PROFILES",
    "PROTOCOLS",
    "TASKS",
    "Budget",
    "Experiment",
    "ModelSpec",
    "Profile",
    "Repeats",
    "Setting",
    "experiment_title",
    "find_experiment",
    "find_setting",
    "has_rare_class",
    "is_gtpca",
    "lookup",
    "model_title",
    "rank",
    "setting_title",
]

# Names as in the rows, and what tables and figures call them.
TASKS = {
    "projection": "projection",
    "classification": "classification",
    "outlier": "outlier detection",
}
METRICS = {
    "resmse": "ResMSE",
    "accuracy": "accuracy (%)",
    "balanced": "balanced accuracy (%)",  # a column of rows of accuracies, a table of its own
}
PROTOCOLS = {  # forms of the scores that are classified
    "paper": "scores as in the paper",
    "signed": "signed scores",
    "signed+pose": "signed scores and poses",
}
OWN_TITLES = {
    "resmse": "own normalisation",
    "accuracy": "all test samples",
    "balanced": "all test samples",
}
ALL_CHANNELS = "-all"  # ends the name of a setting with all channels, such as "i-all"
REFINED = (2, 5, 10)  # numbers of components of gtpca-refine; the largest is added


def lookup(label, value, known):
    """``known[value]``, or an error that lists what is known."""
    checks.choice(label, value, tuple(known))
    return known[value]


def rank(value, known) -> int:
    """Where a value stands in a list; after all others if it is not there."""
    return [*known, value].index(value)


def _by_name(*specs):
    return {spec.name: spec for spec in specs}


# --- models ---


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """One of the models that are compared.

    Attributes
    ----------
    name : str
        As in the rows.
    title : str
    variant : bool
        Whether it is a form of GT-PCA that the paper has not.
    moving : bool
        Whether it is left out where nothing moves, since it is the same as "gtpca-als" there.
    shared_pose : bool
        Whether all components have one pose.
    network : bool
        Whether it is trained by torch.
    separate : bool
        Whether every number of components is a job of its own.
    slow : bool
        Whether it gets the repetitions of slow models.
    epochs : int or None
        Of the training, where it is not that of the setting.
    like : str
        The model whose random numbers it shares; empty: it has its own.
    only : str
        The one experiment it is run in, or experiment and setting, as "handwriting/1400"; empty:
        all.
    revision : int
        Of what decides its rows. It is raised when a change of the library or of the model moves
        results by more than rounding; rows of lower revisions are then kept apart.
    """

    name: str
    title: str
    variant: bool = False
    moving: bool = False
    shared_pose: bool = False
    network: bool = False
    separate: bool = False
    slow: bool = False
    epochs: int | None = None
    like: str = ""
    only: str = ""
    revision: int = 0

    def protocols(self, setting) -> tuple[str, ...]:
        """Forms of the scores that are classified; relative poses need poses that differ."""
        relative = is_gtpca(self.name) and setting.moves and not self.shared_pose
        return tuple(PROTOCOLS) if relative else ("paper", "signed")

    def budget(self, setting, k, protocol="none") -> Budget:
        """What is stored of a sample to rebuild it, or to classify it by a protocol.

        A pose is the number of a transform. Poses relative to that of the first component are one
        fewer than components.
        """
        if protocol in ("paper", "signed") or not (is_gtpca(self.name) and setting.moves):
            return Budget(k, 0, 32.0 * k)
        poses = 1 if self.shared_pose else k - (protocol == "signed+pose")
        return Budget(k, poses, 32.0 * k + poses * math.log2(setting.n_transforms))


class Budget(NamedTuple):
    """Numbers stored per sample: scores of 32 bits, and poses of log2 m bits, of m transforms."""

    scores: int
    poses: int
    bits: float

    @property
    def numbers(self) -> int:
        """Scores and poses together."""
        return self.scores + self.poses


_TRAINED: dict[str, Any] = {"network": True, "slow": True}
_OURS: dict[str, Any] = {"variant": True, "moving": True, "revision": 1}
# The paper says of handwriting (ii) that results converge for longer trainings.
_OTHER_EPOCHS: dict[str, Any] = {"variant": True, "only": "oscillations", "like": "gtpca-adam"}
_LONGER: dict[str, Any] = _OTHER_EPOCHS | {"only": "handwriting/1400"}

MODELS = _by_name(
    ModelSpec(name="gtpca-als", title="GT-PCA by ALS", revision=1),
    ModelSpec(name="gtpca-adam", title="GT-PCA by the network", **_TRAINED),
    ModelSpec(name="gtpca-adam-1", title="Network, 1 epoch", epochs=1, **_OTHER_EPOCHS, **_TRAINED),
    ModelSpec(
        name="gtpca-adam-20", title="Network, 20 epochs", epochs=20, **_OTHER_EPOCHS, **_TRAINED
    ),
    ModelSpec(name="gtpca-adam-40", title="Network, 40 epochs", epochs=40, **_LONGER, **_TRAINED),
    ModelSpec(
        name="gtpca-adam-160", title="Network, 160 epochs", epochs=160, **_LONGER, **_TRAINED
    ),
    ModelSpec(name="gtpca-refine", title="GT-PCA, refined", separate=True, **_OURS),
    ModelSpec(name="gtpca-shared", title="GT-PCA, shared pose", shared_pose=True, **_OURS),
    ModelSpec(name="pca", title="PCA"),
    ModelSpec(name="kpca", title="KPCA"),
    ModelSpec(name="autoencoder", title="Autoencoder", separate=True, **_TRAINED),
    ModelSpec(name="vae", title="VAE", separate=True, **_TRAINED),
)


def is_gtpca(model) -> bool:
    """Whether a model is a form of GT-PCA, which the paper has one row for: "gtpca"."""
    return model.startswith("gtpca")


def model_title(model) -> str:
    """Title of a model, or of the published row it is compared with: "gtpca" is GT-PCA."""
    if model == "gtpca":
        return "GT-PCA"
    return MODELS[model].title if model in MODELS else model


# --- experiments ---


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One column of a table.

    Attributes
    ----------
    name : str
        As in the rows: "512", "i", ..
    title : str
    family : Family or None
        None where samples and components have the same size: ordinary PCA, not centred.
    size : int or tuple of int
        Size of a sample: time points, or pixels.
    epochs : int
        Of the models that are trained by Adam.
    downstream_epochs : dict of str to int
        Of the classifier, by task; 10 where there is no entry.
    drawn : bool
        Whether samples differ between repetitions; else only the starts of networks do.
    """

    name: str
    title: str
    family: Family | None
    size: int | tuple[int, int]
    epochs: int = 5
    downstream_epochs: dict[str, int] = field(default_factory=dict)
    drawn: bool = True

    @property
    def moves(self) -> bool:
        """Whether there are poses."""
        return self.family is not None

    @property
    def n_transforms(self) -> int:
        """How many poses there are; channels, which move along, do not change that."""
        shape = self.size if isinstance(self.size, tuple) else (self.size,)
        return 1 if self.family is None else int(self.family.size(shape).n_transforms)

    @property
    def full_title(self) -> str:
        """Title, after the number of the setting if it has one."""
        numbered = not self.name.strip("iv")
        return f"({self.name}) {self.title}" if numbered else self.title


class Repeats(NamedTuple):
    """Repetitions of fast models, of our variants that share their draws, and of slow models."""

    fast: int
    ours: int
    slow: int

    def of(self, model) -> int:
        """Repetitions of a :class:`ModelSpec`."""
        return self.slow if model.slow else self.ours if model.variant else self.fast


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One data set of the paper.

    Attributes
    ----------
    name, title : str
    settings : tuple of Setting
    largest : dict of str to int
        Tasks, and the largest number of components the paper has for each.
    baselines : tuple of str
        Models the paper compares GT-PCA with here.
    repeats : dict of str to Repeats
        By profile.
    file : str
        A file it needs, below ``data_home``; empty for generated data.
    simulable : bool
        Whether data are simulated where the file is not there.
    n_paper : int or None
        The paper's accuracies are of so many test samples, the first ones; None: of all.
    channels : bool
        Whether the last axis of a sample holds channels.
    more_channels : bool
        Whether there are more of them than the paper takes.
    rare : bool
        Whether one class is rare in all tasks, and not only that of the outliers.
    decimals : int
        Of a printed ResMSE.
    trained : tuple of int or None
        Numbers of components of autoencoders, unless the profile has every one; None: all.
    """

    name: str
    title: str
    settings: tuple[Setting, ...]
    largest: dict[str, int]
    baselines: tuple[str, ...]
    repeats: dict[str, Repeats]
    file: str = ""
    simulable: bool = False
    n_paper: int | None = None
    channels: bool = False
    more_channels: bool = False
    rare: bool = False
    decimals: int = 3
    trained: tuple[int, ...] | None = None

    def setting(self, name) -> Setting:
        """The setting with this name."""
        return lookup(f"setting of {self.name}", name, _by_name(*self.settings))

    def models(self, setting) -> list[ModelSpec]:
        """Models of a setting: the paper's, and our variants of GT-PCA where something moves."""
        here = ("", self.name, f"{self.name}/{setting.name}")
        ours = [m for m in MODELS.values() if is_gtpca(m.name) and m.only in here]
        taken = ours + [MODELS[name] for name in self.baselines]
        return [model for model in taken if setting.moves or not model.moving]

    def normalisations(self, task, metric) -> tuple[str, ...]:
        """Ways to compute a metric: as the paper does, and, where we would rather not, our own."""
        differs = task == "outlier" if metric == "resmse" else self.n_paper is not None
        return ("paper", "own") if differs else ("same",)


_BASELINES = ("pca", "kpca", "autoencoder", "vae")
_SERIES_REPEATS = {
    "quick": Repeats(fast=1, ours=1, slow=1),
    "default": Repeats(fast=10, ours=10, slow=3),
    "paper": Repeats(fast=10, ours=10, slow=10),
}
_ONE_SPLIT = dict.fromkeys(_SERIES_REPEATS, Repeats(fast=1, ours=1, slow=1))

EXPERIMENTS = _by_name(
    Experiment(
        name="oscillations",
        title="Oscillations",
        settings=(
            Setting(name="512", title="weights of 512 points", family=Shift(512), size=256),
            Setting(name="256", title="weights of 256 points", family=None, size=256),
        ),
        largest={"projection": 10},
        baselines=_BASELINES,
        repeats=_SERIES_REPEATS,
    ),
    Experiment(
        name="spikes",
        title="Spikes",
        settings=(
            Setting(name="i", title="128 points, weights of 256", family=Shift(256), size=128),
            Setting(name="ii", title="256 points, weights of 256", family=None, size=256),
            Setting(name="iii", title="256 points, weights of 128", family=Shift(128), size=256),
        ),
        largest={"classification": 10, "outlier": 10},
        baselines=_BASELINES,
        repeats=_SERIES_REPEATS,
    ),
    Experiment(
        name="handwriting",
        title="Handwriting",
        settings=(
            Setting(
                name="700",
                title="windows of 700 points",
                family=Shift(1400, axes=0),
                size=700,
                epochs=10,
            ),
            Setting(name="1400", title="windows of 1400 points", family=None, size=1400, epochs=10),
        ),
        largest={"projection": 10},
        baselines=_BASELINES,
        repeats=_SERIES_REPEATS,
        file="handwriting/handwrit.rda",
        channels=True,
        decimals=5,
    ),
    Experiment(
        name="mnist",
        title="MNIST",
        settings=(
            Setting(name="i", title="crops of 16 x 16", family=Shift((28, 28)), size=(16, 16)),
            Setting(name="ii", title="original images", family=None, size=(28, 28), drawn=False),
            Setting(name="iii", title="embedded in 56 x 56", family=Shift((28, 28)), size=(56, 56)),
            Setting(
                name="iv",
                title="rotated",
                family=Rotation(20, domain="all"),
                size=(28, 28),
                epochs=10,
                downstream_epochs={"classification": 10, "outlier": 5},
            ),
        ),
        largest={"classification": 20, "outlier": 10},
        baselines=("pca", "autoencoder", "vae"),
        repeats=_SERIES_REPEATS,
        file="mnist/train-images-idx3-ubyte.gz",
        n_paper=1024,
        trained=(1, 2, 3, 5, 7, 10, 14, 20),
    ),
    Experiment(
        name="errp",
        title="Error potentials",
        settings=(
            Setting(
                name="i",
                title="samples of 0.5 s, weights of 1 s",
                family=Shift(512, axes=0),
                size=256,
            ),
            Setting(name="ii", title="samples and weights of 0.5 s", family=None, size=256),
            Setting(
                name="iii",
                title="samples of 1 s, weights of 0.5 s",
                family=Shift(256, axes=0),
                size=512,
            ),
        ),
        largest={"classification": 10, "outlier": 4},
        baselines=("autoencoder", "vae"),
        repeats=_ONE_SPLIT,
        file="errp/Subject01_s1.mat",
        simulable=True,
        channels=True,
        more_channels=True,
        rare=True,
    ),
)


def find_experiment(name) -> Experiment:
    """The experiment with this name."""
    return lookup("experiment", name, EXPERIMENTS)


def find_setting(experiment, name) -> Setting:
    """The setting of an experiment, both by name; "i-all" is "i" with all channels."""
    return find_experiment(experiment).setting(name.removesuffix(ALL_CHANNELS))


def experiment_title(name) -> str:
    """Title of an experiment; its name if the paper has no such experiment."""
    return EXPERIMENTS[name].title if name in EXPERIMENTS else name


def has_rare_class(experiment, task) -> bool:
    """Whether always giving one answer is mostly right, so that accuracies are balanced too."""
    return task == "outlier" or (experiment in EXPERIMENTS and EXPERIMENTS[experiment].rare)


def setting_title(experiment, name) -> str:
    """Title of a setting with its number; its name if the paper has no such setting."""
    known = EXPERIMENTS[experiment].settings if experiment in EXPERIMENTS else ()
    return next((setting.full_title for setting in known if setting.name == name), name)


# --- profiles ---


@dataclass(frozen=True, kw_only=True)
class Profile:
    """How much of an experiment is run.

    Attributes
    ----------
    name : str
    n_generated, n_train, n_test, n_windows, n_subjects : int or None
        Generated samples, digits for training and test, windows and subjects of EEG; None: all.
    steps : int
        Batches of an epoch.
    components : tuple of int or None
        Numbers of components of all models; None: 1, 2, .., the largest.
    few : tuple of int or None
        And of ``gtpca-shared`` and of models that are fitted for each number.
    every : bool
        Whether autoencoders are trained for every number of components of the paper.
    """

    name: str
    n_generated: int = 1000
    n_train: int | None = None
    n_test: int | None = None
    n_windows: int = 10_000
    n_subjects: int = 6
    steps: int = 500
    components: tuple[int, ...] | None = None
    few: tuple[int, ...] | None = None
    every: bool = False

    def counts(self, model, largest, trained=None) -> tuple[int, ...]:
        """Numbers of components for which there are rows, in increasing order.

        ``trained`` are those of autoencoders, unless the profile has every one.
        """
        chosen = self._chosen(model, largest, None if self.every else trained)
        return tuple(sorted({min(k, largest) for k in chosen}))

    def _chosen(self, model, largest, trained) -> tuple[int, ...]:
        if self.few and (model.moving or model.separate):
            return self.few
        if model.separate and is_gtpca(model.name):
            return (*REFINED, largest)
        if model.separate and trained:
            return tuple(k for k in trained if k <= largest)
        return self.components or tuple(range(1, largest + 1))


PROFILES = _by_name(
    Profile(
        name="quick",
        n_generated=200,
        n_train=1000,
        n_test=1100,
        n_windows=300,
        n_subjects=1,
        steps=40,
        components=(1, 2, 3),
        few=(2,),
    ),
    Profile(name="default"),
    Profile(name="paper", every=True),
)
