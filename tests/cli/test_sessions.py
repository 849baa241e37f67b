"""Sessions: what a user types and all that is printed, a file each.

``pytest tests/cli/test_sessions.py --snapshot-update`` writes what is printed now; read it in
review. In a file,

- ``#: …`` says what the session is about, and cites rules;
- ``-- name --`` writes the lines below it to that file;
- ``$ kgitops …`` runs the command; ``NAME=value`` before it sets the environment (``NOW`` is the
  moment that it takes for now), ``> name`` after it writes stdout to a file, ``| …`` gives that to
  a command of the shell, and ``2>&1`` adds stderr. ``$ cd …`` and ``$ sed -i s/old/new/ name`` are
  known too, and other lines are run by the shell. Below stands what is printed (stderr after
  ``! ``) and the exit code in brackets, if it isn't 0.

``$CLUSTER`` is an embedded cluster; a session that names it also runs on a lowered one. A line that
only one of them prints has the name of it before it.
"""

import re
import shlex
import subprocess
from collections.abc import Iterator
from datetime import datetime
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran
from cli.policed import in_process

from kgitops.model.clock import SystemClock

__all__ = ["in_process"]

SESSIONS = sorted(Path(__file__).with_name("sessions").glob("*.session"))
NATIVE = "embedded:local.db"
LOWERED = f"{NATIVE}?virtual.clusters=lowered"
MARKS = {NATIVE: "native: ", LOWERED: "lowered: "}
STEP = re.compile(r"^(?:#: |\$ |-- \S+ --$)")
LINE = re.compile(
    r"(?P<set>(?:[A-Z_]+=\S* )*)(?P<command>kgitops.*?|.*)(?: 2>&1)?(?: (?P<to>[|>]) (?P<rest>.*))?"
)
VARIES = re.compile(
    r"\d{8}T\d{6}Z-[0-9a-f]{8}"  # a run
    r"|sha256:[0-9a-f]+"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)?"
    r"|(?<=\bid )[\w-]{22}\b"
    r'|(?<=\bclusterId: )"?[\w-]{22}\b"?|(?<=\bclusterId is )[\w-]{22}\b'
)


def cases() -> Iterator[object]:
    """Each session, on both kinds of clusters if it names one."""
    for file in SESSIONS:
        yield pytest.param(file, NATIVE, id=file.stem)
        if "$CLUSTER" in file.read_text():
            yield pytest.param(file, LOWERED, id=f"{file.stem}-lowered")


def steps(text: str) -> list[list[str]]:
    """What is said, written or run, each with the lines below it."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if STEP.match(line):
            found.append([])
        found[-1].append(line)
    return found


class Session:
    """A session while it runs."""

    def __init__(self, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
        self._kgitops = kgitops
        self._monkeypatch = monkeypatch
        self._url = url

    def seen(self, text: str) -> str:
        """The session's text with what is printed now."""
        return "\n".join(
            chain.from_iterable(self._seen(first, rest) for first, *rest in steps(text))
        )

    def _seen(self, first: str, rest: list[str]) -> list[str]:
        if first.startswith("$ "):
            seen = self._run(first[2:].replace("$CLUSTER", self._url))
            spaced = rest[-1:] == [""] and seen[-1:] != [""]
            return [first, *seen, ""] if spaced else [first, *seen]
        if first.startswith("-- "):
            content = "\n".join(rest).replace("$CLUSTER", self._url).rstrip("\n")
            file = Path(first[3:-3])
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{content}\n")
        return [first, *rest]

    def _run(self, line: str) -> list[str]:
        found = LINE.fullmatch(line)
        assert found
        words = shlex.split(found["command"])
        with self._monkeypatch.context() as patch:
            for name, value in (word.split("=", 1) for word in shlex.split(found["set"])):
                if name == "NOW":
                    moment = datetime.fromisoformat(value)
                    patch.setattr(SystemClock, "now", lambda _, now=moment: now)
                patch.setenv(name, value)
            match words:
                case ["kgitops", *said]:
                    ran = self._kgitops(*said)
                    if found["to"]:
                        both = "2>&1" in line
                        rest = found["rest"] if found["to"] == "|" else f"cat > {found['rest']}"
                        read = shell(rest, ran.out + ran.err * both)
                        ran = Ran(ran.code, read.out, ran.err * (not both) + read.err)
                case ["cd", name]:
                    self._monkeypatch.chdir(name)
                    return []
                case ["sed", "-i", change, *names]:
                    _, old, new, _ = change.split(change[1])
                    for file in map(Path, names):
                        text, count = re.subn(old, new, file.read_text(), flags=re.MULTILINE)
                        assert count, f"{file} has no {old}"
                        file.write_text(text)
                    return []
                case _:
                    ran = shell(line)
        said = [*self._shown(ran.out), *(f"! {line}".rstrip() for line in self._shown(ran.err))]
        return [*said, f"[{ran.code}]"] if ran.code else said

    def _shown(self, text: str) -> list[str]:
        lines = VARIES.sub("…", text.replace(self._url, "$CLUSTER")).splitlines()
        assert not [line for line in lines if STEP.match(line)], "would read as a step"
        return lines


def shell(line: str, given: str = "") -> Ran:
    """What the shell makes of a line."""
    done = subprocess.run(
        ["sh", "-c", line], input=given, capture_output=True, text=True, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def only(url: str, text: str) -> str:
    """The session's text as it is on one kind of cluster."""
    mine, others = MARKS[url], {*MARKS.values()} - {MARKS[url]}
    lines = [line for line in text.splitlines() if not line.startswith(tuple(others))]
    return "\n".join(line.removeprefix(mine) for line in lines) + "\n"


def together(native: str, lowered: str) -> str:
    """One text for both kinds of clusters."""
    texts = native.splitlines(), lowered.splitlines()
    merged: list[str] = []
    for what, *spans in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        first, second = texts[0][spans[0] : spans[1]], texts[1][spans[2] : spans[3]]
        if what == "equal":
            merged += first
        else:
            merged += [MARKS[NATIVE] + line for line in first]
            merged += [MARKS[LOWERED] + line for line in second]
    return "\n".join(merged) + "\n"


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(("file", "url"), list(cases()))
def test_a_session_prints_what_its_file_says(
    file: Path,
    url: str,
    kgitops: Kgitops,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    text = file.read_text()
    expected = only(url, text)
    seen = Session(kgitops, monkeypatch, url).seen(expected).rstrip("\n") + "\n"
    if request.config.option.update_snapshots:
        both = {NATIVE: only(NATIVE, text), LOWERED: only(LOWERED, text), url: seen}
        file.write_text(together(*(both.values() if "$CLUSTER" in text else (seen, seen))))
    else:
        assert seen == expected
