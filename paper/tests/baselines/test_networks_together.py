"""Networks of several repetitions as one: the same as one after the other, to rounding."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")
torch = pytest.importorskip("torch", reason='needs torch: pip install "gtpca[torch]"')

from gtpca import Rotation, Shift
from gtpca.families import Identity
from gtpca.nn import GTPCNetwork
from gtpca.nn.checkpoints import Checkpoint
from gtpca_paper.baselines.layers import Poses, ShiftPoses, make_poses, train_together

SCHEDULE = {"epochs": 2, "steps_per_epoch": 15}
CASES = {  # family, shape of a sample, rows of two networks
    "crops": (Shift(40), (24,), (70, 81)),
    "places": (Shift(9), (24,), (70, 64)),
    "crops of images": (Shift((9, 9)), (6, 6), (50, 60)),
    "rotations": (Rotation(8, domain="all"), (9, 9), (60, 50)),
    "nothing moves": (Identity(), (20,), (30, 30)),
    "places by FFT": (Shift((24, 24)), (48, 48), (20, 33)),
    "crops by FFT, channels": (Shift(700, axes=0), (350, 2), (16, 16)),
}


def networks_of(case):
    family, shape, counts = CASES[case]
    rng = np.random.default_rng(0)
    samples = [rng.standard_normal((n, *shape)).astype(np.float32) for n in counts]
    return samples, lambda: [GTPCNetwork(2, family, shape, random_state=g) for g in range(2)]


def differences(ones, others):
    """Largest difference of weights and of energies, relative."""
    weights = [
        ((a.weight - b.weight).abs().max() / a.weight.abs().max()).item()
        for one, other in zip(ones, others, strict=True)
        for a, b in zip(one.layers, other.layers, strict=True)
    ]
    energies = [np.abs(a.energies_ / b.energies_ - 1).max() for a, b in zip(ones, others)]  # noqa: B905
    return max(weights), max(energies)


@pytest.mark.parametrize("case", CASES)
def test_together_as_one_by_one(case):
    samples, make = networks_of(case)
    alone, together = make(), make()
    for g, (network, X) in enumerate(zip(alone, samples, strict=True)):
        network.fit(X, **SCHEDULE, random_state=g)
    train_together(together, samples, seeds=[0, 1], **SCHEDULE)
    weights, energies = differences(alone, together)
    assert weights < 2e-6
    assert energies < 1e-7
    for one, other in zip(alone, together, strict=True):
        watched = [record["watched"][1:] for record in one.history_]  # not what it started from
        assert np.allclose(watched, [r["watched"] for r in other.history_], rtol=1e-5)


def test_both_ways_are_tested():
    ways = {type(make_poses(family.bind(shape))) for family, shape, _ in CASES.values()}
    assert ways == {Poses, ShiftPoses}


def test_a_training_goes_on_where_it_was(tmp_path, monkeypatch):
    samples, make = networks_of("crops")
    whole, first, second = make(), make(), make()
    train_together(whole, samples, seeds=[0, 1], **SCHEDULE)
    kept = Checkpoint(tmp_path / "kept.pt", {"seeds": [0, 1]})
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", stop_after(Checkpoint.save))
        with pytest.raises(KeyboardInterrupt):
            train_together(first, samples, seeds=[0, 1], checkpoint=kept, **SCHEDULE)
    assert len(kept.load()["weights"]) == 1
    train_together(second, samples, seeds=[0, 1], checkpoint=kept, **SCHEDULE)
    assert differences(whole, second) == (0.0, 0.0)


def stop_after(save):
    def saved(self, content):
        save(self, content)
        raise KeyboardInterrupt

    return saved
