"""Nobody reads what a loop writes to stdout: it goes on, tells others, and ends when told to."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from cli.projects import topic
from patience import eventually
from reconcile.notifications.receivers import receiver
from reconcile.turning import Turns


class Pipe(NamedTuple):
    """Both ends of a pipe that takes no byte more."""

    read: int
    write: int


@pytest.fixture
def full_pipe() -> Iterator[Pipe]:
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"\n" * 4096)
    except BlockingIOError:
        os.set_blocking(write, True)
    yield Pipe(read, write)
    os.close(read)
    os.close(write)


@contextmanager
def looping(turns: Turns, pipe: Pipe, *words: str, **environ: str) -> Iterator[None]:
    """A loop that writes to the pipe alone; at the end it ends when it is told to."""
    command = [sys.executable, "-m", "kgitops", "reconcile", turns.project.folder, *words]
    loop = subprocess.Popen(
        [*command, "--interval", "1s"],
        stdout=pipe.write,
        stderr=pipe.write,
        env={**os.environ, **environ},
    )
    try:
        yield
        assert loop.poll() is None
        loop.send_signal(signal.SIGTERM)
        assert loop.wait(60) == 143
    finally:
        loop.kill()
        loop.wait()


def test_turns_go_on_and_others_are_told(tmp_path: Path, full_pipe: Pipe) -> None:
    turns = Turns(tmp_path / "payments")
    chat = {"name": "chat", "webhook": {"url": {"env": "CHAT_URL"}}, "events": ["applied"]}
    turns.reconcile["notifications"] = [chat]
    turns.declare(topic("first"))
    with receiver() as told, looping(turns, full_pipe, "--format", "json", CHAT_URL=told.url):
        told.wait_for(1)
        turns.declare(topic("first"), topic("second"))
        told.wait_for(2)
        line = eventually(lambda: os.read(full_pipe.read, 1 << 16).strip(), what="a line")
        assert json.loads(line.splitlines()[0])["type"] == "turn", "what waited is written"


def test_it_ends_when_it_is_told_to(tmp_path: Path, full_pipe: Pipe) -> None:
    turns = Turns(tmp_path / "payments").declare(topic("first"))
    with looping(turns, full_pipe):
        eventually(
            lambda: turns.topics() if turns.project.store.exists() else (),
            lambda topics: "first" in topics,
            what="the first turn makes its topic",
        )
