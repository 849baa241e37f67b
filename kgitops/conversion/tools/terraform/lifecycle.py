"""The ``lifecycle`` of a resource: what Terraform ignores of it, and how it may go."""

import re

from msgspec import Struct
from msgspec.structs import replace

from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.keys import Fate, declared, harmless
from kgitops.conversion.reading.values import Value
from kgitops.conversion.tools.terraform.keys import LIFECYCLE, SECRETS, find_argument
from kgitops.model.source import Source

_ONLY_LIFECYCLE = {
    "lifecycle": declared(LIFECYCLE),
    "*": harmless("it is read by the table of the resource"),
}
_ALL = ("all", "*")
"""The words for all attributes, the second before Terraform 0.12."""
_CONFIG = "config"
_VERSION = "password_wo_version"
_PATH = re.compile(r"""(?P<name>[\w-]+|\*)(?:\.(?P<dotted>.+)|\[\s*"(?P<quoted>[^"]*)"\s*\])?""")
_BY_HAND = "declare it by hand, as `kgitops export` shows it"


class Ignored(Struct, frozen=True):
    """An attribute in ``ignore_changes``, or one ``key`` of it, with its place."""

    name: str
    key: str | None
    source: Source


class Lifecycle(Struct, frozen=True):
    """The attributes that Terraform ignores, and the ``deletionPolicy`` that is wanted, if any."""

    ignored: tuple[Ignored, ...] = ()
    deletion_policy: str = ""

    def at(self, source: Source) -> "Lifecycle":
        """The same for another description of the object, at whose place it is reported."""
        ignored = tuple(replace(item, source=source) for item in self.ignored)
        return replace(self, ignored=ignored)


def read_lifecycle(builder: ObjectBuilder) -> Lifecycle:
    """Read the block; what has no counterpart is a loss."""
    ignored: list[Ignored] = []
    policy = ""
    for fields in builder.read(_ONLY_LIFECYCLE).mappings("lifecycle"):
        ignored += map(_ignored, fields.items("ignore_changes"))
        fields.flag("enabled")  # `Module.instances` has counted it
        protected, destroyed = fields.flag("prevent_destroy"), fields.flag("destroy")
        policy = "Protect" if protected else "Orphan" if destroyed is False else policy
    return Lifecycle(tuple(ignored), policy)


def _ignored(item: Value) -> Ignored:
    found = _PATH.fullmatch(item.text() or "")
    if found is None:  # an expression, which may name anything
        return Ignored(_ALL[0], None, item.source)
    key = found["quoted"] if found["quoted"] is not None else found["dotted"]
    return Ignored(found["name"], key, item.source)


class Declarable(Struct, frozen=True):
    """The part of an object to declare: nothing, or all ``without`` some configs or arguments."""

    anything: bool = True
    configs: bool = True
    without: frozenset[str] = frozenset()


def declarable(builder: ObjectBuilder, ignored: tuple[Ignored, ...]) -> Declarable:
    """Return the part that Terraform keeps as written; each ignored attribute is a loss.

    What is ignored need not be on the cluster, so that declaring it would change the cluster.
    """
    found = Declarable()
    for item in ignored:
        argument = None if item.name in _ALL else find_argument(builder.kind, item.name)
        if argument is not None and argument.fate in (Fate.HARMLESS, Fate.SETTING):
            continue
        if item.name in SECRETS:  # kgitops sets no password again without a new version
            continue
        if argument is not None and item.name == _CONFIG:
            found = _without_config(builder, item, found)
        elif argument is not None and item.name == _VERSION:
            problem = f"{builder}: Terraform ignores changes of {_VERSION}, so none is declared"
            builder.lose(item.source, problem, "declare the password's version if it is meant")
            found = replace(found, without=found.without | {_VERSION})
        elif item.name in _ALL or argument is not None:
            what = "all changes" if item.name in _ALL else f"changes of {item.name}"
            builder.lose(
                item.source,
                f"{builder}: Terraform ignores {what}, so it is not declared",
                _BY_HAND,
            )
            found = replace(found, anything=False)
        else:
            problem = f"{builder}: ignore_changes has {item.name}, which is no argument of it"
            builder.lose(item.source, problem, "correct it there")
    return found


def _without_config(builder: ObjectBuilder, item: Ignored, found: Declarable) -> Declarable:
    if item.key is None:
        problem = f"{builder}: Terraform ignores changes of config, so no config is declared"
        builder.lose(item.source, problem, "declare those that are meant")
        return replace(found, configs=False)
    problem = f"{builder}: Terraform ignores changes of {item.key}, so it is not declared"
    builder.lose(item.source, problem, "declare it if it is meant")
    return replace(found, without=found.without | {item.key})
