"""The kinds of document and the models that they are checked against."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from pydantic import TypeAdapter

from kgitops.model.resources.addresses import kind_of
from kgitops.model.resources.kinds import KIND_OF_SORT, Kind

if TYPE_CHECKING:
    from kgitops.kinds.acls.acl import Acl
    from kgitops.kinds.base import ObjectKind
    from kgitops.kinds.topics.topic import Topic
    from kgitops.kinds.user import User
    from kgitops.manifests.kinds.folder import Folder
    from kgitops.manifests.kinds.parts import LinkMetadata, Metadata
    from kgitops.manifests.kinds.tombstone import Tombstone
    from kgitops.manifests.kinds.topic_profile import TopicProfile
    from kgitops.manifests.policies.policy import Policy, Waiver

    class OtherDeclaration(Protocol):
        """A declaration that only the module of its kind reads.

        To mypy its ``kind`` is one that no other declaration has.
        """

        kind: Literal["another"]
        metadata: Metadata | LinkMetadata

    Declaration: TypeAlias = (
        Topic | Acl | User | Tombstone | TopicProfile | Folder | Policy | Waiver | OtherDeclaration
    )
    """The declarations that a manifest can make."""

_MODULES: Mapping[str, str] = {
    **{kind.value: f"kinds.{kind.module}" for kind in Kind if kind.module is not None},
    "Tombstone": "manifests.kinds.tombstone",
    "Project": "manifests.project_document",
    "TopicProfile": "manifests.kinds.topic_profile",
    "Folder": "manifests.kinds.folder",
    "Policy": "manifests.policies.policy",
    "Waiver": "manifests.policies.policy",
    "PolicyTest": "manifests.policies.policy_test",
}
_FIRST = (
    *(it.value for it in (Kind.TOPIC, Kind.ACL, Kind.QUOTA, Kind.USER)),
    "Tombstone",
    "Project",
)
KINDS: Mapping[str, str] = {kind: _MODULES[kind] for kind in (*_FIRST, *_MODULES)}
"""The module of each kind; building a model takes time, so a module is imported when needed.

The kinds are in the order of the reference: those that most projects need come first.
"""

POLICY_KINDS = ("Policy", "Waiver", "PolicyTest")
"""Kinds that declare how requests are judged, instead of an object of a cluster."""
SHARED_KINDS = ("TopicProfile", "Folder")
"""Kinds that give values to the documents of other files."""
OBJECT_KINDS = tuple(kind for kind in KINDS if kind in frozenset(Kind))
"""Kinds that declare objects of a cluster."""
LISTS: Mapping[str, str] = {f"{kind}List": kind for kind in OBJECT_KINDS}
"""The kind of a list to that of its items: all kinds that declare objects of a cluster have one."""
DOCUMENT_KINDS = (*KINDS, *LISTS)
"""The kinds of documents, lists included."""

_CLASS_OF_SORT = {**KIND_OF_SORT, "group": Kind.BINDING, "broker": Kind.TOPIC}

_BUILDING = Lock()


@cache
def model(kind: str) -> type[Any]:
    cls: type[Any] = getattr(import_module(f"kgitops.{KINDS[kind]}"), kind)
    return cls


@cache
def kind_class(kind: str) -> "type[ObjectKind[Any]]":
    """The hooks of a kind in ``OBJECT_KINDS``, whose module is loaded now.

    Raises:
        NotImplementedError: a hook is missing.
    """
    module, name = f"kgitops.{KINDS[kind]}", f"{kind}Kind"
    if inside := Kind(kind).inside:
        module, name = f"kgitops.kinds.{inside}", f"Local{kind}Kind"
    found: type[ObjectKind[Any]] = getattr(import_module(module), name)
    if missing := found.missing_hooks():
        raise NotImplementedError(f"{found.__name__} has no {', '.join(missing)}")
    return found


def planned_by(sort: str) -> Kind:
    """The kind whose class plans the objects with addresses of this sort.

    A group of a virtual cluster is a member like others, and a broker is throttled while replicas
    of topics move.
    """
    return _CLASS_OF_SORT[sort]


def class_of(address: str) -> "type[ObjectKind[Any]]":
    """The hooks of the kind that plans the object of this address."""
    return kind_class(planned_by(kind_of(address)))


@cache
def adapter(kind: str) -> TypeAdapter[Any]:
    """The adapter that checks documents of ``kind`` and describes them as JSON Schema.

    One thread builds at a time: pydantic takes the validator off a class while it builds another,
    and kinds have parts in common.
    """
    with _BUILDING:
        built = TypeAdapter(model(kind))
        built.rebuild()
        return built
