"""Drawings as methods of a model: ``model.plot_components()`` is ``plot_components(model)``."""

from __future__ import annotations

from typing import Any

__all__ = ["PlotShortcuts"]


class PlotShortcuts:
    """Methods that hand over to :mod:`gtpca.plots`, which says what they take; needs matplotlib."""

    def plot_components(self, **how: Any) -> Any:
        """The components; see :func:`gtpca.plots.plot_components`."""
        return _drawn("components", self, **how)

    def plot_energy(self, X: Any = None, **how: Any) -> Any:
        """How much they explain; see :func:`gtpca.plots.plot_energy`."""
        return _drawn("energy", self, X, **how)

    def plot_history(self, **how: Any) -> Any:
        """How the fit went; see :func:`gtpca.plots.plot_history`."""
        return _drawn("history", self, **how)

    def plot_perturbation(self, X: Any, **how: Any) -> Any:
        """The mean sample, with more and less of each: :func:`gtpca.plots.plot_perturbation`."""
        return _drawn("perturbation", self, X, **how)

    def plot_poses(self, X: Any, component: int | None = 0, **how: Any) -> Any:
        """How often which pose is taken; see :func:`gtpca.plots.plot_poses`."""
        return _drawn("poses", self, X, component, **how)

    def plot_reconstructions(self, X: Any, **how: Any) -> Any:
        """Samples and how they are rebuilt; see :func:`gtpca.plots.plot_reconstructions`."""
        return _drawn("reconstructions", self, X, **how)

    def plot_scores(self, X: Any, **how: Any) -> Any:
        """One point per sample; see :func:`gtpca.plots.plot_scores`."""
        return _drawn("scores", self, X, **how)


def _drawn(what, *arguments, **how):
    from gtpca import plots

    return getattr(plots, f"plot_{what}")(*arguments, **how)
