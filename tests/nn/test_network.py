"""The network: trained in sequence, resumed exactly, converted both ways, exported."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'gtpca[torch]'")

from helpers import two_planted
from torch.utils.data import DataLoader, TensorDataset

from gtpca import ALS, GTPCA, Compose, Reflection, Rotation, Shift
from gtpca.data.chunks import as_chunks
from gtpca.datasets import make_oscillations
from gtpca.nn import Adam, GTPCLayer, GTPCNetwork, geometry
from gtpca.nn.checkpoints import Checkpoint
from gtpca.solvers.base import Problem


def planted(n=400, dtype=torch.float32):
    return torch.from_numpy(two_planted(Shift(8), (24,), n)).to(dtype)


def small_net(**options):
    return GTPCNetwork(2, Shift(8), (24,), random_state=0, **options)


OPTIONS = {
    "plain": {},
    "mean": {"center": True},
    "sample-means": {"center": "samples"},
    "weighted": {"feature_weight": np.linspace(0.5, 2, 24), "center": "samples"},
    "upright": {"polarity": "positive"},
}


@pytest.mark.parametrize("name", list(OPTIONS))
@pytest.mark.parametrize("family", [Shift(8), Shift(40), Compose(Shift(9), Reflection())], ids=str)
def test_a_network_says_what_the_estimator_says(family, name):
    X = planted(dtype=torch.float64) + 1
    est = GTPCA(3, family, random_state=0, solver=ALS(n_init=2), **OPTIONS[name]).fit(X.numpy())
    net = GTPCNetwork.from_estimator(est)
    scores, index = net.encode(X)
    codes = est.encode(X.numpy())
    np.testing.assert_array_equal(index, codes.index)
    np.testing.assert_allclose(scores.detach(), codes.scores, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(net(X).detach(), est.reconstruct(X.numpy()), atol=1e-10)
    back = net.to_estimator()
    np.testing.assert_allclose(back.components_, est.components_, rtol=1e-14)
    np.testing.assert_allclose(back.explained_energy_, est.explained_energy_)
    np.testing.assert_allclose(back.resmse(X.numpy()), est.resmse(X.numpy()), rtol=1e-10)


def test_types_survive_both_ways():
    net = small_net().fit(planted(), epochs=2, random_state=0)
    est = net.to_estimator()
    assert est.components_.dtype == np.float32
    again = GTPCNetwork.from_estimator(est)
    assert again.weight.dtype == torch.float32
    X = planted(50)
    np.testing.assert_allclose(again(X).detach(), net(X).detach(), atol=1e-5)
    np.testing.assert_allclose(est.reconstruct(X.numpy()), net(X).detach(), atol=1e-5)
    left = 1 - np.cumsum(est.explained_energy_ratio_)
    np.testing.assert_allclose(left, est.resmse(planted().numpy()), rtol=1e-4)


def test_what_cannot_be_converted_is_named():
    X = planted(100).numpy()
    shared = GTPCA(2, Shift(8), shared_pose=True, random_state=0).fit(X)
    with pytest.raises(ValueError, match="shared_pose=True"):
        GTPCNetwork.from_estimator(shared)
    refined = GTPCA(2, Shift(8), refine=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"refine=1.*set_params"):
        GTPCNetwork.from_estimator(refined)
    with pytest.raises(ValueError, match=r"Adam.*shared_pose=True.*ALS"):
        GTPCA(2, Shift(8), shared_pose=True, solver=Adam()).fit(X)


def test_components_are_trained_in_sequence():
    X = planted()
    net = small_net()
    start = net.layers[1].weight.detach().clone()
    whole = net.fit(X, epochs=3, random_state=0)
    first = GTPCNetwork(1, Shift(8), (24,), random_state=0).fit(X, epochs=3, random_state=0)
    torch.testing.assert_close(whole.layers[0].weight, first.layers[0].weight, rtol=0, atol=0)
    assert not torch.equal(whole.layers[1].weight, start)
    assert np.all(np.diff(whole.energies_) < 0)


def test_a_tensor_and_a_loader_of_the_same_batches_give_the_same_weights():
    X = planted(64)
    whole = small_net().fit(X, epochs=3, batch_size=64, random_state=0)
    loader = DataLoader(TensorDataset(X, torch.zeros(64)), batch_size=64)
    other = small_net().fit(loader, epochs=3, validation=X)
    for a, b in zip(whole.layers, other.layers, strict=True):
        torch.testing.assert_close(a.weight, b.weight, rtol=1e-4, atol=1e-5)


def test_the_solver_trains_like_the_network():
    """Full batches, the same start: the order of the rows does not matter."""
    X = planted(256, torch.float64)
    schedule = {"epochs": 20, "lr": 1e-2, "batch_size": 256}
    net = GTPCNetwork(1, Shift(8), (24,), random_state=0, dtype=torch.float64)
    start = net.weight.detach().numpy().copy()
    net.fit(X, **schedule, random_state=0)
    operator = Shift(8).bind((24,))
    problem = Problem(as_chunks(X.numpy(), operator, batch_size=100))
    result = Adam(**schedule).solve(problem, 0, start=start[None])
    w = net.weight.detach().numpy()
    np.testing.assert_allclose(result.weights[0], w / np.linalg.norm(w), atol=1e-8)
    np.testing.assert_allclose(result.history, np.maximum.accumulate(net.history_[0]["watched"]))


def test_the_estimator_takes_the_solver():
    X = planted(256).numpy()
    model = GTPCA(2, Shift(8), solver=Adam(epochs=20, lr=1e-2), random_state=0).fit(X)
    assert model.n_iter_.tolist() == [20, 20]
    assert all(np.all(np.diff(history) >= 0) for history in model.history_)
    left = 1 - np.cumsum(model.explained_energy_ratio_)
    np.testing.assert_allclose(left, model.resmse(X), rtol=1e-5)
    again = GTPCA(2, Shift(8), solver=Adam(epochs=20, lr=1e-2), random_state=0).fit(X)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_the_solver_weighs_samples():
    X = planted(200).numpy()
    weight = np.r_[np.ones(100), np.zeros(100)]
    solver = Adam(epochs=20, lr=1e-2)
    est = GTPCA(1, Shift(8), solver=solver, random_state=0).fit(X, sample_weight=weight)
    alone = GTPCA(1, Shift(8), solver=solver, random_state=0).fit(X[:100])
    assert est.score(X[:100]) > 0.98 * alone.score(X[:100])


def test_started_at_the_best_solution_training_does_not_make_it_worse():
    X = make_oscillations(300, 64, random_state=0)
    est = GTPCA(3, Shift(128), random_state=0).fit(X)
    for validation in (None, X):
        net = GTPCNetwork.from_estimator(est)
        net.fit(X, epochs=3, validation=validation, random_state=0)
        for record in net.history_:
            assert max(record["watched"]) >= record["watched"][0]
        new = net.to_estimator()
        assert new.score(X) >= est.score(X) * (1 - 1e-12)
        np.testing.assert_allclose(1 - np.cumsum(new.explained_energy_ratio_), new.resmse(X))


def test_the_schedule_of_the_paper_comes_near_to_the_best_solution():
    """One component on 128 points, mean of 3 seeds; the published one on 256 is a benchmark."""
    found = []
    for seed in range(3):
        X, Y = (make_oscillations(1000, 128, random_state=2 * seed + s) for s in range(2))
        X, Y = X.astype(np.float32), Y.astype(np.float32)
        net = GTPCNetwork(1, Shift(256), (128,), random_state=seed)
        net.fit(X, epochs=5, steps_per_epoch=200, random_state=seed)
        als = GTPCA(1, Shift(256), random_state=0).fit(X)
        found.append([net.to_estimator().resmse(Y)[0], als.resmse(Y)[0]])
    trained, best = np.mean(found, axis=0)
    assert trained <= 1.03 * best


def test_patience_stops_and_the_best_weights_are_kept():
    X, V = planted(200), planted(100)
    net = GTPCNetwork(1, Shift(8), (24,), random_state=0)
    net.fit(X, epochs=200, lr=0.3, validation=V, patience=3, random_state=0)
    record = net.history_[0]
    assert record["stopped"] == "patience"
    assert len(record["loss"]) < 200
    assert np.argmax(record["watched"]) == len(record["watched"]) - 4
    explained = float(net.encode(V)[0].detach().square().sum())
    np.testing.assert_allclose(explained, max(record["watched"]), rtol=1e-5)


def test_large_numbers_do_not_diverge():
    net = small_net().fit(planted() * 1e12, epochs=3, lr=1e-2, random_state=0)
    plain = small_net().fit(planted(), epochs=3, lr=1e-2, random_state=0)
    shares = [energies[2] / energies[0] for energies in (net.energies_, plain.energies_)]
    np.testing.assert_allclose(*shares, rtol=0.05)


RUN = """
import sys, torch, numpy as np
from gtpca import Shift
from gtpca.nn import GTPCNetwork
torch.set_num_threads(1)
X = torch.from_numpy(np.load(sys.argv[1]))
data = X
if sys.argv[4] == "loader":
    own = torch.Generator().manual_seed(3)
    data = torch.utils.data.DataLoader(X, batch_size=32, shuffle=True, generator=own)
