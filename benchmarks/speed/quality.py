"""Are the components as good? Held-out residuals of both versions over several seeds and starts."""

from __future__ import annotations

import numpy as np
from speed.cases import N_SEEDS

BAR = 1.01  # of the mean ratio new / base with all components, plus two standard errors
FRESH = 200  # the first of the seeds of --fresh


def check(case, versions, runner, store, say, kind="quality") -> bool:
    """Run what is missing, print a line for every number of components, and tell the verdict.

    ``kind`` is "quality" for the seeds of the case, or "fresh" for as many from ``FRESH`` on, which
    no setting of the library was chosen on.
    """
    for seed in case.seeds if kind == "quality" else [FRESH + seed for seed in case.seeds]:
        for version in versions:
            source = runner.ids[version]
            if str(seed) not in store.residuals(case, version, source, kind):
                found = runner.measure(version, case, seed)["resmse"]
                store.add_residuals(case, version, source, seed, found, kind)
    kept = store.cases[case.name][kind]
    if not {"base", "new"} <= set(kept):
        return True
    verdict = judged(kept["base"]["seeds"], kept["new"]["seeds"])
    store.add_verdict(case, verdict, kind)
    say(text(case, verdict))
    return verdict["good"]


def judged(base, new):
    """Mean ratio new / base and its standard error for 1, 2, .. components; good with all of them.

    Good is non-inferior: the mean plus two standard errors is at most 1.01, so that noise makes it
    harder, not easier.
    """
    seeds = [seed for seed in base if seed in new]
    ratios = np.array([np.divide(new[seed], base[seed]) for seed in seeds])
    mean = ratios.mean(axis=0)
    error = ratios.std(axis=0, ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else np.inf * mean
    good = mean + 2 * error <= BAR
    lists = {"mean_ratio": mean, "standard_error": error, "good_at": good}
    return {
        "seeds": len(seeds),
        **{n: v.tolist() for n, v in lists.items()},
        "good": bool(good[-1]),
    }


def text(case, verdict):
    """A line for every number of components."""
    lines = [f"{case.name}: {verdict['seeds']} seeds, {'good' if verdict['good'] else 'WORSE'}"]
    values = zip(verdict["mean_ratio"], verdict["standard_error"], verdict["good_at"], strict=True)
    for k, (mean, error, good) in enumerate(values, 1):
        lines.append(
            f"  k={k:<3} {mean:.4f} +- {error:.4f} {'' if good else 'above 1.01'}".rstrip()
        )
    return "\n".join(lines)


def spread(case, versions, runner, store, say) -> None:
    """Residuals on the data of seed 0 from other starts: run what is missing, print a line."""
    for start in range(N_SEEDS):
        for version in versions:
            source = runner.ids[version]
            if str(start) not in store.residuals(case, version, source, "spread"):
                found = runner.measure(version, case, 0, random_state=start)["resmse"]
                store.add_residuals(case, version, source, start, found[-1:], "spread")
    kept = store.cases[case.name]["spread"]
    ends = {v: np.ravel(list(kept[v]["seeds"].values())) for v in ("base", "new") if v in kept}
    least = min(found.min() for found in ends.values())
    for version, found in ends.items():
        lost = found / least - 1
        say(
            f"{case.name:22} {version:5} {len(found):3} starts: mean {lost.mean():.4f}, median "
            f"{np.median(lost):.4f}, worst {lost.max():.4f} above the best; "
            f"{int(np.sum(lost > 0.01))} by more than 1 %"
        )
