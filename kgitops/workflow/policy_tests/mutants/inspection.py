"""Inspects the classes of a policy in Python; only in a process that may run project code."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from kgitops.policy.api import interfaces
from kgitops.policy.evaluate.bundle import PythonPolicy
from kgitops.policy.importing import import_from
from kgitops.policy.python_rule import METHODS
from kgitops.policy.settings import Configured

OURS = ("kgitops.policy", "abc", "builtins", "typing")
"""Modules that are not the project's: the interfaces and their bases."""


class SettingOf(Struct, frozen=True, kw_only=True):
    """A config of a policy in Python: what it means, its default, and what the project gives."""

    key: str
    meaning: str
    default: str | None = None
    given: str | None = None


class Method(Struct, frozen=True, kw_only=True):
    """A method that judges: the api of its requests, and its place."""

    api: str
    file: str
    line: int


class ClassPart(Struct, frozen=True, kw_only=True):
    """A class that the policy is made of: its own or a base; ``code`` is that of its module."""

    module: str
    class_name: str
    file: str
    code: str


class Anatomy(Struct, frozen=True, kw_only=True):
    """A class with all its bases, the deepest base first, and the methods that judge.

    ``docstring`` is all that the class says of itself; ``settings`` are its configs, where it
    declares them.
    """

    methods: tuple[Method, ...]
    parts: tuple[ClassPart, ...]
    docstring: str
    settings: tuple[SettingOf, ...]


def anatomy(policy: PythonPolicy) -> Anatomy:
    """Inspect the class; its module can be imported, since it was loaded before."""
    module, _, name = policy.class_.partition(":")
    class_: type = getattr(import_from(policy.folder, module), name)
    return Anatomy(
        methods=tuple(
            Method(
                api=api,
                file=function.__code__.co_filename,
                line=function.__code__.co_firstlineno,
            )
            for api, (interface, method) in METHODS.items()
            if issubclass(class_, interface)
            and (function := inspect.unwrap(getattr(class_, method)))
            and _judges(function)
        ),
        parts=tuple(
            ClassPart(
                module=base.__module__,
                class_name=base.__qualname__.partition(".")[0],
                file=sys.modules[base.__module__].__file__ or "",
                code=inspect.getsource(sys.modules[base.__module__]),
            )
            for base in reversed(class_.__mro__)
            if not f"{base.__module__}.".startswith(tuple(f"{name}." for name in OURS))
        ),
        # Its own: what a base says, such as BaseTopicPolicy, explains no policy.
        docstring=inspect.cleandoc(class_.__doc__ or ""),
        settings=tuple(_settings(class_, policy)),
    )


def _settings(class_: type, policy: PythonPolicy) -> Iterator[SettingOf]:
    """The settings that the class declares, then configs that it takes without saying so."""
    declared = class_.settings() if issubclass(class_, Configured) else ()
    for setting in declared:
        yield SettingOf(
            key=setting.key,
            meaning=setting.meaning,
            default=setting.default,
            given=policy.configs.get(setting.key),
        )
    for key in sorted(policy.configs.keys() - {setting.key for setting in declared}):
        yield SettingOf(key=key, meaning="", given=policy.configs[key])


def _judges(function: Callable[..., Any]) -> bool:
    """True if the method has any code of its own: not inherited, and more than a docstring."""
    if function.__module__ == interfaces.__name__:
        return False
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):  # made by code, not written
        return True
    (definition,) = tree.body[:1]
    assert isinstance(definition, ast.FunctionDef | ast.Assign | ast.Expr)  # noqa: S101
    body = definition.body if isinstance(definition, ast.FunctionDef) else [definition]
    return not all(_says_nothing(statement) for statement in body)


def _says_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Return(value=None):
            return True
        case ast.Return(value=ast.Constant(value=None)):
            return True
        case _:
            return False
