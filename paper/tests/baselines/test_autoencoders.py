"""Autoencoders: architecture by hand counts and plain layers, training by formula."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

torch = pytest.importorskip("torch", reason='needs torch: pip install "gtpca[torch]"')

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from gtpca_paper.baselines import networks
from gtpca_paper.baselines.autoencoders import VAE, Autoencoder
from gtpca_paper.baselines.classifier import Downstream

torch.set_num_threads(1)

QUICK = {"epochs": 2, "steps_per_epoch": 10, "random_state": 0}


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def bumps(n, size=32, seed=0):
    """One bump at a random place: a curve in space that no plane comes near."""
    place = np.random.default_rng(seed).uniform(0.2, 0.8, (n, 1)) * size
    return np.exp(-(((np.arange(size) - place) / 2) ** 2))


def resmse(X, projected):
    return np.sum((X - projected) ** 2) / np.sum(X**2)


def count(net):
    return sum(parameter.numel() for parameter in net.parameters())


def seeded(make, seed=0):
    return networks.initialised(make, torch.Generator().manual_seed(seed))


# --- architecture ---

SERIES = 64 + 392 + 1539 + 2048 + 200 + 400 + 49
IMAGE = 160 + 1160 + 1179 + 1568 + 584 + 1168 + 145
TWO_CHANNELS = (6 + 1) * 16 + 392 + 1539 + 2048 + 200 + 400 + (48 + 1) * 2


@pytest.mark.parametrize(
    ("model", "shape", "n_parameters"),
    [
        (Autoencoder(3), (256,), SERIES),
        (Autoencoder(3), (28, 28), IMAGE),
        (Autoencoder(3, channels=True), (256, 2), TWO_CHANNELS),
        (VAE(3), (256,), SERIES + 1539),
        (VAE(3), (28, 28), IMAGE + 1179),
    ],
    ids=str,
)
def test_number_of_parameters(model, shape, n_parameters):
    model.set_params(epochs=1, steps_per_epoch=1).fit(normal(4, *shape))
    assert count(model.net_) == n_parameters


def test_classifier_has_one_hidden_layer_of_ten():
    model = Downstream(epochs=1, steps_per_epoch=1).fit(normal(9, 4), np.arange(9) % 3)
    assert count(model.net_) == (4 + 1) * 10 + (10 + 1) * 3


@pytest.mark.parametrize(("kernel", "factor"), [((1, 3), (1, 2)), ((3, 3), (2, 2))])
def test_doubled_convolution_is_upsampling_then_convolution(kernel, factor):
    fast = seeded(lambda: networks.DoubledConv(3, 5, kernel))
    torch.nn.init.normal_(fast.bias, generator=torch.Generator().manual_seed(1))
    x = torch.from_numpy(normal(2, 3, 4 if kernel[0] == 3 else 1, 6)).float()
    padding = [size // 2 for size in kernel]
    doubled = torch.nn.Upsample(scale_factor=factor)(x)
    slow = torch.nn.functional.conv2d(doubled, fast.weight, fast.bias, padding=padding)
    torch.testing.assert_close(fast(x), slow)
    weighting = torch.from_numpy(normal(*slow.shape, seed=2)).float()
    for parameter in fast.parameters():
        ours, theirs = (
            torch.autograd.grad((out * weighting).sum(), parameter, retain_graph=True)[0]
            for out in (fast(x), slow)
        )
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_coder_is_the_plain_stack_of_layers():
    """The order of the paper: convolve, ReLU, pool; convolve, ReLU, upsample."""
    net = seeded(lambda: networks.Coder((8, 12, 2), 3, series=False))
    conv1, conv2, dense = (net.encoder[i] for i in (0, 3, 7))
    back, conv3, up1, up2 = (net.decoder[i] for i in (0, 3, 5, 7))
    f = torch.nn.functional
    x = torch.from_numpy(normal(5, 8, 12, 2)).float()
    a = f.max_pool2d(f.relu(conv1(x.permute(0, 3, 1, 2))), 2)
    a = f.max_pool2d(f.relu(conv2(a)), 2)
    code = dense(a.flatten(1))
    torch.testing.assert_close(net.encode(x), code)
    a = f.relu(conv3(f.relu(back(code)).reshape(5, 8, 2, 3)))
    a = f.relu(f.conv2d(f.interpolate(a, scale_factor=2), up1.weight, up1.bias, padding=1))
    a = f.conv2d(f.interpolate(a, scale_factor=2), up2.weight, up2.bias, padding=1)
    torch.testing.assert_close(net.decode(code), a.permute(0, 2, 3, 1))


def test_codes_and_output_are_linear():
    """ReLU networks without biases satisfy f(3 x) = 3 f(x); a linear end takes both signs."""
    net = seeded(lambda: networks.Coder((1, 24, 1), 4, series=True))
    x = torch.from_numpy(normal(20, 1, 24, 1)).float()
    code = net.encode(x)
    torch.testing.assert_close(net.decode(net.encode(3 * x)), 3 * net.decode(code))
    assert code.min() < 0 < code.max()
    assert net.decode(code).min() < 0 < net.decode(code).max()


def test_glorot_uniform_kernels_and_zero_biases():
    net = seeded(lambda: networks.Coder((28, 28, 1), 3, series=False))
    for parameter in net.parameters():
        if parameter.ndim == 1:
            assert not parameter.any()
            continue
        filter_size = math.prod(parameter.shape[2:])
        bound = math.sqrt(6 / (sum(parameter.shape[:2]) * filter_size))
        assert 0.9 * bound < parameter.abs().max() <= bound
        assert abs(parameter.mean().item()) < 0.2 * bound


# --- training ---


def test_batches_are_shuffled_passes():
    generator = torch.Generator().manual_seed(0)
    order = networks.draw_batches(10, n_batches=7, batch_size=4, generator=generator)
    assert order.shape == (7, 4)
    first, second = order.ravel()[:10], order.ravel()[10:20]
    assert sorted(first) == sorted(second) == list(range(10))
    assert list(first) != list(second)
    wide = networks.draw_batches(3, n_batches=2, batch_size=32, generator=generator)
    assert wide.shape == (2, 32)


def test_training_is_adam_at_the_defaults_of_keras():
    net = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(net.weight, 0.5)
    generator = torch.Generator().manual_seed(0)
    plan = {"n_rows": 5, "n_batches": 6, "batch_size": 2}
    history = networks.train(net, lambda rows: (net.weight**4).sum(), **plan, generator=generator)
    w, m, v, losses = 0.5, 0.0, 0.0, []
    for t in range(1, 7):
        losses.append(w**4)
        g = 4 * w**3
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w -= 0.001 * m / (1 - 0.9**t) / (math.sqrt(v / (1 - 0.999**t)) + 1e-7)
    np.testing.assert_allclose(history, losses, rtol=1e-5)
    assert net.weight.item() == pytest.approx(w, rel=1e-5)


@pytest.mark.parametrize("model", [Autoencoder(2, **QUICK), VAE(2, **QUICK)], ids=["ae", "vae"])
def test_same_seed_same_model_and_nothing_global(model):
    X = normal(40, 16)
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = clone(model).fit(X)
    assert torch.equal(torch_state, torch.get_rng_state())
    np.testing.assert_array_equal(numpy_state, np.random.get_state()[1])  # noqa: NPY002
    torch.manual_seed(5)
    second = clone(model).fit(X)
    np.testing.assert_array_equal(first.reconstruct(X), second.reconstruct(X))
    other = clone(model).set_params(random_state=1).fit(X)
    assert not np.allclose(first.transform(X), other.transform(X))


def test_loss_is_that_of_each_epoch():
    X = normal(32, 16)
    model = Autoencoder(2, epochs=3, steps_per_epoch=1, batch_size=32, random_state=0).fit(X)
    assert model.loss_.shape == (3,)
    untrained = networks.initialised(model._make_net, networks.make_generator(0))
    before = untrained.loss(networks.tensor(X, (1, 16, 1)), None).item()
    assert model.loss_[0] == pytest.approx(before, rel=1e-5)


# --- what they learn ---


@pytest.mark.parametrize("cls", [Autoencoder, VAE])
def test_beats_pca_on_a_curve(cls):
    X, new = bumps(300), bumps(200, seed=1)
    pca = PCA(2).fit(X)
    model = cls(2, epochs=3, steps_per_epoch=200, random_state=0).fit(X)
    ours = resmse(new, model.reconstruct(new))
    linear = resmse(new, pca.inverse_transform(pca.transform(new)))
    assert ours < 0.1 * linear
    assert np.all(np.diff(model.loss_) < 0)


def test_raw_grey_levels_train():
    images = np.einsum("ni,nj->nij", bumps(200, 16), bumps(200, 16, seed=1))
    X = np.round(255 * images).astype(np.uint8)
    model = Autoencoder(4, epochs=2, steps_per_epoch=150, random_state=0).fit(X)
    assert not model.diverged_
    assert resmse(X.astype(float), model.reconstruct(X)) < 0.3


def test_integers_are_the_same_as_floats():
    X = np.random.default_rng(0).integers(0, 256, (30, 8, 8), dtype=np.uint8)
    model = Autoencoder(2, **QUICK).fit(X)
    as_floats = Autoencoder(2, **QUICK).fit(X.astype(np.float64))
    np.testing.assert_array_equal(model.reconstruct(X), as_floats.reconstruct(X.astype(float)))


def test_read_only_data(recwarn):
    X = normal(20, 12).astype(np.float32)
    X.flags.writeable = False
    Autoencoder(2, **QUICK).fit(X).reconstruct(X)
    assert not recwarn.list


# --- shapes ---


@pytest.mark.parametrize(
    ("shape", "channels"),
    [
        ((30,), False),
        ((13,), False),
        ((1,), False),
        ((13, 2), True),
        ((7, 10), False),
        ((5, 6, 3), True),
        ((1, 9), False),
    ],
    ids=str,
)
@pytest.mark.parametrize("cls", [Autoencoder, VAE])
def test_any_size_comes_back(cls, shape, channels):
    X = normal(300, *shape)  # more rows than are encoded at a time
    model = cls(2, channels=channels, **QUICK).fit(X)
    Z = model.transform(X)
    assert Z.shape == (300, 2)
    assert model.inverse_transform(Z).shape == model.reconstruct(X).shape == X.shape
    np.testing.assert_array_equal(model.inverse_transform(Z), model.reconstruct(X))
    np.testing.assert_allclose(model.transform(X[290:]), Z[290:], rtol=1e-4, atol=1e-5)


def test_padding_is_no_part_of_the_loss():
    """A network that gives 1 everywhere is perfect on samples of ones, whatever their size."""
    net = seeded(lambda: networks.Coder((5, 6, 1), 1, series=False))
    for parameter in net.parameters():
        torch.nn.init.zeros_(parameter)
    torch.nn.init.ones_(net.decoder[-1].bias)
    assert net.loss(torch.ones(2, 5, 6, 1), None).item() == 0


def test_one_channel_is_no_channel():
    X = normal(30, 12)
    plain = Autoencoder(2, **QUICK).fit(X)
    channel = Autoencoder(2, channels=True, **QUICK).fit(X[..., None])
    np.testing.assert_array_equal(plain.transform(X), channel.transform(X[..., None]))


def test_series_are_not_images_of_height_one():
    X = normal(30, 12)
    assert count(Autoencoder(2, **QUICK).fit(X[:, None]).net_) > count(
        Autoencoder(2, **QUICK).fit(X).net_
    )


# --- variational ---


def test_kl_term():
    """Loss with weight a minus loss without is a times torch's divergence from N(0, 1)."""
    x = torch.from_numpy(normal(6, 1, 12, 1)).float()
    net = seeded(lambda: networks.VariationalCoder((1, 12, 1), 2, series=True, kl_weight=0.0))
    plain = net.loss(x, torch.Generator().manual_seed(3))
    net.kl_weight = 0.7
    full = net.loss(x, torch.Generator().manual_seed(3))
    mean, log_variance = net.distribution(x)
    normals = [torch.distributions.Normal(*p) for p in ((mean, (log_variance / 2).exp()), (0, 1))]
    divergence = torch.distributions.kl_divergence(*normals).sum(dim=1).mean()
    torch.testing.assert_close(full - plain, 0.7 * divergence)


