"""The kinds of document and the models that they are checked against."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import TypeAdapter

from kgitops.model.resources.kinds import Kind

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from kgitops.kinds.acls.acl import Acl
    from kgitops.kinds.base import ObjectKind
    from kgitops.kinds.broker_config import BrokerConfig
    from kgitops.kinds.client_metrics import ClientMetrics
    from kgitops.kinds.consumer_group import ConsumerGroup
    from kgitops.kinds.quota import ClientQuota
    from kgitops.kinds.user import User
    from kgitops.manifests.kinds.folder import Folder
    from kgitops.manifests.kinds.tombstone import Tombstone
    from kgitops.manifests.kinds.topic import Topic, TopicLink
    from kgitops.manifests.kinds.topic_profile import TopicProfile
    from kgitops.manifests.kinds.virtual_cluster import VirtualCluster, VirtualClusterBinding
    from kgitops.manifests.policies.policy import Policy, Waiver

    OfModule: TypeAlias = Acl | BrokerConfig | ClientMetrics | ClientQuota | ConsumerGroup | User
    Declaration: TypeAlias = (
        OfModule
        | Topic
        | VirtualCluster
        | TopicLink
        | VirtualClusterBinding
        | Tombstone
        | TopicProfile
        | Folder
        | Policy
        | Waiver
    )
    """The declarations that a manifest can make."""

# Kind to its module: building a model takes time, so one that no document needs is not imported.
KINDS: Mapping[str, str] = {
    "Topic": "manifests.kinds.topic",
    "Acl": "kinds.acls.acl",
    "ClientQuota": "kinds.quota",
    "User": "kinds.user",
    "Tombstone": "manifests.kinds.tombstone",
    "Project": "manifests.project.document",
    "VirtualCluster": "manifests.kinds.virtual_cluster",
    "TopicLink": "manifests.kinds.topic",
    "ConsumerGroup": "kinds.consumer_group",
    "ClientMetrics": "kinds.client_metrics",
    "BrokerConfig": "kinds.broker_config",
    "VirtualClusterBinding": "manifests.kinds.virtual_cluster",
    "TopicProfile": "manifests.kinds.topic_profile",
    "Folder": "manifests.kinds.folder",
    "Policy": "manifests.policies.policy",
    "Waiver": "manifests.policies.policy",
    "PolicyTest": "manifests.policies.policy_test",
}


POLICY_KINDS = ("Policy", "Waiver", "PolicyTest")
"""Kinds that declare how requests are judged, instead of an object of a cluster."""
SHARED_KINDS = ("TopicProfile", "Folder")
"""Kinds that give values to the documents of other files."""
_OBJECTS = frozenset(Kind)
LISTS: Mapping[str, str] = {f"{kind}List": kind for kind in KINDS if kind in _OBJECTS}
"""The kind of a list to that of its items: all kinds that declare objects of a cluster have one."""
DOCUMENT_KINDS = (*KINDS, *LISTS)
"""The kinds of documents, lists included."""

MODULES = tuple(kind for kind, place in KINDS.items() if place.startswith("kinds."))
"""Kinds of which all is in one module of ``kgitops.kinds``."""

_BUILDING = Lock()


@cache
def model(kind: str) -> type[Any]:
    """The model of ``kind``."""
    cls: type[Any] = getattr(import_module(f"kgitops.{KINDS[kind]}"), kind)
    return cls


def has_module(declared: "Declaration") -> "TypeIs[OfModule]":
    """True for a document of a kind of which all is in one module."""
    return declared.kind in MODULES


@cache
def kind_class(kind: str) -> "type[ObjectKind[Any]]":
    """The hooks of a kind in ``MODULES``, whose module is loaded now.

    Raises:
        NotImplementedError: a hook is missing.
    """
    found: type[ObjectKind[Any]] = getattr(import_module(f"kgitops.{KINDS[kind]}"), f"{kind}Kind")
    if missing := found.missing_hooks():
        raise NotImplementedError(f"{found.__name__} has no {', '.join(missing)}")
    return found


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
