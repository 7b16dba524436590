"""What tables and figures call experiments, settings, models and protocols."""

from __future__ import annotations

from gtpca.experiments.report.published import TableKey

__all__ = ["EXPERIMENTS", "MODELS", "SETTINGS", "line_name", "model_name", "table_title"]

EXPERIMENTS = {
    "oscillations": "Oscillations",
    "spikes": "Spikes",
    "handwriting": "Handwriting",
    "mnist": "MNIST",
    "errp": "Error potentials",
}
SETTINGS = {
    ("oscillations", "512"): "weights of 512 points",
    ("oscillations", "256"): "weights of 256 points",
    ("spikes", "i"): "(i) 128 points, weights of 256",
    ("spikes", "ii"): "(ii) 256 points, weights of 256",
    ("spikes", "iii"): "(iii) 256 points, weights of 128",
    ("handwriting", "700"): "windows of 700 points",
    ("handwriting", "1400"): "windows of 1400 points",
    ("mnist", "i"): "(i) crops of 16 x 16",
    ("mnist", "ii"): "(ii) original images",
    ("mnist", "iii"): "(iii) embedded in 56 x 56",
    ("mnist", "iv"): "(iv) rotated",
    ("errp", "i"): "(i) samples of 0.5 s, weights of 1 s",
    ("errp", "ii"): "(ii) samples and weights of 0.5 s",
    ("errp", "iii"): "(iii) samples of 1 s, weights of 0.5 s",
}
# Samples and weights have the same size: nothing moves, there are no poses.
STILL = {("oscillations", "256"), ("handwriting", "1400")}
STILL |= {("spikes", "ii"), ("mnist", "ii"), ("errp", "ii")}
TASKS = {
    "projection": "projection",
    "classification": "classification",
    "outlier": "outlier detection",
}
METRICS = {"resmse": "ResMSE", "accuracy": "accuracy (%)"}
MODELS = {
    "gtpca-als": "GT-PCA by ALS",
    "gtpca-adam": "GT-PCA by the network",
    "gtpca-refine": "GT-PCA, refined",
    "gtpca-shared": "GT-PCA, shared pose",
    "pca": "PCA",
    "kpca": "KPCA",
    "autoencoder": "Autoencoder",
    "vae": "VAE",
}
_PROTOCOLS = {"none": "", "paper": "scores as in the paper", "signed": "signed scores"}
_PROTOCOLS["signed+pose"] = "signed scores and poses"
OWN = {"resmse": "own normalisation", "accuracy": "all test samples"}


def model_name(model) -> str:
    """Name of a model, or of the published row it is compared with: "gtpca" is GT-PCA."""
    return "GT-PCA" if model == "gtpca" else MODELS.get(model, model)


def table_title(key: TableKey) -> str:
    """Title of a table, with what its numbers are."""
    experiment, setting, task, metric = key
    names = [EXPERIMENTS.get(experiment, experiment)]
    names += [SETTINGS.get((experiment, setting), setting)]
    names += [TASKS.get(task, task)] if task != "projection" else []
    return f"{', '.join(names)}: {METRICS.get(metric, metric)}"


def line_name(metric, protocol, normalisation, profile="") -> str:
    """What tells two lines of one model apart; empty if nothing has to be said."""
    parts = [_PROTOCOLS.get(protocol, protocol)]
    parts += [OWN.get(metric, normalisation)] if normalisation == "own" else []
    parts += [f"profile {profile}"] if profile else []
    return ", ".join(part for part in parts if part)
