"""The log of a loop: what is written, when, and what is dropped where nobody reads."""

import os
import sys
from contextlib import suppress

import pytest
from patience import eventually

from kgitops.cli.reconcile.loop_log import LoopLog


def test_lines_are_written_at_once_and_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    written = b""

    def read() -> bytes:
        nonlocal written
        with suppress(BlockingIOError):
            written += os.read(reading, 4096)
        return written

    with os.fdopen(reading, "rb"), os.fdopen(writing, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        log = LoopLog(lambda count: f"{count} lines were lost")
        for text, whole in (("one", b"one\n"), ("two\nthree\n", b"one\ntwo\nthree\n")):
            log.put(text)
            eventually(read, whole.__eq__, what=text)
        log.put("four")
        log.close()
        monkeypatch.undo()
        assert read() == b"one\ntwo\nthree\nfour\n"


def test_the_oldest_lines_are_dropped_and_counted_where_nobody_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    filler = 0
    while True:
        try:
            filler += os.write(writing, b"." * 4096)
        except BlockingIOError:
            break
    os.set_blocking(writing, True)
    with os.fdopen(reading, "rb") as pipe, os.fdopen(writing, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        log = LoopLog(lambda count: f"{count} lines were lost", most=2)
        log.put("stuck")
        eventually(lambda: not log._waiting, what="the thread takes the first line")
        for text in ("a", "b", "c", "d"):
            log.put(text)
        pipe.read(filler)
        log.close()
        monkeypatch.undo()
        assert pipe.read1() == b"stuck\n2 lines were lost\nc\nd\n"
