"""Model files that are cut, altered, from the future or hostile: one clear error each."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import re
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy import sparse

import gtpca
from gtpca import ALS, GTPCA, Custom, Rotation, Shift
from gtpca.families.base import everywhere
from gtpca.families.text import as_family


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Bytes of a small model file."""
    X = np.random.default_rng(0).standard_normal((15, 12))
    solver = ALS(n_init=2, max_iter=3)
    model = GTPCA(2, Shift(5), center=True, solver=solver, random_state=0).fit(X)
    path = tmp_path_factory.mktemp("model") / "m.gtpca"
    model.save(path)
    return path.read_bytes()


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members, method=zipfile.ZIP_STORED):
    """A zip file of these members; pairs may repeat a name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, data)
    return buffer.getvalue()


def signed(members, text=None):
    """All checksums made again, as whoever forges a file would."""
    content = json.loads(members["model.json"]) if text is None else None
    if content is not None:
        names = set(members) - {"model.json", "model.json.sha256"}
        content["members"] = {n: hashlib.sha256(members[n]).hexdigest() for n in sorted(names)}
        text = json.dumps(content).encode()
    check = hashlib.sha256(text).hexdigest().encode()
    return packed({**members, "model.json": text, "model.json.sha256": check})


def forged(data, edit):
    """The file after ``edit(content, members)``, with right checksums."""
    members = members_of(data)
    content = json.loads(members["model.json"])
    edit(content, members)
    members["model.json"] = json.dumps(content).encode()
    return signed(members)


def refused(data, folder, message):
    path = folder / "bad.gtpca"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message) as caught:
        gtpca.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def npy(array, **how):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **how)
    return buffer.getvalue()


def test_a_file_that_is_cut_anywhere_is_refused(original, tmp_path):
    for length in range(0, len(original), 97):
        refused(original[:length], tmp_path, "empty|cut, damaged")


def test_a_changed_value_is_refused(original, tmp_path):
    members = members_of(original)
    array = np.lib.format.read_array(io.BytesIO(members["components_.npy"]))
    members["components_.npy"] = npy(array * 2)
    refused(packed(members), tmp_path, r"damaged: the checksum of components_\.npy is wrong")
    members = members_of(original)
    members["model.json"] = members["model.json"].replace(b'"window": 5', b'"window": 6')
    refused(packed(members), tmp_path, r"damaged: the checksum of model\.json is wrong")


def test_members_must_be_those_that_are_listed(original, tmp_path):
    members = members_of(original)
    refused(packed({**members, "more.npy": npy(np.ones(2))}), tmp_path, "members are not those")
    del members["mean_.npy"]
    refused(packed(members), tmp_path, "members are not those")
    del members["model.json"]
    refused(packed(members), tmp_path, r"model\.json or .* is missing")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused(original, tmp_path):
    members = members_of(original)
    pairs = [*members.items(), ("mean_.npy", npy(np.zeros(12)))]
    refused(packed(pairs), tmp_path, "twice")


@pytest.mark.parametrize(
    "name", ["../mean_.npy", "/etc/x.npy", "a/b.npy", "a\\b.npy", ".x", "x" * 300]
)
def test_names_with_folders_are_refused(original, tmp_path, name):
    refused(packed({**members_of(original), name: b"x"}), tmp_path, "name that is not allowed")


def test_compressed_members_are_refused(original, tmp_path):
    members = members_of(original)
    refused(packed(members, zipfile.ZIP_DEFLATED), tmp_path, "compressed")


def test_a_newer_format_says_so(original, tmp_path):
    def newer(content, members):
        content.update(format_version=4, gtpca_version="9.9", unheard="of")

    refused(forged(original, newer), tmp_path, "format version 4, written by gtpca 9.9; .* newer")


def test_other_zip_files_and_other_files_are_refused(tmp_path):
    refused(packed({"a.txt": b"hello"}), tmp_path, "not a model file")
    refused(b"hello" * 100, tmp_path, "not a model file")
    refused(signed({}, b'{"format": "another"}'), tmp_path, "does not describe a gtpca model")
    refused(signed({}, b"[]"), tmp_path, "does not describe")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 100_000, "cannot be read"),
        (b'{"a":' * 100_000, "cannot be read"),
        (b'{"format": "gtpca model", "format": "x"}', "a name is there twice"),
        (b'{"x": NaN}', "NaN is not a JSON number"),
        (b'{"x": ' + b"9" * 5000 + b"}", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_json_that_is_none_is_refused(text, message, tmp_path):
    refused(signed({}, text), tmp_path, message)


DEEP = 0
for _ in range(200):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("parameters.family.$object", "os.system", "not a family or solver"),
        ("parameters.family.$object", "GTPCA", "not a family or solver"),
        ("parameters.family.$object", ["Shift"], "not a family or solver"),
        ("parameters.family.parameters.window", 10**15, "max_size"),
        ("parameters.family.parameters.window", 6, "components_"),
        ("parameters.family.parameters.window", 10**30, "64 bits"),
        ("parameters.family.parameters.window", {"$tuple": DEEP}, "nested"),
        ("parameters.family.parameters.window", "5", "window"),
        ("parameters.family.parameters.gap", 1, "no parameter 'gap'"),
        (
            "parameters.family",
            {"$object": "Reflection", "parameters": {"axes": [0] * 900}},
            "Reflection: axes=",
        ),
        ("parameters.family", {"$object": "Compose", "parameters": {"outer": 1}}, "Compose"),
        ("parameters.family", {"$object": "Affine", "parameters": {}}, "Affine"),
        ("parameters.family", {"$import": "os"}, "not a value of this format"),
        ("parameters.family", {"$array": "mean_.npy"}, "missing or used twice|not a family"),
        ("parameters.solver", {"$object": "Shift", "parameters": {}}, "not a solver"),
        ("parameters.solver.parameters.n_init", "many", "n_init"),
        ("parameters.output", "nonsense", "output"),
        ("parameters.batch_size", -1, "batch_size"),
        ("parameters.n_jobs", "all", "n_jobs"),
        ("parameters.n_jobs", 10**6, "n_jobs"),
        ("parameters.refine", 10**9, "refine"),
        ("parameters.random_state", "seed", "seed"),
        ("parameters.n_components", -1, "n_components"),
        ("parameters.speed", 1, "no parameter 'speed'"),
        ("parameters", 3, "must be named"),
        ("fitted", None, "must be named"),
        ("fitted.transform", 1, "attribute 'transform'"),
        ("fitted.__class__", 1, "attribute '__class__'"),
        ("fitted.operator_", 1, "attribute 'operator_'"),
        ("fitted._skl_callbacks", [1], "attribute '_skl_callbacks'"),
        ("fitted.n_components_", 3, "components_"),
        ("fitted.n_features_in_", 10**12, "does not fit"),
        ("fitted.sample_shape_", {"$tuple": [3, 4]}, "mean_"),
        ("fitted.sample_shape_", {"$tuple": [10**9, 10**9]}, "does not fit"),
        ("fitted._row_shape", {"$tuple": [-12]}, "_row_shape"),
        ("fitted.mean_", {"$float": "nan"}, "mean_"),
        ("fitted.components_", [[1.0]], "components_"),
        ("fitted.explained_energy_", [1.0, 2.0], "explained_energy_ must"),
        ("fitted.explained_energy_ratio_", "half", "explained_energy_ratio_ must"),
        ("fitted.n_iter_", 3, "n_iter_ must"),
        ("fitted.history_", [], "history_ must"),
        ("fitted.history_", {"$scalar": "object", "value": 1}, "not a type of a number"),
        ("fitted.history_", {"$scalar": "int8", "value": 10**6}, "does not fit"),
        ("fitted.history_", {"$dict": [[[], 1]]}, "key"),
        ("fitted.history_", {"$strings": [1]}, "text"),
    ],
)
def test_forged_values_are_refused(original, tmp_path, place, value, message):
    def edit(content, members):
        *path, last = place.split(".")
        for name in path:
            content = content[name]
        content[last] = value

    refused(forged(original, edit), tmp_path, re.compile(message))


class Payload:
    """What a pickle would run."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def header(text):
    text = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def arrays_that_are_none(trap):
    objects = np.array([Payload(trap)], dtype=object)
    shape = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }"
    yield "objects", npy(objects, allow_pickle=True), "dtype object"
    yield "pickle", pickle.dumps(Payload(trap)), "not a readable array"
    yield "huge", header(shape % 10**14) + b"x" * 16, "bytes of values"
    yield "negative", header(shape % -1) + b"x" * 16, "makes no sense|bytes of values"
    yield "code", header("__import__('os').system('true')"), "not a readable array"
    yield "nested", header("(" * 110), "not a readable array"
    yield "records", npy(np.zeros(2, dtype=[("a", "f8")])), "dtype"
    yield "dates", npy(np.zeros(2, dtype="M8[s]")), "dtype"
    yield "nan", npy(np.full((2, 5), np.nan)), "components_ must be finite"
    yield "zeros", npy(np.zeros((2, 5))), "components_ must not be zero"
    yield "a zero", npy(np.eye(2, 5) * [1.0, 0, 0, 0, 0]), "components_ must not be zero"
    yield "ints", npy(np.ones((2, 5), dtype=int)), "components_ must be finite"
    yield "cut", npy(np.ones((2, 5)))[:-1], "bytes of values"
    yield "longer", npy(np.ones((2, 5))) + b"x", "bytes of values"


