"""Output: results to stdout or a file, all else and logs to stderr, colour only to a terminal."""

import logging
import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TextIO

from kgitops.model.errors import KgitopsError, UsageError

_WIDEST = 160
_NARROWEST = 80
# At level DEBUG kafka-python logs every byte that it sends, passwords included.
_LOGGERS = {"kgitops": logging.DEBUG, "kafka": logging.INFO}


def wants_colour(stream: TextIO, *, no_color: bool) -> bool:
    """True for a terminal, unless ``NO_COLOR`` or ``--no-color`` turns colour off (no-color.org).

    ``FORCE_COLOR`` turns it on without a terminal, as in the log of a CI job (force-color.org).
    """
    if no_color or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def text_width() -> int:
    """The terminal's width within what reads well."""
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((100, 24)).columns))


def agreed(question: str, *, otherwise: str) -> bool:
    """True if a person at a terminal answers ``yes``.

    Raises:
        UsageError: there is nobody to ask; ``otherwise`` says what to do then.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(f"there is nobody to ask; {otherwise}")
    print(f"{question} Only 'yes' is taken: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == "yes"


def print_result(text: str) -> None:
    """Print the result of a command to stdout, where nothing else goes.

    A reader that has gone away (``| head``) has what it wanted: that is not a failure.

    Raises:
        KgitopsError: stdout can't be written.
    """
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except OSError as error:
        _give_up_stdout()
        if not isinstance(error, BrokenPipeError):
            reason = (error.strerror or str(error)).lower()
            raise KgitopsError(f"stdout can't be written: {reason}; send it elsewhere") from error


def print_sentence(text: str) -> None:
    """Print a result that is plain text, in which names from files and clusters do nothing.

    Raises:
        KgitopsError: stdout can't be written.
    """
    from kgitops.report.content.safe_text import guarded_line, terminal_text

    print_result("\n".join(guarded_line(terminal_text(line)) for line in text.split("\n")))


def print_json(text: str) -> None:
    """Print a result in JSON, with escapes for what a terminal would act on.

    Raises:
        KgitopsError: stdout can't be written.
    """
    from kgitops.serve.printable import printable_json

    print_result("\n".join(map(printable_json, text.split("\n"))))


def end_log() -> None:
    """Let go of what stdout still does not take, which would fail when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        _give_up_stdout()


def print_notice(text: str) -> None:
    """Print something that a person should know to stderr."""
    from kgitops.report.content.safe_text import guarded_line, terminal_text

    with suppress(OSError):
        for line in text.split("\n"):
            print(guarded_line(terminal_text(line)), file=sys.stderr)


def _give_up_stdout() -> None:
    """Discard buffered output, which would fail again when the process ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class LogLevel(StrEnum):
    """The levels of ``--log-level``."""

    WARNING = "warning"
    DEBUG = "debug"


def show_logs(level: LogLevel) -> None:
    """Write log lines to stderr at level DEBUG; at any other nothing is logged."""
    if level is not LogLevel.DEBUG:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name, least in _LOGGERS.items():
        logger = logging.getLogger(name)
        logger.setLevel(least)
        logger.addHandler(handler)


def check_place(path: Path | None, option: str = "-o") -> None:
    """Refuse an impossible value of ``option`` before any work is done for it.

    Raises:
        UsageError: no file can be written there.
    """
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}; make it first")
    if not os.access(path if is_special(path) else path.parent, os.W_OK):
        raise UsageError(
            f"{option} {path} can't be written: permission denied; choose another place"
        )


def write_file(path: Path, parts: Iterable[str], option: str = "-o") -> None:
    """Write a file from parts of its text; a device or a pipe is written to, never replaced.

    Raises:
        KgitopsError: it can't be written.
    """
    try:
        if is_special(path):
            _write(path, parts)
        else:
            _replace(Path(os.path.realpath(path)), parts)
    except OSError as error:
        raise KgitopsError(
            f"{path} can't be written: {(error.strerror or str(error)).lower()}; choose another "
            f"place with {option}"
        ) from error


def is_special(path: Path) -> bool:
    """True of pipes and devices, /dev/stdout too where it leads to a file; /dev/shm is a folder."""
    in_dev = path.parts[:2] == ("/", "dev") and path.parts[2:3] != ("shm",)
    return in_dev or (path.exists() and not path.is_file())


def _replace(path: Path, parts: Iterable[str]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.touch(mode=0o600)
        _write(draft, parts)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _write(path: Path, parts: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(parts)
