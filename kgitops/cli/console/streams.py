"""Output: results to stdout, all else and logs to stderr, colour only to a terminal."""

import logging
import os
import shutil
import sys
from contextlib import suppress
from enum import StrEnum
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
