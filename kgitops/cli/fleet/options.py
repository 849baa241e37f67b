"""The Spark that a fleet command runs on, and the bar that shows its progress."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from kgitops.model.errors import UsageError

if TYPE_CHECKING:
    from kgitops.fleet.spark.engine import OnProgress, TaskProgress


class SparkOptions(Struct, frozen=True, kw_only=True):
    """The Spark to run on, and its settings."""

    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Run on this Spark: spark://HOST:7077, yarn, k8s://URL, local[4]. "
            "Default: this machine, all cores.",
        ),
    ] = None
    remote: Annotated[
        str | None, typer.Option(metavar="URL", help="Run by Spark Connect: sc://HOST:15002.")
    ] = None
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of Spark; may be given again."),
    ] = None

    def settings(self) -> dict[str, str]:
        """The settings of ``--conf`` by key.

        Raises:
            UsageError: one is not KEY=VALUE, or a key is given twice.
        """
        settings: dict[str, str] = {}
        for text in self.conf or ():
            key, equals, value = text.partition("=")
            if not key or not equals:
                raise UsageError(f"--conf {text}: write KEY=VALUE, as in spark.driver.memory=4g")
            if key in settings:
                raise UsageError(f"--conf {key} is given twice; keep one of them")
            settings[key] = value
        return settings


@contextmanager
def task_bar(verb: str, *, no_color: bool) -> "Iterator[OnProgress]":
    """A bar on a terminal that counts the tasks done, and says so while Spark is starting.

    ``verb`` is what a task has done to its unit, such as ``planned``.
    """
    from kgitops.cli.running.progress import new_bar
    from kgitops.fleet.spark.engine import ignore_progress

    if not sys.stderr.isatty():
        yield ignore_progress
        return
    with new_bar(no_color=no_color) as bar:
        task = bar.add_task("starting Spark", total=None)

        def show(progress: "TaskProgress") -> None:
            begun = progress.done or progress.active
            with suppress(OSError):
                bar.update(
                    task,
                    description=f"{verb} ({progress.active} at work)" if begun else "waiting",
                    total=progress.total,
                    completed=progress.done,
                )

        yield show
