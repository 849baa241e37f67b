"""Calls of real clients on a served cluster: which passed, by family."""

import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from other_processes import running
from serve.clients.matrix import PASSED

PATIENCE_S = 240
_PASSED, _FAILED = "ok", "failed"


class ClientCall(Struct, frozen=True, kw_only=True):
    """One call of a client; ``problem`` is what was wrong, empty if it passed."""

    family: str
    name: str
    problem: str = ""


class Calls:
    """Makes the calls of a Python client one after the other."""

    def __init__(self) -> None:
        self.made: list[ClientCall] = []

    def of(self, family: str) -> Callable[[str, object, Callable[[], object]], None]:
        """Make calls of one family."""
        return partial(self.call, family)

    def call(self, family: str, name: str, expected: object, body: Callable[[], object]) -> None:
        """Make a call and compare what it returns; of an error its class is what it returns."""
        said = ""
        try:
            found = body()
        except Exception as error:  # noqa: BLE001 (of a library, whatever it is)
            found, said = type(error).__name__, f" {error}"
        problem = "" if found == expected else f"{found!r}{said}, not {expected!r}"
        self.made.append(ClientCall(family=family, name=name, problem=problem))


def run(
    words: Sequence[str | Path], *, patience_s: float = PATIENCE_S, **options: object
) -> Sequence[ClientCall]:
    """Run a program that prints a line for each of its calls: the calls."""
    text = output(words, patience_s=patience_s, **options)
    rows = (line.split("\t") for line in text.splitlines())
    calls = [
        ClientCall(family=row[1], name=row[2], problem="" if row[0] == _PASSED else row[3])
        for row in rows
        if row[0] in {_PASSED, _FAILED}
    ]
    assert calls, text[-3000:]
    return calls


def output(
    words: Sequence[str | Path], *, patience_s: float = PATIENCE_S, **options: object
) -> str:
    """All that a program prints; it is killed when patience ends, and what it printed counts."""
    with running(
        [*map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,  # type: ignore[call-overload]
    ) as process:
        timer = threading.Timer(patience_s, process.kill)
        timer.start()
        try:
            text, _ = process.communicate()
        finally:
            timer.cancel()
            process.kill()
    return text


def check(client: str, calls: Sequence[ClientCall]) -> None:
    """All calls passed, and they are as many of each family as the table in the docs says."""
    failed = [f"{call.family}, {call.name}: {call.problem}" for call in calls if call.problem]
    assert not failed, "\n".join(failed)
    assert counts(calls) == PASSED[client]


def counts(calls: Sequence[ClientCall]) -> Mapping[str, int]:
    """The number of calls that passed, by family."""
    return Counter(call.family for call in calls if not call.problem)
