"""The JSON of a class by the types of its fields, compiled once for each class.

The keys of declarations are the fields in camel case, those of requests the fields unchanged. A
few types have a spelling of their own; an annotation says what a field spells otherwise: in
``Annotated[int, Spelled(WholeNumberText, str, int)]`` a number is text.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct, defstruct, field
from msgspec.structs import FieldInfo, fields

from kgitops.model.json.codec import WholeNumberText, decode_special, to_json
from kgitops.model.json.objects import (
    BindingDocument,
    Entity,
    ShortestDecimals,
    binding_document,
    binding_of,
)
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity, make_entity, quota_text

S = TypeVar("S", bound=Struct)
_Class = Any
"""A class, which mypy takes for hashable."""


class Spelled(NamedTuple):
    """The spelling of a value in JSON: the type that msgspec reads, and both conversions.

    ``write`` or ``read`` is None where nothing is converted. A ``merged`` value is an object whose
    keys stand among those around it.
    """

    shape: Any
    write: Callable[[Any], Json] | None = None
    read: Callable[[Any], Any] | None = None
    merged: bool = False


_SPELLED: Mapping[_Class, Spelled] = {
    AclBinding: Spelled(BindingDocument, binding_document, binding_of),
    ClientQuotaEntity: Spelled(Entity, dict, make_entity),
    float: Spelled(ShortestDecimals, quota_text, float),
    Mapping[int, int]: Spelled(
        dict[WholeNumberText, WholeNumberText],
        lambda offsets: {str(key): str(at) for key, at in sorted(offsets.items())},
        lambda view: {int(key): int(at) for key, at in view.items()},
    ),
}
"""The types that have one spelling: those with a name, quotas, and offsets by partition."""


def read_values(kind: _Class, view: Json) -> dict[str, Any]:
    """The attributes of a ``kind`` in JSON that may have more keys.

    Raises:
        ShapeError: it is not of this shape.
    """
    codec = codec_of(kind)
    return codec.values(converted(view, codec.shape))


def converted(value: Json, shape: type[S]) -> S:
    """The ``value`` as msgspec reads it.

    Raises:
        ShapeError: it is not of this shape.
    """
    try:
        return msgspec.convert(value, shape, dec_hook=decode_special)
    except msgspec.ValidationError as error:
        raise ShapeError(str(error)) from error


class Codec(NamedTuple):
    """A class as JSON: the shape that msgspec reads, and both ways.

    ``values`` are those of the attributes. JSON of a newer kgitops may have more keys.
    """

    shape: type[Struct]
    write: Callable[[Any], dict[str, Json]]
    values: Callable[[Any], dict[str, Any]]


@cache
def codec_of(kind: _Class, without: tuple[str, ...] = ()) -> Codec:
    """Compile the codec of a declaration, or of a part, that writes no fields in ``without``."""
    found = [_Field.of(kind, info) for info in fields(kind) if info.name not in _ELSEWHERE]
    found.sort(key=lambda each: _LAST.get(each.name, 0))  # the deletion policy comes last
    shape = defstruct(kind.__name__, [it for each in found for it in each.members], kw_only=True)
    return Codec(
        shape, _writer(kind, [it for it in found if it.name not in without]), _reader(found)
    )


def exact_codec(kind: _Class, name: str, given: Sequence[FieldInfo]) -> Codec:
    """Compile the codec of these fields of a class, whose keys are their names and no others.

    A field whose default is None is left out where it is None, and comes last.
    """
    found = sorted((_Field.as_it_is(info) for info in given), key=lambda each: each.optional)
    shape = defstruct(
        name,
        [it for each in found for it in each.members],
        frozen=True,
        kw_only=True,
        omit_defaults=True,
        forbid_unknown_fields=True,
    )
    return Codec(shape, _writer(kind, found), _reader(found))


_ELSEWHERE = frozenset({"address", "labels", "located"})
_LAST = {"deletion_policy": 1, "deletion_policy_written": 2}


class _Field(NamedTuple):
    """A field of a class, its key in JSON and what stands for it in the shape."""

    name: str
    key: str
    form: Spelled
    members: list[Any]
    optional: bool = False

    @classmethod
    def as_it_is(cls, info: FieldInfo) -> "_Field":
        """The field under its own name."""
        form, optional = _form(info.type, _as_it_is), info.default is None
        members = [(info.name, form.shape, *([None] if optional else []))]
        return cls(info.name, info.name, form, members, optional)

    @classmethod
    def of(cls, kind: _Class, info: FieldInfo) -> "_Field":
        """The field that msgspec describes."""
        form, key = _form(info.type, _of_structs), info.encode_name
        if key == info.name:
            first, *others = key.split("_")
            key = first + "".join(map(str.capitalize, others))
        if form.merged:
            members = [
                (each.name, each.type, field(name=each.encode_name, default=each.default))
                for each in fields(form.shape)
            ]
        elif info.name in getattr(kind, "scoped", ()):
            members = [(info.name, without_none(form.shape), field(name=key, default=info.default))]
        else:
            members = [(info.name, form.shape, field(name=key))]
        return cls(info.name, key, form, members)


def _writer(kind: _Class, found: Sequence[_Field]) -> Callable[[Any], dict[str, Json]]:
    """A function made of the fields' names: twice as fast as a loop over them."""
    items = [f"'kind': {str(kind.kind)!r}"] if hasattr(kind, "kind") else []
    writers = {f"write_{it.name}": it.form.write for it in found if it.form.write}
    for it in found:
        value = f"value.{it.name}"
        if it.form.write:
            value = f"write_{it.name}({value})"
        item = f"**{value}" if it.form.merged else f"{it.key!r}: {value}"
        if it.optional:
            item = f"**({{}} if value.{it.name} is None else {{{item}}})"
        items.append(item)
    write: Callable[[Any], dict[str, Json]] = eval(  # noqa: S307 - made of our classes alone
        f"lambda value: {{{', '.join(items)}}}", writers
    )
    return write


