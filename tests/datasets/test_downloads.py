"""Where files are looked for, and downloads over real connections that break."""

import hashlib
import os
import socket
import struct
import subprocess
import sys
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from gtpca.datasets import (
    DatasetError,
    downloads,
    fetch_curves,
    fetch_eeg,
    fetch_errp,
    fetch_handwriting,
    fetch_mnist,
    fetch_neurons,
    files,
)
from gtpca.datasets.downloads import download
from gtpca.datasets.files import locate

CONTENT = bytes(range(256)) * 1000
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
CUT = 100_001
DATE, LATER = "Tue, 03 Mar 2015 10:00:00 GMT", "Wed, 04 Mar 2015 10:00:00 GMT"


class Server(ThreadingHTTPServer):
    """One file at every address, served as its attributes say."""

    content, date, ranges, length = CONTENT, DATE, True, True
    breaks = 0  # how many answers end too early
    reset = False  # with a reset connection instead of a closed one

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []  # the ranges
        self.absent = []  # addresses that are not there
        self.go_on = Event()  # the second half of a file waits for it
        self.go_on.set()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *args):
        """Clients that were killed are not news."""


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        server, asked = self.server, self.headers.get("Range")
        server.asked.append(asked)
        if self.path in server.absent:
            return self.send_error(404)
        if self.headers.get("If-Range", server.date) != server.date or not server.ranges:
            asked = None
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if start >= len(server.content):
            return self.send_error(416)
        self.start(start, asked)
        self.send(server.content[start:])

    def start(self, start, asked):
        size = len(self.server.content)
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        if self.server.length:
            self.send_header("Content-Length", size - start)
        self.send_header("Last-Modified", self.server.date)
        self.end_headers()

    def send(self, body):
        server = self.server
        if server.breaks:
            server.breaks -= 1
            self.wfile.write(body[:CUT])
            if server.reset:
                self.request.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                self.request.close()
            return
        self.wfile.write(body[:CUT])
        server.go_on.wait(60)
        self.wfile.write(body[CUT:])


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server() as httpd:
        Thread(target=httpd.serve_forever, args=(0.02,), daemon=True).start()
        yield httpd
        httpd.go_on.set()
        httpd.shutdown()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "file.bin"


@pytest.fixture
def part(path):
    path.parent.mkdir()
    return path.with_name("file.bin.part")


def assert_complete(path):
    assert path.read_bytes() == CONTENT
    assert {file.name for file in path.parent.iterdir()} == {path.name, ".lock"}


# Downloads


@pytest.mark.parametrize("checksum", [SHA256, None])
@pytest.mark.parametrize("reset", [False, True])
def test_what_breaks_off_is_continued(server, path, part, checksum, reset):
    server.breaks, server.reset = 1, reset
    with pytest.raises(OSError, match="reset" if reset else f"broke off after {CUT} of 256000"):
        download(server.url, path, checksum)
    assert not path.exists()
    size = part.stat().st_size
    assert part.read_bytes() == CONTENT[:size]
    assert size == CUT or reset
    download(server.url, path, checksum)
    assert server.asked == [None, f"bytes={size}-"]
    assert_complete(path)


def test_it_may_break_off_again_and_again(server, path, part):
    server.breaks = 2
    for _ in range(2):
        with pytest.raises(OSError, match="call again to continue"):
            download(server.url, path, SHA256)
    download(server.url, path, SHA256)
    assert server.asked == [None, f"bytes={CUT}-", f"bytes={2 * CUT}-"]
    assert_complete(path)


def test_a_server_that_ignores_the_range_sends_all(server, path, part):
    part.write_bytes(CONTENT[:CUT])
    server.ranges = False
    download(server.url, path, SHA256)
    assert server.asked == [f"bytes={CUT}-"]
    assert_complete(path)


@pytest.mark.parametrize(
    ("stale", "requests"),
    [(CONTENT + b"more", 2), (b"x" * len(CONTENT), 2), (b"other", 2), (b"", 1)],
)
def test_a_part_of_something_else_is_dropped(server, path, part, stale, requests):
    part.write_bytes(stale)
    download(server.url, path, SHA256)
    assert len(server.asked) == requests
    assert server.asked[-1] is None
    assert_complete(path)


