"""Counts with nouns, long values made short, names meant, and the command that resumes a run."""

import difflib
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_RESUME: ContextVar[str] = ContextVar("_RESUME", default="kgitops apply --resume")
_LONGEST = 60
_CONTEXT = 8
_NEAR = 0.65
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def counted(count: int, noun: str) -> str:
    """``1 topic``, ``2 topics``, ``2 client metrics``; thousands are set apart."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("metrics"):
        return f"{count:,} {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{count:,} {plural}"


def enumerated(words: Iterable[str], last: str = "or") -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    *others, end = words
    return f"{', '.join(others)} {last} {end}" if others else end


def format_version_text(version: object) -> str:
    """``is of format version '2.0'``, or ``has no format version``, of a file."""
    if version is None:
        return "has no format version"
    return f"is of format version {str(version)[:20]!r}"


def shortened(text: str, limit: int = _LONGEST) -> str:
    """``text`` with its middle left out and its length told, when longer than ``limit``."""
    if len(text) <= limit:
        return text
    note = f"...({len(text)} characters)..."
    keep = max(limit - len(note), 2 * _CONTEXT)
    return f"{text[: keep - keep // 3]}{note}{text[len(text) - keep // 3 :]}"


def shortened_pair(before: str, after: str, limit: int = _LONGEST) -> tuple[str, str]:
    """Both values, each begun shortly before the first difference when one is too long."""
    if len(before) <= limit and len(after) <= limit:
        return before, after
    start = max(_common(before, after) - _CONTEXT, 0)
    # What is alike is left out only where that saves something.
    start = 0 if start <= 2 * _CONTEXT else start
    return _from(before, start, limit), _from(after, start, limit)


def _common(before: str, after: str) -> int:
    pairs = zip(before, after, strict=False)
    return next(
        (at for at, (old, new) in enumerate(pairs) if old != new), min(len(before), len(after))
    )


def _from(text: str, start: int, limit: int) -> str:
    if not start:
        return shortened(text, limit)
    rest = text[start:]
    if len(rest) <= limit:
        return f"...({start} alike)...{rest}"
    return f"...({start} alike)...{shortened(rest, limit)}"


def resume_command() -> str:
    """Return the command that resumes an unfinished run on the cluster of this block."""
    return _RESUME.get()


def resume_command_of(cluster: str, folder: str | None) -> str:
    """Return the command that resumes on the cluster called so, for a shell.

    ``folder`` is the project's as the user types it; None for the current one.
    """
    words = ("kgitops", "apply", "--resume", "-c", cluster, *([] if folder is None else [folder]))
    return shlex.join(words)


@contextmanager
def resumed_by(command: str) -> Iterator[None]:
    """Let messages within this block name this command."""
    token = _RESUME.set(command)
    try:
        yield
    finally:
        _RESUME.reset(token)


def nearest(name: object, known: Iterable[str], *, cutoff: float = _NEAR) -> str | None:
    """The one of ``known`` that is spelled most like ``name``; None if none is near.

    Capitals don't matter, nor the order of words: ``TopicCreate`` is ``CreateTopic``.
    """
    by_folded = {one.casefold(): one for one in known}
    words = _words(str(name))
    for one in by_folded.values():
        if len(words) > 1 and _words(one) == words:
            return one
    near = difflib.get_close_matches(str(name).casefold(), by_folded, n=1, cutoff=cutoff)
    return by_folded[near[0]] if near else None


def _words(name: str) -> list[str]:
    return sorted(word.casefold() for word in _WORDS.findall(name))