def test_a_heavy_kl_term_pulls_the_codes_together():
    X = bumps(200)
    free, bound = (
        VAE(2, epochs=1, steps_per_epoch=300, kl_weight=a, random_state=0).fit(X).transform(X)
        for a in (0.0, 100.0)
    )
    assert np.abs(bound).max() < 0.2 < free.std()


def test_drawn_reconstructions():
    X = normal(40, 16)
    model = VAE(2, **QUICK).fit(X)
    codes, mean = model.transform(X), model.reconstruct(X)
    model.set_params(draw=True)
    np.testing.assert_array_equal(model.transform(X), codes)
    assert not np.allclose(model.reconstruct(X), mean)
    np.testing.assert_array_equal(model.reconstruct(X), model.reconstruct(X))


# --- trainings that diverge ---


def test_a_training_that_diverged_is_recorded_and_not_raised():
    X = 1e6 * normal(40, 16)
    model = VAE(2, draw=True, **QUICK).fit(X)
    assert model.diverged_
    assert np.isnan(model.loss_[-1])
    assert np.isnan(model.transform(X)).all()
    assert np.isnan(model.reconstruct(X)).all()
    assert not VAE(2, **QUICK).fit(X / 1e6).diverged_


def test_an_infinite_loss_is_not_the_end_yet():
    net = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(net.weight, 2.0)
    slopes = iter([1.0, 2e38, 1.0, 1.0])  # the loss is beyond 32 bits, its gradient is not
    plan = {"n_rows": 4, "n_batches": 4, "batch_size": 1, "generator": None}
    history = networks.train(net, lambda rows: net.weight.sum() * next(slopes), **plan)
    assert np.isinf(history[1])
    assert np.isfinite(history[2:]).all()
    assert networks.is_finite(net)


