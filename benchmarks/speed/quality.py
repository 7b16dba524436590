"""Are the components as good? Held-out residuals of both versions over several seeds."""

from __future__ import annotations

import numpy as np

MARGIN = 0.01  # new may leave so much more than base, plus two standard errors


def check(case, versions, runner, store, say) -> bool:
    """Run what is missing, print a line for every number of components, and tell the verdict."""
    for seed in case.seeds:
        for version in versions:
            source = runner.ids[version]
            if str(seed) not in store.residuals(case, version, source):
                found = runner.measure(version, case, seed)["resmse"]
                store.add_residuals(case, version, source, seed, found)
    kept = store.cases[case.name]["quality"]
    if not {"base", "new"} <= set(kept):
        return True
    verdict = judged(kept["base"]["seeds"], kept["new"]["seeds"])
    store.add_verdict(case, verdict)
    say(text(case, verdict))
    return verdict["good"]


def judged(base, new):
    """Mean ratio new / base, standard error and whether it is good, for 1, 2, .. components."""
    seeds = [seed for seed in base if seed in new]
    ratios = np.array([np.divide(new[seed], base[seed]) for seed in seeds])
    mean = ratios.mean(axis=0)
    error = ratios.std(axis=0, ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else 0 * mean
    good = mean <= 1 + MARGIN + 2 * error
    lists = {"mean_ratio": mean, "standard_error": error, "good_at": good}
    return {
        "seeds": len(seeds),
        **{n: v.tolist() for n, v in lists.items()},
        "good": bool(good.all()),
    }


def text(case, verdict):
    """A line for every number of components."""
    lines = [f"{case.name}: {verdict['seeds']} seeds, {'good' if verdict['good'] else 'WORSE'}"]
    values = zip(verdict["mean_ratio"], verdict["standard_error"], verdict["good_at"], strict=True)
    for k, (mean, error, good) in enumerate(values, 1):
        lines.append(f"  k={k:<3} {mean:.4f} +- {error:.4f} {'' if good else 'WORSE'}".rstrip())
    return "\n".join(lines)
