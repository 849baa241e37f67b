"""What a test opens and leaves behind fails it: threads, processes, files and sockets.

A test is looked at when it has ended. While a fixture lives that serves several tests and holds
something open, nobody can tell whose a late thread is: then it is the fixture that is looked at,
when it ends itself. Tests of a tier share what they start, and are not looked at. Where there is no
/proc, only threads are noticed.
"""

import gc
import os
import re
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path

import pytest
from patience import eventually
from tiers import TIERS

_PROC = "/proc/self"
_HAS_PROC = Path(_PROC).is_dir()
_ONCE = re.compile(
    r"thread \(execnet|thread pyspark"
    r"|process .*(?:multiprocessing\.(?:resource_tracker|forkserver)|forked_kills)"
    r"|file /dev/shm/pym-.*"  # the heap that multiprocessing keeps
    r"|file (?:/dev/null|/dev/urandom|/proc/.*|anon_inode:.*)$"
)
"""What is opened once for all tests of a process."""

_holding: list[pytest.FixtureDef[object]] = []
"""The fixtures of several tests that live and hold something open."""


def opened() -> dict[str, str]:
    """All that this process has open, by what it is for good, in words.

    Every test asks twice. With ``pathlib`` that took seven times as long.
    """
    found = {f"thread {it.ident}": f"thread {it.name}" for it in threading.enumerate()}
    if _HAS_PROC:
        found |= _files()
        found |= _children()
    return {what: words for what, words in found.items() if not _ONCE.match(words)}


def _files() -> Iterator[tuple[str, str]]:
    for number in os.listdir(f"{_PROC}/fd"):  # noqa: PTH208
        with suppress(FileNotFoundError):  # that of the listing itself
            target = os.readlink(f"{_PROC}/fd/{number}")  # noqa: PTH115
            yield f"file {number} {target.removesuffix(' (deleted)')}", f"file {target}"


def _children() -> Iterator[tuple[str, str]]:
    for task in os.listdir(f"{_PROC}/task"):  # noqa: PTH208
        with suppress(FileNotFoundError, ProcessLookupError):
            for pid in _read(f"{_PROC}/task/{task}/children").decode().split():
                words = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode()
                yield f"process {pid}", f"process {pid} {words or '(ended, not waited for)'}"


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.readall()


def check(before: Mapping[str, str], whose: str) -> None:
    """Fail where more is open than before.

    What was opened lately is collected with the young: to look at everything takes seconds, late in
    a run.
    """
    left = partial(_left, before)
    for generation in range(3):
        if not left():
            return
        gc.collect(generation)
    eventually(left, lambda words: not words, what=f"{whose} leaves nothing open")


def _left(before: Mapping[str, str]) -> list[str]:
    return sorted(words for what, words in opened().items() if what not in before)


def is_looked_at(item: pytest.Item) -> bool:
    """Return whether the test is in no tier."""
    return not any(map(item.get_closest_marker, TIERS))


def pytest_sessionstart() -> None:
    """What one test starts for all that follow is there before the first."""
    resource_tracker.ensure_running()


@pytest.fixture(autouse=True)
def _nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    before = opened()
    yield
    if not _holding and is_looked_at(request.node):
        check(before, request.node.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Look at a fixture of several tests when it has ended: what is added first ends last."""
    if fixturedef.scope == "function":
        return (yield)
    before = opened()
    is_checked = is_looked_at(request._pyfuncitem)
    fixturedef.addfinalizer(partial(_ended, fixturedef, before, is_checked=is_checked))
    made = yield
    if opened().keys() - before.keys():
        _holding.append(fixturedef)
    return made


def _ended(
    fixturedef: pytest.FixtureDef[object], before: Mapping[str, str], *, is_checked: bool
) -> None:
    if fixturedef in _holding:
        _holding.remove(fixturedef)
        fixturedef.cached_result = None  # as pytest does after this
        if is_checked and not _holding:
            check(before, f"the fixture {fixturedef.argname}")