def _reader(found: Sequence[_Field]) -> Callable[[Any], dict[str, Any]]:
    plain = [each for each in found if not each.form.merged]
    merged = next((each for each in found if each.form.merged), None)
    names = [each.name for each in plain]
    values = attrgetter(*names) if len(names) > 1 else lambda view: (getattr(view, names[0]),)
    read = [(each.name, each.form.read) for each in plain if each.form.read]

    def values_of(view: Any) -> dict[str, Any]:  # noqa: ANN401 (of the shape)
        held = dict(zip(names, values(view)))  # noqa: B905 (measured)
        for name, understand in read:
            held[name] = understand(held[name])
        if merged is not None:
            held[merged.name] = (merged.form.read or _same)(view)
        return held

    return values_of


_OfStructs = Callable[[_Class], Spelled]


def _form(annotation: Any, of_structs: _OfStructs) -> Spelled:  # noqa: ANN401 (any annotation)
    """The spelling that an annotation stands for."""
    if annotation in _SPELLED:
        return _SPELLED[annotation]
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        given = next((each for each in args if isinstance(each, Spelled)), None)
        return given or _form(args[0], of_structs)
    if origin in (Union, UnionType):
        form = _form(without_none(annotation), of_structs)
        return Spelled(form.shape | None, _unless_none(form.write), _unless_none(form.read))
    if origin is tuple:
        return _of_tuples(_form(args[0], of_structs))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _of_mappings(*(_form(each, of_structs) for each in args))
    if issubclass(annotation, Enum):
        return Spelled(annotation, attrgetter("_value_"))
    if issubclass(annotation, Struct):
        return of_structs(annotation)
    return Spelled(annotation)


def without_none(annotation: Any) -> Any:  # noqa: ANN401 (any annotation)
    """The type that an optional value has where it is not None."""
    args = get_args(annotation)
    return args[0] if NoneType in args else annotation


def _unless_none(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return convert and (lambda value: None if value is None else convert(value))


def _of_tuples(item: Spelled) -> Spelled:
    shape: Any = item.shape
    write, read = item.write, item.read
    return Spelled(
        tuple.__class_getitem__((shape, ...)),
        list if write is None else lambda values: [write(each) for each in values],
        read and (lambda values: tuple(map(read, values))),
    )


def _of_mappings(key: Spelled, value: Spelled) -> Spelled:
    shape = dict.__class_getitem__((key.shape, value.shape))
    if key[1:] == value[1:] == _ITS_OWN_JSON[1:]:
        return Spelled(shape, lambda held: dict(sorted(held.items())))
    write_key, write = key.write or _same, value.write or _same
    read_key, read = key.read or _same, value.read or _same
    return Spelled(
        shape,
        lambda held: {write_key(at): write(each) for at, each in sorted(held.items())},
        lambda held: {read_key(at): read(each) for at, each in held.items()},
    )


def _same(value: Any) -> Any:  # noqa: ANN401 (any value)
    return value


def _of_structs(kind: _Class) -> Spelled:
    return _by_codec(kind, codec_of)


def _as_it_is(kind: _Class) -> Spelled:
    """A class is its own shape unless a field of it is spelled otherwise."""
    form = _by_codec(kind, lambda kind: exact_codec(kind, kind.__name__, fields(kind)))
    if any(_form(info.type, _as_it_is).read for info in fields(kind)):
        return form
    return Spelled(kind, form.write)


def _by_codec(kind: _Class, compiled: Callable[[_Class], Codec]) -> Spelled:
    if kind.__struct_config__.omit_defaults:  # codec.py writes it
        return Spelled(kind, to_json)
    codec = compiled(kind)
    return Spelled(codec.shape, codec.write, lambda view: kind(**codec.values(view)))


_ITS_OWN_JSON = Spelled(str)
