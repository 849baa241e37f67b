"""Converts the values of variables to their types, as Terraform does before anything uses them."""

from collections.abc import Callable, Mapping
from typing import Any

from kgitops.conversion.reading.hcl.expressions import arguments, evaluate, object_pairs
from kgitops.conversion.reading.hcl.operators import number_of, text_of
from kgitops.conversion.reading.hcl.parsing import Syntax, written
from kgitops.conversion.reading.hcl.scopes import Attributes, Data, NotKnownError, Scope, Unknown

_PRIMITIVES: Mapping[str, Callable[[Any], Data]] = {
    "string": text_of,
    "number": number_of,
    "bool": lambda value: {"true": True, "false": False}[text_of(value)],
    "any": lambda value: value,
    "list": lambda value: value,
    "map": lambda value: value,
    "set": lambda value: value,
}
_OPTIONAL = "optional"


def typed(value: Data, tree: Syntax, scope: Scope) -> Data:
    """The value as ``tree``, the argument ``type`` of a variable, has it.

    Attributes that a type leaves out are dropped, and optional ones have their defaults.

    Raises:
        LookupError: the value is of another type, or the type is not known.
    """
    scope.spend(1)
    if value is None or isinstance(value, Unknown):
        return value
    if isinstance(value, Attributes):  # what it leaves out may have a value
        raise NotKnownError(written(tree))
    name, parts = _type(tree)
    try:
        if name == "object":
            return _object(value, parts[0], scope)
        if name == "tuple" or not parts:
            return _PRIMITIVES[name](value) if not parts else value
        if name == "map":
            return {key: typed(item, parts[0], scope) for key, item in value.items()}
        if not isinstance(value, list):
            raise NotKnownError(written(tree))
        items = [typed(item, parts[0], scope) for item in value]
    except (AttributeError, TypeError, ValueError) as error:
        raise NotKnownError(written(tree)) from error
    if name == "list":
        return items
    if name != "set":
        raise NotKnownError(name)
    return items if any(isinstance(item, dict | list | Unknown) for item in items) else _set(items)


def _set(items: list[Data]) -> list[Data]:
    return sorted(dict.fromkeys(items))


def _object(value: dict[str, Data], tree: Syntax, scope: Scope) -> Data:
    found: dict[str, Data] = {}
    for key, part in object_pairs(tree, scope):
        name, parts = _type(part)
        if name != _OPTIONAL:
            if key not in value:
                raise NotKnownError(key)
            found[key] = typed(value[key], part, scope)
            continue
        given = value.get(key)
        if given is None and len(parts) > 1:
            given = evaluate(parts[1], scope)
        found[key] = typed(given, parts[0], scope)
    return found


def _type(tree: Syntax) -> tuple[str, list[Syntax]]:
    """The name of a type, and what is in its parentheses."""
    call = arguments(tree)
    return call if call is not None else (written(tree).strip('"'), [])