def test_the_classifier_of_diverged_scores_says_the_most_frequent_class():
    y = np.array(["a", "b", "b", "c", "b"])
    model = Downstream(**QUICK).fit(np.full((5, 2), np.nan), y)
    assert model.diverged_
    assert list(model.predict(normal(3, 2))) == ["b"] * 3
    sane = Downstream(**QUICK).fit(normal(5, 2), y)
    assert sane.predict([[np.nan, 0.0]]) == ["b"]


# --- habits ---

MODELS = [Autoencoder(3, epochs=7), VAE(3, kl_weight=0.5), Downstream(standardize=False)]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_clone(model):
    assert clone(model).get_params() == model.get_params()


def test_pickle():
    X = normal(20, 12)
    coder = VAE(2, **QUICK).fit(X)
    again = pickle.loads(pickle.dumps(coder))
    np.testing.assert_array_equal(again.reconstruct(X), coder.reconstruct(X))


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (Autoencoder(0), normal(9, 8), r"n_components=0 must be an integer of at least 1"),
        (Autoencoder(epochs=0), normal(9, 8), r"epochs=0 must"),
        (Autoencoder(steps_per_epoch=1.5), normal(9, 8), r"steps_per_epoch=1.5 must"),
        (Autoencoder(batch_size=None), normal(9, 8), r"batch_size=None must"),
        (Autoencoder(channels=2), normal(9, 8), r"channels=2 must be one of False, True"),
        (VAE(kl_weight=-1), normal(9, 8), r"kl_weight=-1 must be a number of at least 0"),
        (VAE(draw="yes"), normal(9, 8), r"draw='yes' must be one of"),
        (Autoencoder(), normal(9, 8, 8, 3), r"shape \(9, 8, 8, 3\), but channels=False takes"),
        (Autoencoder(channels=True), normal(9, 8), r"channels=True takes \(n, T, C\)"),
        (Autoencoder(), np.zeros((9, 4, 0)), r"X has shape \(9, 4, 0\)"),
        (Autoencoder(), np.full((9, 8), np.nan), r"X contains NaN"),
    ],
)
def test_errors_of_fit(model, X, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X)


