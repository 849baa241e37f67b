"""Which Spark a command runs on, alike for all that need one."""

from collections.abc import Sequence
from typing import Annotated

import typer

from kgitops.model.errors import UsageError

Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Run on this Spark: spark://HOST:7077, yarn, k8s://URL, local[4]. "
        "Default: this machine, all cores.",
        show_default=False,
    ),
]
Remote = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Run by Spark Connect: sc://HOST:15002.", show_default=False),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE", help="A setting of Spark; may be given again.", show_default=False
    ),
]


def read_conf(given: Sequence[str]) -> dict[str, str]:
    """The settings by key.

    Raises:
        UsageError: one is not KEY=VALUE, or a key is there twice.
    """
    conf: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UsageError(f"--conf {text}: write KEY=VALUE, as in spark.driver.memory=4g")
        if key in conf:
            raise UsageError(f"--conf {key} is given twice; keep one of them")
        conf[key] = value
    return conf
