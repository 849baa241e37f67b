"""How far the tasks of a fleet are: a bar on a terminal's stderr that is gone in the end."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kgitops.cli.running.progress import new_bar
from kgitops.fleet.spark.progress import OnProgress, untold

if TYPE_CHECKING:
    from kgitops.fleet.spark.progress import TaskProgress


@contextmanager
def task_bar(what: str, *, no_color: bool) -> Iterator[OnProgress]:
    """A bar that says ``what`` is done, and that Spark is starting while nothing runs yet."""
    if not sys.stderr.isatty():
        yield untold
        return
    with new_bar(no_color=no_color) as bar:
        task = bar.add_task("starting Spark", total=None)

        def show(progress: "TaskProgress") -> None:
            begun = progress.done or progress.active
            with suppress(OSError):
                bar.update(
                    task,
                    description=f"{what} ({progress.active} at work)" if begun else "waiting",
                    total=progress.total,
                    completed=progress.done,
                )

        yield show
