"""The start and the end of commands that listen: the line that says ready, and signals."""

import asyncio
from contextlib import suppress
from pathlib import Path

from kgitops.cli.running.signals import handled_signals
from kgitops.cli.running.streams import check_place, is_special, print_result, write_file

_OPTION = "--ready-file"


def check_ready_file(file: Path | None) -> None:
    """Refuse a place that can't be written.

    Raises:
        UsageError: the file can't be there.
    """
    check_place(file, _OPTION)


def say_ready(url: str, file: Path | None) -> None:
    """Print that clients can connect, and write it into the file, if there is one to be."""
    line = f"ready {url}"
    if file:
        write_file(file, [f"{line}\n"], _OPTION)
    print_result(line)


def remove_ready_file(file: Path | None) -> None:
    """Remove the file, but no pipe or device that took its place."""
    if file is not None and not is_special(file):
        with suppress(OSError):
            file.unlink(missing_ok=True)


def end_on_signals() -> asyncio.Event:
    """An event of the running loop that the first signal sets; a second one ends the process."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = handled_signals()

    def end() -> None:
        ended.set()
        for number in signals:
            loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, end)
    return ended