def test_a_complete_part_needs_no_request(server, path, part):
    part.write_bytes(CONTENT)
    download(server.url, path, SHA256)
    assert server.asked == []
    assert_complete(path)


def test_a_wrong_download_is_removed(server, path):
    with pytest.raises(OSError, match=r"sha256 .*, expected abc; the download was removed"):
        download(server.url, path, "sha256:abc")
    assert [file.name for file in path.parent.iterdir()] == [".lock"]


def test_without_checksum_a_changed_file_is_fetched_again(server, path, part):
    server.breaks, server.content = 1, b"x" * 200_000
    with pytest.raises(OSError, match="broke off"):
        download(server.url, path)
    server.content, server.date = CONTENT, LATER
    download(server.url, path)
    assert server.asked == [None, f"bytes={CUT}-"]
    assert_complete(path)


def test_without_checksum_the_length_must_be_known(server, path):
    server.length = False
    with pytest.raises(OSError, match="256000 bytes, expected None; the download was removed"):
        download(server.url, path)
    assert not path.exists()
    download(server.url, path, SHA256)
    assert_complete(path)


def test_an_answer_with_another_range_is_refused(server, path, part, monkeypatch):
    part.write_bytes(CONTENT[:CUT])
    start = Handler.start
    monkeypatch.setattr(Handler, "start", lambda self, at, asked: start(self, at - 1, asked))
    with pytest.raises(OSError, match=rf"'bytes {CUT - 1}-.*to 'bytes {CUT}-'; the part was rem"):
        download(server.url, path, SHA256)
    assert not part.exists()


# Processes


def fetch_in_process(server, path):
    """Start a download in a process of its own; it says so before it begins."""
    code = (
        "import pathlib, runpy, sys; _, module, url, path, checksum = sys.argv; "
        "print('here', flush=True); download = runpy.run_path(module)['download']; "
        "download(url, pathlib.Path(path), checksum)"
    )
    command = [sys.executable, "-c", code, downloads.__file__, server.url, str(path), SHA256]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def wait_for_half(part):
    for _ in range(600):
        if part.exists() and part.stat().st_size == CUT:
            return
        time.sleep(0.05)
    pytest.fail("the first half of the file did not arrive")


def test_a_killed_process_leaves_what_it_has(server, path, part):
    server.go_on.clear()
    with fetch_in_process(server, path) as process:
        wait_for_half(part)
        process.kill()
    server.go_on.set()
    assert part.read_bytes() == CONTENT[:CUT]
    download(server.url, path, SHA256)
    assert server.asked == [None, f"bytes={CUT}-"]
    assert_complete(path)


def test_two_processes_share_one_download(server, path, part):
    server.go_on.clear()
    with fetch_in_process(server, path) as first, fetch_in_process(server, path) as second:
        wait_for_half(part)
        time.sleep(0.2)  # the second one is at the lock by now, or comes later: both must work
        assert first.poll() is second.poll() is None
        server.go_on.set()
        assert first.wait(60) == second.wait(60) == 0
    assert server.asked == [None]
    assert_complete(path)


def test_the_next_process_continues_what_a_killed_one_left(server, path, part):
    server.go_on.clear()
    with fetch_in_process(server, path) as first:
        wait_for_half(part)
        with fetch_in_process(server, path) as second:
            first.kill()
            server.go_on.set()
            assert second.wait(60) == 0
    assert server.asked == [None, f"bytes={CUT}-"]
    assert_complete(path)


# Folders and addresses


@pytest.fixture
def registered(server, tmp_path, monkeypatch):
    """A name with a checksum and two addresses, below a folder."""
    mirrors = (f"{server.url}/first", f"{server.url}/second")
    monkeypatch.setitem(files.ADDRESSES, "folder", mirrors)
    monkeypatch.setitem(files.CHECKSUMS, "folder/file.bin", SHA256)
    return partial(locate, "folder/file.bin", tmp_path)


