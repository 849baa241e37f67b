"""Options that take several values one after another, as well as being given several times."""

from collections.abc import Iterable, Iterator
from typing import Any

from typer.core import TyperCommand

from kgitops.model.errors import UsageError


def command_with(*names: str) -> type[TyperCommand]:
    """A command whose options of these names take all that follows, up to the next option."""

    class ManyValues(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 (click's own)
            """Spell out what stands after one another."""
            return super().parse_args(ctx, list(spelt_out(args, names)))

    return ManyValues


def spelt_out(args: Iterable[str], names: tuple[str, ...]) -> Iterator[str]:
    """``--state a b`` as ``--state a --state b``.

    Raises:
        UsageError: nothing follows one, so that it would take the next option for its value.
    """
    option, follows = None, 0
    for arg in args:
        if arg.startswith("-"):
            _check_follows(option, follows)
            option, follows = (arg, 0) if arg in names else (None, 0)
            yield arg
            continue
        if option is not None and follows:
            yield option
        follows += 1
        yield arg
    _check_follows(option, follows)


def _check_follows(option: str | None, follows: int) -> None:
    if option is not None and not follows:
        raise UsageError(f"option '{option}' requires an argument")