@pytest.mark.parametrize("number", range(14))
def test_forged_arrays_are_refused(original, tmp_path, number):
    trap = tmp_path / "trap"
    name, data, message = list(arrays_that_are_none(trap))[number]

    def edit(content, members):
        members["components_.npy"] = data

    refused(forged(original, edit), tmp_path, message)
    assert not trap.exists(), f"{name}: code in the file was run"


@pytest.mark.parametrize("column", [6, -1, 10**6])
def test_positions_outside_a_sparse_matrix_are_refused(tmp_path, column):
    X = np.random.default_rng(0).standard_normal((15, 9))
    family = Custom([sparse.csr_array(np.eye(9, 6)), sparse.csr_array(np.eye(9, 6, -3))])
    GTPCA(1, family, random_state=0).fit(X).save(tmp_path / "m.gtpca")

    def edit(content, members):
        name = "family.transforms.0.indices.npy"
        indices = np.lib.format.read_array(io.BytesIO(members[name]))
        indices[2] = column
        members[name] = npy(indices)

    refused(forged((tmp_path / "m.gtpca").read_bytes(), edit), tmp_path, "no valid model")


def test_large_families_load_when_asked(tmp_path):
    X = np.random.default_rng(0).standard_normal((5, 12))
    model = GTPCA(1, Shift(5), random_state=0).fit(X)
    model.save(tmp_path / "m.gtpca")
    with pytest.raises(ValueError, match="if you trust the file, pass a larger max_size"):
        gtpca.load(tmp_path / "m.gtpca", max_size=20)
    assert gtpca.load(tmp_path / "m.gtpca", max_size=30).n_components_ == 1


