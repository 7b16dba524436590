"""The experiments of the paper: data, baselines, runs and report, for ``gtpca reproduce``."""

__version__ = "0.1.0"