def test_errors_of_other_shapes():
    model = Autoencoder(2, **QUICK).fit(normal(9, 8))
    with pytest.raises(ValueError, match=r"X has samples of shape \(7,\), but Autoencoder was"):
        model.transform(normal(9, 7))
    with pytest.raises(ValueError, match="Z has 3 columns, but 2 are needed"):
        model.inverse_transform(normal(9, 3))
    classifier = Downstream(**QUICK).fit(normal(9, 2), np.arange(9) % 2)
    with pytest.raises(ValueError, match="Z has 3 columns, but 2 are needed"):
        classifier.predict(normal(9, 3))
    with pytest.raises(ValueError, match="standardize=1 must"):
        Downstream(standardize=1).fit(normal(9, 2), np.arange(9) % 2)


@pytest.mark.parametrize("call", ["transform", "inverse_transform", "reconstruct"])
def test_not_fitted(call):
    with pytest.raises(NotFittedError):
        getattr(Autoencoder(), call)(normal(3, 8))


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_gtpca_does_not_import_torch():
    done = run("import gtpca, gtpca_paper, sys; sys.exit('torch' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_what_to_install_where_torch_is_missing():
    done = run(
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "import gtpca_paper.baselines.autoencoders"
    )
    assert 'ImportError: torch is missing: pip install "gtpca[torch]"' in done.stderr
