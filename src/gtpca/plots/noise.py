"""The spectrum of the noise of a model."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from gtpca.plots.panels import take_single
from gtpca.plots.style import labelled
from gtpca.views.palette import CYCLE, GREY
from gtpca.views.spectra import noise_spectra

__all__ = ["plot_noise"]


def plot_noise(model: Any, *, ax: Any = None) -> Any:
    """Plot the power of the noise over frequency, for every axis along which it is stationary.

    Its mean over all frequencies is the variance of the noise. With channels, the thick line is
    their mean, and thin lines are single channels. A model that assumes white noise has a flat
    line: the variance of the residual of the training rows.

    Parameters
    ----------
    model : GTPCA or ProbabilisticGTPCA
        Fitted.
    ax : Axes or None
        See :mod:`gtpca.plots`.

    Returns
    -------
    Axes
    """
    check_is_fitted(model)
    ax, spectra = take_single(ax, (4.8, 3.2)), noise_spectra(model)
    for found, colour in zip(spectra, CYCLE, strict=False):
        if len(found.power) > 1:
            ax.plot(found.frequency, found.power.T, color=GREY, linewidth=0.5)
        mean = found.power.mean(axis=0)
        ax.plot(found.frequency, mean, color=colour, linewidth=1.6, label=found.name)
    ax.set_yscale("log")
    return labelled(ax, spectra[0].unit, "power of the noise", integers=False)
