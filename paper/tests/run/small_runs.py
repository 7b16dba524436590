"""A run that takes a second."""

from gtpca_paper.run import runner
from gtpca_paper.run.jobs import plan
from gtpca_paper.run.store import read_rows


def tiny_run(out, order=1, workers=1):
    """Rows of a small run, without their seconds."""
    todo = plan(["oscillations"], profile="quick", models=["pca", "kpca"], repeats=2)[::order]
    outcome = runner.run(todo, out, workers=workers)
    assert outcome.summary.complete
    return without_seconds(read_rows(out))


def without_seconds(rows):
    return [{name: v for name, v in row.items() if name != "seconds"} for row in rows]
