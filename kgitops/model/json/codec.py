"""One codec for all of kgitops' JSON: the types of the values say what it looks like.

A ``msgspec.Struct`` is an object with its fields as keys, in their order. Each key must be there,
and no other may be: a field may be left out only if its class has ``omit_defaults``, and then it is
left out whenever it has its default. Where JSON differs from a value, a *document* class has the
shape of the JSON, and functions beside it convert between the two.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import Enum
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, UnsetType
from msgspec.structs import FieldInfo, fields

from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json

T = TypeVar("T")

WHOLE = ("(?a:", r")\Z")
"""Around a pattern, in Python's dialect."""


def spelled(pattern: str, description: str) -> Meta:
    """Text that is ``pattern`` as a whole, in ASCII: Python's own ``$`` allows a line feed."""
    return Meta(pattern=f"{WHOLE[0]}{pattern}{WHOLE[1]}", description=description)


_WHOLE_NUMBER = spelled("^(0|-?[1-9][0-9]{0,18})$", "a whole number written as text")
WholeNumberText = Annotated[str, _WHOLE_NUMBER]
"""A 64-bit integer, in its one spelling."""
Count = Annotated[int, Meta(ge=0, description="a whole number from 0 on")]
Moment = Annotated[str, spelled(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", "a moment")]
"""A time in UTC, as ``clock.to_text`` writes it; its pattern does not know the calendar."""
FormatVersion = Annotated[str, spelled(r"^1\.\d+$", "text like 1.0")]
"""A version that this kgitops reads."""


class JsonObject(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The base of documents: what is left out when it is empty has a default, and only that."""


_NAMES: Mapping[Any, str] = {
    str: "not text",
    int: "not a whole number",
    bool: "neither true nor false",
}


def encode(value: object) -> bytes:
    """The JSON of ``value``: UTF-8, on one line, keys in the order of the fields."""
    return _encoder.encode(value)


def encode_sorted(value: object) -> bytes:
    """As ``encode``, with all keys in the order of their characters."""
    return _sorting_encoder.encode(value)


def to_json(value: object) -> Json:
    """The JSON of ``value`` as dicts, lists, text and numbers."""
    try:
        return msgspec.json.decode(encode(value))  # to_builtins leaves tuples, which are no lists
    except UnicodeEncodeError:  # half a character, which can only be shown
        return msgspec.to_builtins(value, enc_hook=_encode_special)


def decode(kind: type[T], data: bytes | str, path: str, *, exactly: bool = True) -> T:
    """Read the JSON of a ``kind``.

    ``path`` is how errors call the whole; a phrase with a space (``the plan``) is left out of the
    paths of its parts. Without ``exactly`` a key may be missing if its field has a default: for
    JSON that is compared with what would be written for the value.

    Raises:
        ShapeError: it is not JSON, or not of exactly this shape.
    """
    try:
        if exactly and exact(kind) != kind:
            _decoder(exact(kind)).decode(data)
        return _decoder(kind).decode(data)  # type: ignore[arg-type, no-any-return]
    except msgspec.DecodeError:
        try:
            value = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ShapeError(f"{path} is not JSON") from None
        raise _difference(kind, value, path) from None


def from_json(kind: type[T], value: Json, path: str, *, exactly: bool = True) -> T:
    """Read a ``kind`` from parsed JSON; as ``decode``.

    Raises:
        ShapeError: it is not of exactly this shape.
    """
    try:
        return _convert(kind, value, exactly=exactly)
    except msgspec.ValidationError:
        raise _difference(kind, value, path) from None


def _convert(kind: type[T], value: Json, *, exactly: bool = True) -> T:
    if exactly and exact(kind) != kind:
        msgspec.convert(value, exact(kind), str_keys=True, dec_hook=decode_special)
    return msgspec.convert(value, kind, str_keys=True, dec_hook=decode_special)


def special(kind: type[T], write: Callable[[T], Json], read: Callable[[Json], T]) -> None:
    """Give a class that is no Struct its JSON; ``read`` raises a ValueError for what is wrong.

    The sentence of the error begins behind the path: ``is the unknown risk code 'KG999'``. So does
    that of a ValueError in the ``__post_init__`` of a Struct.
    """
    _special[kind] = (write, read)


_special: dict[type, tuple[Callable[[Any], Json], Callable[[Json], Any]]] = {}


def _encode_special(value: Any) -> Json:  # noqa: ANN401 (of any class in the table)
    if type(value) in _special:
        return _special[type(value)][0](value)
    if isinstance(value, Mapping):
        return dict(value)  # a view, for example a MappingProxyType
    raise TypeError(f"{type(value).__name__} has no JSON")


def decode_special(kind: type, value: Json) -> object:
    """Read a class that ``special`` gave its JSON; the ``dec_hook`` of msgspec."""
    return _special[kind][1](value)


_encoder = msgspec.json.Encoder(enc_hook=_encode_special)
_sorting_encoder = msgspec.json.Encoder(enc_hook=_encode_special, order="sorted")


@cache
def _decoder(exactly: Any) -> "msgspec.json.Decoder[Any]":  # noqa: ANN401 (any annotation)
    return msgspec.json.Decoder(exactly, dec_hook=decode_special)


def _difference(kind: Any, value: Json, path: str) -> ShapeError:  # noqa: ANN401 (any annotation)
    """Say where ``value``, which is no ``kind``, first differs from one, and how."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        if isinstance(value, list | dict) and not _fits(args[0], value):
            return _difference(args[0], value, path)
        return ShapeError(f"{path} is not {args[1].description}")
    if origin in (Union, UnionType):
        one, *others = (item for item in args if item not in (NoneType, UnsetType))
        return _wrong(kind, value, path) if others else _difference(one, value, path)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _difference_in_struct(kind, value, path)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            return ShapeError(f"{path} is not an object")
        with_rules = get_origin(args[0]) is Annotated
        keys = ((args[0], key, f"a key of {path}") for key in value if with_rules)
        parts = ((args[1], item, f"{path}.{key}") for key, item in value.items())
        return _first(keys) or _first(parts) or _wrong(kind, value, path)
    if origin in (tuple, frozenset, list):
        if not isinstance(value, list):
            return ShapeError(f"{path} is not an array")
        parts = ((args[0], item, f"{path}[{at}]") for at, item in enumerate(value))
        return _first(parts) or _wrong(kind, value, path)
    if isinstance(kind, type) and issubclass(kind, Enum):
        if not isinstance(value, type(next(iter(kind)).value)):
            return _wrong(type(next(iter(kind)).value), value, path)
        return ShapeError(f"{path} is none of {', '.join(str(item.value) for item in kind)}")
    return _wrong(kind, value, path)


def _difference_in_struct(kind: type[Struct], value: Json, path: str) -> ShapeError:
    if not isinstance(value, dict):
        return ShapeError(f"{path} is not an object")
    known = {field.encode_name: field for field in fields(kind)}
    for name, field in known.items():
        if name not in value and not _may_be_left_out(kind, field):
            return ShapeError(f"{path} has no key {name!r}")
    for name in value:
        if name not in known and name != kind.__struct_config__.tag_field:
            return ShapeError(f"{path} has the unknown key {name!r}")
    inside = "" if " " in path else f"{path}."
    known_values = ((name, item) for name, item in value.items() if name in known)
    parts = ((known[name].type, item, f"{inside}{name}") for name, item in known_values)
    return _first(parts) or _wrong(kind, value, path)


def _first(parts: Iterable[tuple[Any, Json, str]]) -> ShapeError | None:
    """The difference of the first part that is wrong."""
    wrong = ((kind, value, path) for kind, value, path in parts if not _fits(kind, value))
    return next((_difference(*part) for part in wrong), None)


def _fits(kind: Any, value: Json) -> bool:  # noqa: ANN401 (any annotation)
    if msgspec.Raw in get_args(kind):
        return isinstance(value, list)  # what is in it is read on its own
    try:
        _convert(kind, value)
    except msgspec.ValidationError:
        return False
    return True


def _wrong(kind: Any, value: Json, path: str) -> ShapeError:  # noqa: ANN401 (any annotation)
    try:
        _convert(kind, value)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, ValueError):
            return ShapeError(f"{path} {error.__cause__}")
    return ShapeError(f"{path} is {_NAMES.get(kind, 'not what is expected')}")


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
        optional = _may_be_left_out(kind, field)
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


def _may_be_left_out(kind: type[Struct], field: FieldInfo) -> bool:
    """As msgspec does it: a default made by a function is written, unless it makes a container."""
    factories = (msgspec.NODEFAULT, dict, list, set)
    left_out = not field.required and field.default_factory in factories
    return kind.__struct_config__.omit_defaults and left_out