def part(name, **parameters):
    """A family as it stands in a file."""
    return {"$object": name, "parameters": parameters}


def composed(*parts):
    return part("Compose", **dict(zip(("outer", "inner", "inner2", "inner3"), parts, strict=False)))


EYE = [[[float(i == j) for j in range(26)] for i in range(26)]]


@pytest.mark.parametrize(
    ("family", "shape", "needed"),
    [
        (part("Shift", window=10_000_000), (12,), "3e+07"),
        (part("Shift", window={"$tuple": [10**15, 10**15]}), (4, 3), "3e+30"),
        (part("Rotation", angles=10_000_000), (4, 3), "2.1e+10"),
        (part("Rotation", angles=10**12), (4, 3), "2.1e+15"),
        (part("Reflection", axes=list(range(24))), (1,) * 24, "8.61e+09"),
        (part("Scaling", factors=[1.0], axes=list(range(26))), (1,) * 26, "3.44e+10"),
        (part("Affine", matrices=EYE, axes=list(range(26))), (1,) * 26, "3.44e+10"),
        (part("Deformation", n_basis=3000), (4, 3), "2.52e+08"),
        (part("Deformation", n_fields=10**9), (4, 3), "2.14e+12"),
        (part("Deformation", n_fields=10**5, n_basis=10**4, axes=0), (12,), "1.11e+09"),
        (composed(*[part("Rotation", angles=300)] * 4), (4, 3), "1.7e+13"),
        (composed(*[part("Deformation", n_fields=100, axes=0)] * 4), (12,), "1.07e+11"),
        (composed(*[composed(*[part("Rotation", angles=2**62)] * 4)] * 4), (4, 3), "8.77e+301"),
        (composed(*[part("Shift", window={"$tuple": [2**63] * 30})] * 4), (1,) * 30, "inf"),
    ],
)
def test_a_small_file_cannot_ask_for_a_large_family(original, tmp_path, family, shape, needed):
    def edit(content, members):
        content["parameters"]["family"] = family
        tuple_ = {"$tuple": list(shape)}
        about = {"sample_shape_": tuple_, "_row_shape": tuple_, "mean_": None}
        content["fitted"] |= {**about, "n_features_in_": int(np.prod(shape))}

    message = f"{family['$object']} needs {needed} numbers, more than max_size=16777216; if you"
    start = time.perf_counter()
    tracemalloc.start()
    try:
        refused(forged(original, edit), tmp_path, re.escape(message))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("family", ["rotation(angles=8)", Rotation(8)])
def test_families_of_earlier_formats_judge_samples_everywhere(tmp_path, family):
    X = np.random.default_rng(0).standard_normal((20, 9, 9))
    model = GTPCA(1, everywhere(as_family(family)), random_state=0).fit(X)
    model.save(tmp_path / "new.gtpca")

    def older(content, members):
        content["format_version"] = 2
        content["parameters"]["family"] = (
            family
            if isinstance(family, str)
            else {"$object": "Rotation", "parameters": {"angles": 8}}
        )

    (tmp_path / "old.gtpca").write_bytes(forged((tmp_path / "new.gtpca").read_bytes(), older))
    old = gtpca.load(tmp_path / "old.gtpca")
    assert old.family.domain == "all"
    np.testing.assert_array_equal(old.transform(X), model.transform(X))
