"""Draw docs/images/power.png: how often a planted pattern is called real, over its norm."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from gtpca.plots.style import new_figure
from gtpca.views.palette import BLUE, GREY

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "bench_diagnostics.json"


def shares(results):
    """Norms, shares of data sets that are called real, and their standard errors."""
    found = defaultdict(list)
    for line in results["power"]:
        found[line["norm"]].append(line["real"])
    found[0.0] = [line["real"] for line in results["level"] if line["noise"] == "white noise"]
    norms = sorted(found)
    means = np.array([np.mean(found[norm]) for norm in norms])
    counts = np.array([len(found[norm]) for norm in norms])
    return norms, means, np.sqrt(means * (1 - means) / counts)


def main(folder=DOCS / "images"):
    """Write the picture."""
    norms, means, errors = shares(json.loads(RESULTS.read_text()))
    figure = new_figure(5, 3.2)
    ax = figure.subplots()
    ax.errorbar(norms, means, errors, fmt="o-", color=BLUE)
    ax.axhline(0.05, color=GREY, linestyle="--", label="level, 0.05")
    ax.set_xlabel("norm of the pattern, in standard deviations of the noise")
    ax.set_ylabel("called real")
    ax.set_ylim(-0.03, 1.03)
    ax.legend(frameon=False)
    figure.savefig(folder / "power.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
