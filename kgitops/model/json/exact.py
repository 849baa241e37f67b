"""Types that are exact about the keys of their objects, for ``codec.py``."""

from collections.abc import Hashable
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo, fields


def exact(kind: Any) -> Any:  # noqa: ANN401 (any annotation)
    """A type like ``kind`` whose objects have exactly the keys that are written.

    msgspec takes a missing key for the field's default, so this one has no defaults.
    """
    return _exact(kind)


@cache
def _exact(kind: Hashable) -> Any:  # noqa: ANN401 (any annotation)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _exact_struct(kind)
    origin: Any = get_origin(kind)
    args = get_args(kind)
    if not args:
        return kind
    if origin is Annotated:
        return Annotated[(exact(args[0]), *args[1:])]
    exact_args = tuple(arg if arg is Ellipsis else exact(arg) for arg in args)
    if exact_args == args:
        return kind
    if origin in (Union, UnionType):
        return reduce(or_, exact_args)
    return origin[exact_args]


def _exact_struct(kind: type[Struct]) -> type[Struct]:
    changed = not kind.__struct_config__.forbid_unknown_fields
    members: list[Any] = []
    for field in fields(kind):
        like = exact(field.type)
        optional = may_be_left_out(kind, field)
        changed = changed or like != field.type or (not field.required and not optional)
        default = field.default
        more = {"default_factory": field.default_factory} if optional else {}
        if optional and default is not msgspec.NODEFAULT:
            more = {"default": default}
        members.append((field.name, like, msgspec.field(name=field.encode_name, **more)))
    if not changed:
        return kind
    config = kind.__struct_config__
    return msgspec.defstruct(
        kind.__name__,
        members,
        forbid_unknown_fields=True,
        kw_only=True,
        frozen=True,
        tag=config.tag,
        tag_field=config.tag_field,
    )


def may_be_left_out(kind: type[Struct], field: FieldInfo) -> bool:
    """As msgspec does it: a default made by a function is written, unless it makes a container."""
    factories = (msgspec.NODEFAULT, dict, list, set)
    left_out = not field.required and field.default_factory in factories
    return kind.__struct_config__.omit_defaults and left_out
