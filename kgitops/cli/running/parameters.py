"""Parameters of commands as typer does not have them: groups of options, and lists of values."""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields
from typer.core import TyperCommand, TyperOption

from kgitops.model.errors import UsageError

R = TypeVar("R")


def with_groups(command: Callable[..., R]) -> Callable[..., R]:
    """Expand each parameter that is a struct of options into these options, in its place.

    On the command line every field is an option of its own; the command itself gets the struct.
    """
    declared = signature(command, eval_str=True)
    groups: dict[str, type[Struct]] = {}
    parameters: list[Parameter] = []
    for parameter in declared.parameters.values():
        group = parameter.annotation
        if isinstance(group, type) and issubclass(group, Struct):
            groups[parameter.name] = group
            parameters += _parameters(group)
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def expanded(**values: object) -> R:
        grouped = {
            name: group(**{field: values.pop(field) for field in group.__struct_fields__})
            for name, group in groups.items()
        }
        return command(**values, **grouped)

    # Typer reads both.
    vars(expanded)["__signature__"] = declared.replace(parameters=parameters)
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


def _parameters(group: type[Struct]) -> Iterator[Parameter]:
    """The fields of a struct as keyword parameters."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        yield Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is NODEFAULT else field.default,
            annotation=hints[field.name],
        )


class SingleValues(TyperCommand):
    """A command that refuses a repeated option, as Kafka's own tools do, instead of dropping it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 (click's own)
        """Refuse an option that is given twice, and kafka-acls' flag ``--cluster``.

        Raises:
            UsageError: there is one.
        """
        _, _, options = self.make_parser(ctx).parse_args(list(args))
        for option in options:
            takes_one = isinstance(option, TyperOption) and not (option.multiple or option.is_flag)
            if takes_one and options.count(option) > 1:
                raise UsageError(f"{max(option.opts, key=len)} is given twice; drop one of them")
        rest = list(super().parse_args(ctx, args))
        cluster = ctx.params.get("cluster")
        if cluster and cluster.startswith("--"):
            raise UsageError(
                f"--cluster names the cluster to connect to, and {cluster} is none; the resource "
                "of an ACL is --cluster-resource"
            )
        return rest


def many_values(*names: str) -> type[TyperCommand]:
    """A command class whose options of these names take all values up to the next option."""

    class ManyValues(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 (click's own)
            """Repeat the option before each of its values."""
            return super().parse_args(ctx, list(repeat_options(args, names)))

    return ManyValues


def repeat_options(args: Iterable[str], names: tuple[str, ...]) -> Iterator[str]:
    """``--state a b`` as ``--state a --state b``.

    Raises:
        UsageError: an option has no value, and would take the next option for it.
    """
    option, count = None, 0
    for arg in args:
        if arg.startswith("-"):
            _check_value(option, count)
            option, count = (arg, 0) if arg in names else (None, 0)
            yield arg
            continue
        if option is not None and count:
            yield option
        count += 1
        yield arg
    _check_value(option, count)


def _check_value(option: str | None, count: int) -> None:
    if option is not None and not count:
        raise UsageError(f"option '{option}' requires an argument")
