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
from gtpca_paper.baselines.autoencoders import VAE, Autoencoder
from gtpca_paper.baselines.coders import CONVOLUTIONS, StackedCoders
from gtpca_paper.baselines.coders import fit_together as fit_coders
from gtpca_paper.baselines.layers import Poses, ShiftPoses, make_poses, train_together
from gtpca_paper.baselines.networks import VariationalCoder, initialised

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


@pytest.mark.parametrize(
    ("shape", "channels"), [((32,), False), ((30,), False), ((21, 2), True), ((10, 9), False)]
)
@pytest.mark.parametrize("kind", [Autoencoder, VAE])
def test_autoencoders_together_as_one_by_one(kind, shape, channels):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((40, *shape)).astype(np.float32) for _ in range(2)]
    samples = [X for X in arrays for _ in range(2)]

    def make():
        schedule = {"epochs": 1, "steps_per_epoch": 10, "channels": channels}
        return [kind(k, **schedule, random_state=r) for r in range(2) for k in (1, 4)]

    alone, together = make(), make()
    for model, X in zip(alone, samples, strict=True):
        model.fit(X)
    fit_coders(together, samples)
    for one, other, X in zip(alone, together, samples, strict=True):
        assert other.loss_ == pytest.approx(one.loss_, rel=1e-5)
        assert np.allclose(one.transform(X), other.transform(X), atol=2e-3)
        assert np.allclose(one.reconstruct(X), other.reconstruct(X), atol=2e-3)


@pytest.mark.parametrize(("shape", "series"), [((1, 32, 2), True), ((12, 8, 1), False)])
def test_gradients_of_stacked_coders_are_those_of_torch(shape, series):
    generator = torch.Generator().manual_seed(0)
    nets = [
        initialised(lambda k=k: VariationalCoder(shape, k, series=series, kl_weight=0.0), generator)
        for k in (1, 3)
    ]
    for net in nets:
        net.decoder[0].bias.data += 0.1  # so that some is above zero everywhere
    x = torch.randn(2, 6, *shape, generator=generator)
    noise = torch.zeros(2, 3, 6)
    stack = StackedCoders(nets)
    for g, net in enumerate(nets):
        noise[g, : net.n_codes] = torch.randn(net.n_codes, 6, generator=generator)
    losses = stack.step(x, noise)
    for g, net in enumerate(nets):
        mean, log_variance = net.distribution(x[g])
        z = mean + torch.exp(log_variance / 2) * noise[g, : net.n_codes].T
        loss = torch.nn.functional.mse_loss(net.decode(z), x[g])
        loss.backward()
        assert losses[g].item() == pytest.approx(loss.item(), rel=1e-6)
        for name, place in CONVOLUTIONS.items():
            expected = net.get_parameter(f"{place}.weight").grad
            assert torch.allclose(stack.weights[name].grad[g], expected, atol=1e-6)
        expected = net.get_parameter("decoder.0.weight").grad
        found = stack.dense["sample.weight"].grad[g]
        assert torch.allclose(found[:, : net.n_codes], expected, atol=1e-6)
        assert not found[:, net.n_codes :].any()