net = GTPCNetwork(2, Shift(8), (24,), random_state=0)
net.fit(data, epochs=60, validation=X, checkpoint=sys.argv[2], random_state=1)
np.save(sys.argv[3], np.stack([layer.weight.detach().numpy() for layer in net.layers]))
"""


def run_killed(command, checkpoint):
    """Start a training and kill it once it has written a checkpoint."""
    process = subprocess.Popen(command)
    while not checkpoint.exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    return process.wait()


@pytest.mark.parametrize("kind", ["tensor", "loader"])
def test_a_killed_run_ends_at_the_same_weights(tmp_path, kind, monkeypatch):
    """Only what is killed has a process of its own: torch takes seconds to start."""
    data, checkpoint = tmp_path / "x.npy", tmp_path / "run.pt"
    np.save(data, planted(600).numpy())
    ends = [tmp_path / name for name in ("whole.npy", "resumed.npy")]
    whole, resumed = (
        [str(data), str(path), str(end), kind]
        for path, end in zip((tmp_path / "other.pt", checkpoint), ends, strict=True)
    )
    assert run_killed([sys.executable, "-c", RUN, *resumed], checkpoint) == -signal.SIGKILL
    assert not ends[1].exists()
    n_threads = torch.get_num_threads()
    for arguments in (whole, resumed):
        monkeypatch.setattr(sys, "argv", ["-c", *arguments])
        exec(RUN, {})
    torch.set_num_threads(n_threads)
    np.testing.assert_array_equal(np.load(ends[1]), np.load(ends[0]))
    assert not list(tmp_path.glob("*.part"))


def test_a_finished_checkpoint_is_the_result(tmp_path):
    path, X = tmp_path / "run.pt", planted()
    net = small_net().fit(X, epochs=2, checkpoint=path, random_state=0)
    again = GTPCNetwork(2, Shift(8), (24,)).fit(X, epochs=2, checkpoint=path)
    for a, b in zip(net.layers, again.layers, strict=True):
        assert torch.equal(a.weight, b.weight)
    assert again.history_ == net.history_
    np.testing.assert_array_equal(again.energies_, net.energies_)


def test_checkpoints_that_do_not_fit_are_refused(tmp_path):
    path, X = tmp_path / "run.pt", planted(100)
    small_net().fit(X, epochs=1, checkpoint=path, random_state=0)
    with pytest.raises(ValueError, match=r"checkpoint=.*lr=0.001, not 0.1"):
        small_net().fit(X, epochs=1, lr=0.1, checkpoint=path, random_state=0)
    with pytest.raises(ValueError, match=r"n_samples=100, not 50"):
        small_net().fit(X[:50], epochs=1, checkpoint=path, random_state=0)
    whole = path.read_bytes()
    for broken in (b"", b"hello", whole[: len(whole) // 2]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"checkpoint=.*cannot be read"):
            small_net().fit(X, epochs=1, checkpoint=path, random_state=0)
        assert path.read_bytes() == broken
    torch.save({"some": "thing"}, path)
    with pytest.raises(ValueError, match="not a checkpoint of this version"):
        small_net().fit(X, epochs=1, checkpoint=path)


def batches_once():
    yield from planted(64).split(32)


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ([], {}, "no batch in epoch 1: it is empty"),
        ([planted(0)], {}, "empty batch, number 1"),
        (planted(64), {"validation": []}, "validation gave no batch"),
        (planted(64), {"validation": iter([planted(8)])}, "validation gave no batch.*second"),
        (planted(64), {"validation": planted(8) * np.nan}, "watched energy is not finite"),
        (planted(64), {"checkpoint": "no/such/folder/run.pt"}, "folder that does not exist"),
        (planted(0), {}, "no sample"),
        (batches_once(), {"epochs": 2}, "no batch in epoch 2: .*second time"),
        (planted(64).split(32), {"steps_per_epoch": 5}, "after 2 batches.*steps_per_epoch=5"),
        (planted(64)[:, :20], {}, r"\(64, 20\)"),
        (planted(64) * np.nan, {}, "not finite"),
        (planted(64), {"epochs": -1}, "epochs=-1"),
        (planted(64), {"batch_size": 0}, "batch_size=0"),
        (planted(64), {"lr": 0.0}, "lr=0"),
        (planted(64), {"clip_norm": -1.0}, "clip_norm=-1"),
        (planted(64), {"random_state": "a"}, "random_state='a'"),
        (planted(64).split(32), {"patience": 2}, "patience=2 needs validation"),
    ],
)
def test_data_that_cannot_be_trained_on(data, options, words):
    with pytest.raises(ValueError, match=words):
        small_net().fit(data, **{"epochs": 1, **options})


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match=r"float64.*float32"):
        small_net().fit(planted(dtype=torch.float64))
    with pytest.raises(TypeError, match=r"data is a int"):
        small_net().fit(3)
    with pytest.raises(ValueError, match=r"mean has shape \(3,\)"):
        small_net(mean=np.zeros(3))


def test_the_encoder_of_centred_samples_can_be_exported():
    net = small_net(center="samples", feature_weight=np.linspace(1, 2, 24)).requires_grad_(False)
    sizes = {"x": {0: torch.export.Dim("n")}}
    program = torch.export.export(net.encoder(), (planted(6),), dynamic_shapes=sizes)
    torch.testing.assert_close(program.module()(planted(3)), net.encode(planted(3)))


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (Shift(40), (24,)),
        (Compose(Shift((5, 5)), Rotation(8)), (9, 9)),
        (Shift((28, 28)), (40, 40)),
    ],
    ids=str,
)
def test_the_encoder_can_be_exported(family, shape):
    net = GTPCNetwork(2, family, shape, random_state=0).requires_grad_(False)
    x = torch.randn(6, *shape, generator=torch.Generator().manual_seed(0))
    sizes = {"x": {0: torch.export.Dim("n")}}
    program = torch.export.export(net.encoder(), (x,), dynamic_shapes=sizes)
    for rows in (x, x[:3]):
        torch.testing.assert_close(program.module()(rows), net.encode(rows))


def test_compiled_layers_say_the_same():
    net = GTPCNetwork(2, Compose(Shift(9), Reflection()), (24,), random_state=0)
    x = planted(8)
    torch.testing.assert_close(torch.compile(net, backend="eager")(x), net(x))


def test_state_survives():
    net = small_net(mean=np.ones(24)).fit(planted(), epochs=1, random_state=0)
    other = small_net(mean=np.zeros(24))
    other.load_state_dict(net.state_dict())
    torch.testing.assert_close(other(planted(5)), net(planted(5)), rtol=0, atol=0)


@pytest.mark.parametrize("short", [True, False], ids=["bank", "fft"])
@pytest.mark.parametrize(
    "family", [Shift(5), Shift(20, boundary="partial"), Compose(Shift(5), Reflection())], ids=str
)
def test_layers_compile_as_one_graph(family, short, monkeypatch):
    torch._dynamo.reset()
    monkeypatch.setattr(geometry, "SHORT_BANK", 2**17 if short else 0)
    layer = GTPCLayer(family, (12,), feature_weight=np.linspace(0.5, 2, 12), random_state=0)
    x = torch.randn(7, 12, generator=torch.Generator().manual_seed(0))
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x), layer(x))


def test_a_progress_bar_is_shown(capsys):
    pytest.importorskip("rich", reason="needs rich")
    small_net().fit(planted(64), epochs=2, progress=True, random_state=0)
    assert "component 2" in capsys.readouterr().out


class Interrupted(Exception):
    """Stands for a process that dies right after a checkpoint."""


def stop_after(monkeypatch, count):
    """Raise an error once ``count`` checkpoints have been written."""
    left = [count]
    save = Checkpoint.save

    def counting(self, content):
        save(self, content)
        left[0] -= 1
        if left[0] == 0:
            raise Interrupted

    monkeypatch.setattr(Checkpoint, "save", counting)


class Weighed(torch.nn.Module):
    """A family with parameters: the weights, and the weights under a window that is learned."""

    def __init__(self):
        super().__init__()
        self.window = torch.nn.Parameter(torch.linspace(0.5, 1.5, 24))

    def forward(self, w):
        return torch.stack([w, w * self.window])


def trained(X, kind, path):
    """A network trained on a tensor or a loader, with a checkpoint."""
    generator, data = torch.Generator().manual_seed(3), X
    if kind == "loader":
        data = DataLoader(X, batch_size=32, shuffle=True, generator=generator)
    if kind == "sampler":
        sampler = torch.utils.data.RandomSampler(X, generator=generator)
        data = DataLoader(X, batch_size=32, sampler=sampler)
    family = Weighed() if kind == "module" else Shift(8)
    net = GTPCNetwork(2, family, (24,), random_state=0)
    return net.fit(data, epochs=2, checkpoint=path, random_state=1)


@pytest.mark.parametrize("kind", ["tensor", "loader", "sampler", "module"])
def test_a_run_can_be_stopped_after_any_checkpoint(kind, tmp_path, monkeypatch):
    X = planted(96)
    whole = trained(X, kind, None).state_dict()
    for count in range(1, 7):
        path = tmp_path / f"{count}.pt"
        with monkeypatch.context() as patch:
            stop_after(patch, count)
            with pytest.raises(Interrupted):
                trained(X, kind, path)
        for name, value in trained(X, kind, path).state_dict().items():
            assert torch.equal(value, whole[name]), (count, name)


def test_a_trained_network_does_not_get_worse_on_a_validation_loader():
    X = planted(200, torch.float64)
    refined = GTPCA(2, Shift(8), refine=5, random_state=0).fit(X.numpy()).set_params(refine=0)
    for validation in (X, DataLoader(X, batch_size=50)):
        net = GTPCNetwork.from_estimator(refined).fit(X, epochs=3, lr=0.1, validation=validation)
        assert net.to_estimator().score(X.numpy()) >= refined.score(X.numpy()) - 1e-12


def test_numbers_of_numpy_do_not_spoil_a_checkpoint(tmp_path):
    how = {"epochs": np.int64(1), "lr": np.float64(1e-3), "random_state": np.int64(0)}
    for _ in range(2):
        small_net().fit(planted(64), checkpoint=tmp_path / "run.pt", **how)


def test_other_data_or_families_do_not_go_on_from_a_checkpoint(tmp_path):
    path, X = tmp_path / "run.pt", planted(64)
    small_net().fit(X, epochs=1, checkpoint=path, random_state=0)
    with pytest.raises(ValueError, match="energy="):
        small_net().fit(3 * X, epochs=1, checkpoint=path, random_state=0)
    other = GTPCNetwork(2, Shift(8, max_shift=8), (24,))
    with pytest.raises(ValueError, match=r"family='Shift\(window=8\)'"):
        other.fit(X, epochs=1, checkpoint=path, random_state=0)


def test_rows_without_weight_may_fill_a_batch():
    X, weight = planted(200).numpy(), np.r_[np.ones(5), np.zeros(195)]
    model = GTPCA(1, Shift(8), solver=Adam(epochs=30, lr=1e-2, batch_size=16), random_state=0)
    model.fit(X, sample_weight=weight)
    assert model.score(X[:5]) > model.score(X[5:])


def test_zero_weights_are_no_component():
    net = small_net()
    with torch.no_grad():
        net.layers[1].weight.zero_()
    with pytest.raises(ValueError, match=r"layers\[1\] has weights of zero"):
        net.to_estimator()


def test_frozen_layers_are_named_before_anything_is_trained():
    net = small_net()
    net.layers[1].requires_grad_(False)
    with pytest.raises(ValueError, match=r"layers\[1\] is frozen"):
        net.fit(planted(64))


def test_the_mean_and_sample_means_exclude_each_other():
    with pytest.raises(ValueError, match="exclude each other"):
        small_net(center="samples", mean=np.zeros(24))


def test_seeds_of_layers_do_not_overlap():
    first, second = (GTPCNetwork(2, Shift(8), (24,), random_state=s) for s in (0, 1))
    assert not torch.equal(first.layers[1].weight, second.layers[0].weight)


OTHER_PLANS = {
    "mean": ({"mean": np.zeros(24)}, {"mean": np.full(24, 0.1)}),
    "feature_weight": ({}, {"feature_weight": np.linspace(0.5, 2, 24)}),
}


@pytest.mark.parametrize("name", OTHER_PLANS)
def test_another_mean_or_weight_does_not_go_on_from_a_checkpoint(name, tmp_path):
    loader, path = DataLoader(TensorDataset(planted(64)), 16), tmp_path / "run.pt"
    first, second = OTHER_PLANS[name]
    small_net(**first).fit(loader, epochs=1, checkpoint=path, random_state=0)
    small_net(**first).fit(loader, epochs=1, checkpoint=path, random_state=0)
    with pytest.raises(ValueError, match=f"a training with another {name}; move it away"):
        small_net(**second).fit(loader, epochs=1, checkpoint=path, random_state=0)


def test_another_validation_set_does_not_go_on_from_a_checkpoint(tmp_path):
    X, Y = planted(96).split(48)
    loaders = [DataLoader(TensorDataset(part), 16, shuffle=True) for part in (Y, Y[:40])]
    for seen, (same, other) in enumerate([(Y, Y.flip(0)), loaders]):
        how = {"epochs": 1, "checkpoint": tmp_path / f"{seen}.pt", "random_state": 0}
        small_net().fit(X, validation=same, **how)
        small_net().fit(X, validation=same, **how)
        for validation in (other, None):
            with pytest.raises(ValueError, match="another validation; move it away"):
                small_net().fit(X, validation=validation, **how)


def test_loaded_weights_have_no_energies():
    X = planted(64)
    net, other = (small_net().fit(X, epochs=1, random_state=seed) for seed in (0, 1))
    assert np.isfinite(net.energies_).all()
    for outer in (net, torch.nn.ModuleList([net])):
        net.keep([], other.energies_)
        outer.load_state_dict(outer.state_dict())
        assert np.isnan(net.energies_).all()
        assert net.energies_.shape == (3,)
    assert net.history_ == []
    assert np.isnan(net.to_estimator().explained_energy_).all()


def test_the_bar_of_a_finished_training_is_full(tmp_path, capsys):
    pytest.importorskip("rich")
    how = {"epochs": 2, "checkpoint": tmp_path / "run.pt", "random_state": 0}
    small_net().fit(planted(64), **how)
    small_net().fit(planted(64), progress=True, **how)
    assert "100%" in capsys.readouterr().out


def test_whitened_models_cannot_be_converted():
    X = np.cumsum(np.random.default_rng(0).standard_normal((40, 30)), axis=1)
    model = GTPCA(1, Shift(8), noise="stationary", random_state=0).fit(X)
    with pytest.raises(ValueError, match="noise='stationary' cannot be converted"):
        GTPCNetwork.from_estimator(model)
