"""The experiments of the paper as a list: settings, tasks, models, schedules and profiles."""

from __future__ import annotations

from dataclasses import dataclass, field

from gtpca import checks
from gtpca.families import Family, Rotation, Shift

__all__ = [
    "EXPERIMENTS",
    "MODELS",
    "PROFILES",
    "PROTOCOLS",
    "Experiment",
    "Profile",
    "Setting",
    "find_experiment",
    "find_setting",
    "named",
]

MODELS = (
    *("gtpca-als", "gtpca-adam", "gtpca-refine", "gtpca-shared"),
    *("pca", "kpca", "autoencoder", "vae"),
)
MOVING = ("gtpca-refine", "gtpca-shared")  # the same as gtpca-als where nothing moves
SLOW = ("gtpca-adam", "gtpca-refine", "gtpca-shared", "autoencoder", "vae")
NETWORKS = ("gtpca-adam", "autoencoder", "vae")
PROTOCOLS = ("paper", "signed", "signed+pose")  # forms of the scores that are classified
FEW = (1, 2, 3, 5, 10)  # components of autoencoders in the default profile
REFINED = (2, 5, 10)  # and of gtpca-refine


@dataclass(frozen=True)
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
    """

    name: str
    title: str
    family: Family | None
    size: int | tuple[int, int]
    epochs: int = 5
    downstream_epochs: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One data set of the paper.

    Attributes
    ----------
    name : str
    settings : tuple of Setting
    largest : dict of str to int
        Tasks, and the largest number of components the paper has for each.
    published : tuple of str
        Models the paper has here; those of ours are added to them.
    repeats : dict of str to tuple of int
        Repetitions of fast and of slow models, by profile.
    file : str or None
        A file it needs, below ``data_home``; None for generated data.
    n_paper : int or None
        The paper's accuracies are of so many test samples, the first ones; None: of all.
    channels : bool
        Whether the last axis of a sample holds channels.
    """

    name: str
    settings: tuple[Setting, ...]
    largest: dict[str, int]
    published: tuple[str, ...]
    repeats: dict[str, tuple[int, int]]
    file: str | None = None
    n_paper: int | None = None
    channels: bool = False

    def models(self, setting) -> list[str]:
        """Models of a setting: the paper's, and our variants of GT-PCA where something moves."""
        skipped = MOVING if setting.family is None else ()
        return [m for m in MODELS if (m in self.published or "gtpca" in m) and m not in skipped]


@dataclass(frozen=True)
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
    trained : tuple of int or None
        And of autoencoders, which are fitted for each number; the largest is added.
    ours : tuple of int or None
        And of ``gtpca-refine`` and ``gtpca-shared``, where it is to be quick.
    """

    name: str
    n_generated: int = 1000
    n_train: int | None = None
    n_test: int | None = None
    n_windows: int = 10_000
    n_subjects: int = 6
    steps: int = 500
    components: tuple[int, ...] | None = None
    trained: tuple[int, ...] | None = None
    ours: tuple[int, ...] | None = None

    def counts(self, model, largest) -> tuple[int, ...]:
        """Numbers of components for which there are rows, in increasing order."""
        chosen = self.components or tuple(range(1, largest + 1))
        if model in MOVING and self.ours is not None:
            chosen = self.ours
        elif model == "gtpca-refine":
            chosen = (*REFINED, largest)
        elif model in ("autoencoder", "vae") and self.trained is not None:
            chosen = self.trained if self.components else (*self.trained, largest)
        return tuple(sorted({min(k, largest) for k in chosen}))


PROFILES = {
    "quick": Profile(
        *("quick", 200, 1000, 1100, 300, 1, 40), components=(1, 2, 3), trained=(2,), ours=(2,)
    ),
    "default": Profile("default", trained=FEW),
    "paper": Profile("paper"),
}

BASELINES = ("pca", "kpca", "autoencoder", "vae")
SERIES_REPEATS = {"quick": (1, 1), "default": (10, 3), "paper": (10, 10)}
MNIST_REPEATS = {"quick": (1, 1), "default": (3, 1), "paper": (10, 10)}
ONE_SPLIT = {name: (1, 1) for name in PROFILES}
ROTATED = {"classification": 10, "outlier": 5}


def _listed(*experiments):
    return {experiment.name: experiment for experiment in experiments}


EXPERIMENTS = _listed(
    Experiment(
        "oscillations",
        (
            Setting("512", "weight length 512", Shift(512), 256),
            Setting("256", "weight length 256", None, 256),
        ),
        {"projection": 10},
        BASELINES,
        SERIES_REPEATS,
    ),
    Experiment(
        "spikes",
        (
            Setting("i", "T = 128, weight length 256", Shift(256), 128),
            Setting("ii", "T = 256, weight length 256", None, 256),
            Setting("iii", "T = 256, weight length 128", Shift(128), 256),
        ),
        {"classification": 10, "outlier": 10},
        BASELINES,
        SERIES_REPEATS,
    ),
    Experiment(
        "handwriting",
        (
            Setting("700", "window length 700", Shift(1400, axes=0), 700, 10),
            Setting("1400", "window length 1400", None, 1400, 10),
        ),
        {"projection": 10},
        BASELINES,
        SERIES_REPEATS,
        file="handwriting/handwrit.rda",
        channels=True,
    ),
    Experiment(
        "mnist",
        (
            Setting("i", "16 x 16 crops", Shift((28, 28)), (16, 16)),
            Setting("ii", "28 x 28", None, (28, 28)),
            Setting("iii", "embedded in 56 x 56", Shift((28, 28)), (56, 56)),
            Setting("iv", "rotated", Rotation(20), (28, 28), 10, ROTATED),
        ),
        {"classification": 20, "outlier": 10},
        ("pca", "autoencoder", "vae"),
        MNIST_REPEATS,
        file="mnist/train-images-idx3-ubyte.gz",
        n_paper=1024,
    ),
    Experiment(
        "errp",
        (
            Setting("i", "samples of 0.5 s, weights of 1 s", Shift(512, axes=0), 256),
            Setting("ii", "samples and weights of 0.5 s", None, 256),
            Setting("iii", "samples of 1 s, weights of 0.5 s", Shift(256, axes=0), 512),
        ),
        {"classification": 10, "outlier": 4},
        ("autoencoder", "vae"),
        ONE_SPLIT,
        channels=True,
    ),
)


def named(label, value, known):
    """``known[value]``, or an error that lists what is known."""
    checks.choice(label, value, tuple(known))
    return known[value]


def find_experiment(name) -> Experiment:
    """The experiment with this name."""
    return named("experiment", name, EXPERIMENTS)


def find_setting(experiment, name) -> Setting:
    """The setting of an experiment; "i-all" is "i" with all channels."""
    known = {s.name: s for s in find_experiment(experiment).settings}
    return named(f"setting of {experiment}", name.partition("-")[0], known)
