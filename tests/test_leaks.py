"""A test that leaves something open fails, and is told what."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import leaks
import patience
import pytest

Close = Callable[[], object]


def a_file(folder: Path) -> Close:
    return (folder / "left").open("w").close


def a_socket(_folder: Path) -> Close:
    return socket.socket().close


def a_thread(_folder: Path) -> Close:
    going_on = threading.Event()
    thread = threading.Thread(target=going_on.wait, name="left")
    thread.start()
    return lambda: (going_on.set(), thread.join())


def a_process(_folder: Path) -> Close:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    return lambda: process.communicate(b"\n")


def an_ended_process(_folder: Path) -> Close:
    process = subprocess.Popen([sys.executable, "-c", ""])
    return process.wait


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux tells what is open")
@pytest.mark.parametrize(
    ("leave", "told"),
    [
        (a_file, "/left"),
        (a_socket, "socket:"),
        (a_thread, "thread left"),
        (a_process, "process"),
        (an_ended_process, "process"),
    ],
)
def test_what_is_left_open_is_named(
    leave: Callable[[Path], Close], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = leaks.opened()
    close = leave(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(patience, "PATIENCE_S", 0)
        with pytest.raises(AssertionError, match="it leaves nothing open") as caught:
            leaks.check(before, "it")
    assert told in str(caught.value)
    close()
    leaks.check(before, "it")


CONFTEST = """
import leaks, patience

patience.PATIENCE_S = 0


def pytest_configure(config):
    config.pluginmanager.register(leaks)
"""
SERVED = """
import socket

import pytest


@pytest.fixture(scope="module")
def server():
    opened = [socket.socket()]
    yield opened
    opened[0].close()


def test_opens_late(server):
    server.append(socket.socket())


def test_is_served(server):
    pass
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux tells what is open")
def test_a_fixture_of_several_tests_is_looked_at_when_it_ends(tmp_path: Path) -> None:
    """What opens late is the fixture's, and what that leaves fails the last test that it served."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(SERVED)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "no:cacheprovider", tmp_path],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parent),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "ERROR at teardown of test_is_served" in done.stdout
    assert "the fixture server leaves nothing open" in done.stdout
