"""Commands that are imported when they run: until then only their names and help are known."""

from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command


def late(place: str) -> type[TyperCommand]:
    """A command class for what is at ``place``, ``MODULE:NAME``: a function, or a Typer app."""

    class Late(TyperCommand):
        def make_context(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 (click's own)
            """Go on as the command itself."""
            return command_at(place, self.name or "").make_context(*args, **extra)

    return Late


@cache
def command_at(place: str, name: str) -> Any:  # noqa: ANN401 (click's own)
    """The command called ``name`` of what is at ``place``."""
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(add_completion=False, rich_markup_mode=None)
        found.command(name)(function)
    command = get_command(found)
    command.name = name
    return command