def test_a_file_is_downloaded_once(server, registered, path):
    assert registered() == path
    assert_complete(path)
    assert registered() == path
    assert server.asked == [None]


def test_the_next_mirror_continues(server, registered, path):
    server.breaks = 1
    assert registered() == path
    assert server.asked == [None, f"bytes={CUT}-"]
    assert_complete(path)


def test_mirrors_are_tried_until_the_checksum_fits(server, registered, path):
    server.absent, server.content = ["/first/file.bin"], b"error page"
    with pytest.raises(DatasetError, match=r"(?s)first.*404.*second.*sha256 .*removed") as caught:
        registered()
    assert str(path) in str(caught.value)
    assert [file.name for file in path.parent.iterdir()] == [".lock"]
    server.content = CONTENT
    registered()
    assert_complete(path)


@pytest.fixture
def no_network(monkeypatch):
    """Downloads go to a port where nobody listens."""
    unreachable = ("http://127.0.0.1:9/first", "http://127.0.0.1:9/second")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(files, "ADDRESSES", dict.fromkeys(files.ADDRESSES, unreachable))


def test_a_wrong_checksum_is_named_and_the_file_kept(tmp_path, no_network):
    path = tmp_path / "handwriting" / "handwrit.rda"
    path.parent.mkdir()
    path.write_bytes(b"mine")
    with pytest.raises(DatasetError) as caught:
        fetch_handwriting(tmp_path)
    for part in (str(path), hashlib.sha256(b"mine").hexdigest(), "8a17c79a", "left as it is"):
        assert part in str(caught.value)
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("fetch", "name"),
    [
        (fetch_mnist, "mnist/train-images-idx3-ubyte.gz"),
        (fetch_handwriting, "handwriting/handwrit.rda"),
        (fetch_curves, "curves/growth.rda"),
        (fetch_neurons, "neurons/motor_ctx_data.npz"),
        (fetch_eeg, "eeg/eegdata.rda"),
        (fetch_errp, "errp/Subject01_s1.mat"),
    ],
)
def test_without_network_the_error_says_what_to_do(tmp_path, no_network, fetch, name):
    with pytest.raises(DatasetError) as caught:
        fetch(data_home=tmp_path)
    file = name.split("/")[1]
    for part in (str(tmp_path / name), f"first/{file}", f"second/{file}", "GTPCA_DATA", "by hand"):
        assert part in str(caught.value)
    assert not (tmp_path / name).exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path, server, registered):
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(DatasetError, match=r"(?s)file\.bin is not at .*exists.*by hand"):
        registered()


@pytest.mark.parametrize(
    ("platform", "variable", "folder"),
    [
        ("linux", "XDG_CACHE_HOME", "~/.cache"),
        ("win32", "LOCALAPPDATA", "~/AppData/Local"),
        ("darwin", None, "~/Library/Caches"),
    ],
)
def test_cache_folder(tmp_path, monkeypatch, platform, variable, folder):
    monkeypatch.setattr(files.sys, "platform", platform)
    monkeypatch.delenv(variable or "XDG_CACHE_HOME", raising=False)
    assert files._cache_folder() == Path(folder) / "gtpca"
    if variable:
        monkeypatch.setenv(variable, str(tmp_path))
        assert files._cache_folder() == tmp_path / "gtpca"


def test_cache_folder_is_the_last_resort(tmp_path, no_network, monkeypatch):
    monkeypatch.delenv("GTPCA_DATA", raising=False)
    monkeypatch.setattr(files, "_cache_folder", lambda: tmp_path / "gtpca")
    with pytest.raises(DatasetError, match=r"handwrit\.rda") as caught:
        fetch_handwriting()
    assert str(tmp_path / "gtpca" / "handwriting") in str(caught.value)


@pytest.mark.skipif(not os.environ.get("GTPCA_DATA"), reason="GTPCA_DATA is not set")
def test_real_mnist_md5():
    path = locate("mnist/train-images-idx3-ubyte.gz", None)
    assert hashlib.md5(path.read_bytes()).hexdigest() == "f68b3c2dcbeaaa9fbdd348bbdeb94873"
