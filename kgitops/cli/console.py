"""Where text goes: results to stdout, everything else to stderr, colour only to a terminal."""

import os
import shutil
import sys
from pathlib import Path
from typing import TextIO

from kgitops.model.errors import FindingsError, KgitopsError, UnreachableError

_WIDEST = 160
_NARROWEST = 80


def wants_colour(stream: TextIO, *, no_color: bool) -> bool:
    """Colour is for terminals; ``NO_COLOR`` and ``--no-color`` turn it off (no-color.org)."""
    if no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def text_width() -> int:
    """The terminal's width within what reads well."""
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((100, 24)).columns))


def print_result(text: str) -> None:
    """The result of a command, and nothing else, goes to stdout."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    sys.stdout.flush()


def print_notice(text: str) -> None:
    """Something a person should know, on stderr."""
    from kgitops.report.safe_text import terminal_text

    print(terminal_text(text), file=sys.stderr)


def print_error(error: KgitopsError | str) -> None:
    """One sentence; findings one a line with their places."""
    from kgitops.report.safe_text import terminal_text

    if isinstance(error, FindingsError):
        for finding in error.findings:
            print(terminal_text(str(finding)), file=sys.stderr)
        count = len(error.findings)
        print(f"{count} finding{'s' if count != 1 else ''}.", file=sys.stderr)
        return
    print(f"kgitops: {terminal_text(str(error))}", file=sys.stderr)


def write_file(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all.

    Raises:
        UnreachableError: the file can't be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.touch(mode=0o600)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UnreachableError(
            f"{path} can't be written: {error.strerror}; choose another place with -o"
        ) from error
