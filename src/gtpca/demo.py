"""A demonstration: spikes at random times, GT-PCA against PCA, a table and a figure.

Run ``python -m gtpca.demo``; the figure is written to ``gtpca-demo.png`` in the current folder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA

from gtpca.datasets import make_spikes
from gtpca.estimator import GTPCA
from gtpca.families import Shift
from gtpca.plots import plot_components
from gtpca.plots.style import new_figure, quiet, require_matplotlib
from gtpca.views.palette import BLUE, GREY, ORANGE, RED

__all__ = ["Demo", "draw", "main", "run", "table"]

N_SAMPLES, N_COMPONENTS, NOISE = 500, 5, 0.2
SHOWN = (1, 3)  # components of the reconstructions in the figure
EXAMPLES = (6, 31, 34, 32)  # test signals in the figure: narrow, weak, wide, cut by the border
DATA, FEW, MANY, OTHER = GREY, ORANGE, BLUE, RED


@dataclass(frozen=True)
class Demo:
    """The fitted models, and their residuals on the test signals.

    Attributes
    ----------
    test : array (n, 256)
    model : GTPCA
    pca : PCA
    resmse, pca_resmse : arrays (k,)
        Residual energy over energy of ``test``, with 1, .., k components.
    noise : float
        Share of the noise in the energy of ``test``, known because the signals are generated.
    """

    test: np.ndarray
    model: GTPCA
    pca: PCA
    resmse: np.ndarray
    pca_resmse: np.ndarray
    noise: float


def run(n_samples=N_SAMPLES, random_state=0) -> Demo:
    """Generate training and test signals and fit both methods.

    Parameters
    ----------
    n_samples : int
        Number of training and of test signals.
    random_state : int
    """
    train, _ = make_spikes(n_samples, noise=NOISE, random_state=random_state)
    test, _ = make_spikes(n_samples, noise=NOISE, random_state=random_state + 1)
    family = Shift(window=64, boundary="partial")
    model = GTPCA(N_COMPONENTS, family, random_state=random_state).fit(train)
    pca = PCA(N_COMPONENTS, random_state=random_state).fit(train)
    errors = [np.sum((test - project(pca, test, k + 1)) ** 2) for k in range(N_COMPONENTS)]
    total = np.sum(test**2)
    return Demo(
        test=test,
        model=model,
        pca=pca,
        resmse=model.resmse(test),
        pca_resmse=np.array(errors) / total,
        noise=NOISE**2 * test.size / total,
    )


def project(pca, X, k):
    """``X`` from its mean and the first ``k`` principal components."""
    W = pca.components_[:k]
    return pca.mean_ + (X - pca.mean_) @ W.T @ W


def table(demo) -> str:
    """The errors on the test signals as text, one line per number of components."""
    n, d = demo.test.shape
    pairs = zip(demo.resmse, demo.pca_resmse, strict=True)
    lines = [f"{k:>10}  {ours:>7.3f}  {theirs:>7.3f}" for k, (ours, theirs) in enumerate(pairs, 1)]
    return "\n".join(
        [
            f"Residual energy / energy of {n} held-out signals of {d} points, one spike in each.",
            "A component of GT-PCA has a score and a position for each signal, one of PCA a score;",
            "PCA also has the mean signal, GT-PCA is not centred.",
            "",
            "components   GT-PCA      PCA",
            *lines,
            "",
            f"The noise alone is {demo.noise:.3f} of the energy; below that, noise is fitted.",
        ]
    )


def draw(demo):
    """The components, the errors, and some test signals with their reconstructions.

    Returns
    -------
    matplotlib.figure.Figure
        Not registered with pyplot.
    """
    figure = new_figure(11, 6.6)
    axes = figure.subplots(3, len(EXAMPLES))
    _draw_components(axes[0, :-1], demo.model)
    _draw_errors(axes[0, -1], demo)
    signals = demo.test[list(EXAMPLES)]
    codes = demo.model.encode(signals)
    _draw_signals(axes[1], signals, "GT-PCA", [demo.model.decode(codes.first(k)) for k in SHOWN])
    _draw_signals(axes[2], signals, "PCA", [project(demo.pca, signals, k) for k in SHOWN])
    return figure


def _draw_components(axes, model):
    plot_components(model, components=range(len(axes)), ax=axes)
    for k, ax in enumerate(axes):
        ax.set_title(f"GT-PCA component {k + 1}", fontsize=10)


def _draw_errors(ax, demo):
    k = np.arange(1, len(demo.resmse) + 1)
    ax.plot(k, demo.pca_resmse, "s--", color=OTHER)
    ax.plot(k, demo.resmse, "o-", color=MANY)
    ax.annotate("PCA", (k[2], demo.pca_resmse[2]), (4, 6), textcoords="offset points", color=OTHER)
    ax.annotate("GT-PCA", (k[2], demo.resmse[2]), (-8, 8), textcoords="offset points", color=MANY)
    ax.set(xticks=k, ylim=(0, 1))
    ax.set_title(f"ResMSE, 1 to {len(k)} components", fontsize=10)
    quiet(ax)


def _draw_signals(axes, signals, method, reconstructions):
    for j, ax in enumerate(axes):
        ax.plot(signals[j], color=DATA, linewidth=0.8, label="signal")
        looks = zip(SHOWN, reconstructions, (FEW, MANY), ("--", "-"), strict=True)
        for k, rebuilt, color, style in looks:
            label = f"{k} component{'s' if k > 1 else ''}"
            ax.plot(rebuilt[j], style, color=color, linewidth=1.6, label=label)
        ax.set_ylim(-0.25 * signals.max(), 1.05 * signals.max())
        quiet(ax, inner=j > 0)
    axes[0].set_ylabel(f"rebuilt by {method}", fontsize=11)
    axes[0].legend(loc="upper right", fontsize=9, frameon=False)


def main(path="gtpca-demo.png", out=print) -> None:
    """Fit, show the table and write the figure.

    Parameters
    ----------
    path : str or path
        Where the figure goes.
    out : callable
        Called with one or more lines of text.
    """
    require_matplotlib()
    demo = run()
    out(table(demo))
    draw(demo).savefig(path, dpi=110)
    out(f"The figure is in {path}.")


if __name__ == "__main__":
    main()
