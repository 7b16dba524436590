"""How many kinds and components: planted numbers, and those that ``choose_kinds`` finds.

Rows as in bench_kinds.py with noise 1: G = 1, 2, 3 kinds with K = 0 or 2 components of norm 0.35
each, 100 rows per kind. To choose from: 1 to 4 kinds, 0 to 3 components. Five draws each, seeds 200
to 204. Counted is where both numbers are right; beside it what the largest mean likelihood alone
would say (``largest``).

Run: python benchmarks/bench_kind_choice.py. Draws that are known are kept.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench_kinds import FAMILY, Cell, draw

from gtpca.diagnostics import choose_kinds

PLACE, SEEDS = Path(__file__).with_suffix(".json"), range(200, 205)
CELLS = [(kinds, components) for kinds in (1, 2, 3) for components in (0, 2)]


def chosen(kinds, components, seed):
    """What is suggested for a draw, what is most likely, and the sentence."""
    rows = draw(Cell(kinds, 0.35 if components else 0.0, 1.0), seed).rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = choose_kinds(rows, FAMILY, (1, 4), (0, 3))
    largest = found.pairs[found.likelihoods.mean(axis=1).argmax()].tolist()
    both = [found.n_kinds, found.n_components]
    return {"chosen": both, "largest": largest, "sentence": found.sentence}


def main():
    """Run what is not known yet, and write the JSON after every draw."""
    known = json.loads(PLACE.read_text("utf-8")) if PLACE.exists() else {"draws": {}}
    for kinds, components in CELLS:
        for seed in SEEDS:
            name = f"G = {kinds}, K = {components}, seed {seed}"
            if name not in known["draws"]:
                known["draws"][name] = chosen(kinds, components, seed) | {
                    "planted": [kinds, components]
                }
            print(name, known["draws"][name], flush=True)
            every = known["draws"].values()
            known["of"] = len(every)
            for way in ("chosen", "largest"):
                known[f"right_{way}"] = sum(one[way] == one["planted"] for one in every)
            PLACE.write_text(json.dumps(known, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
