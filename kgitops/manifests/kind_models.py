"""The kinds of document and the models that they are checked against."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from kgitops.model.resources.kinds import Kind

if TYPE_CHECKING:
    from kgitops.manifests.kinds.access import Acl, ClientQuota
    from kgitops.manifests.kinds.broker_config import BrokerConfig
    from kgitops.manifests.kinds.client_metrics import ClientMetrics
    from kgitops.manifests.kinds.consumer_group import ConsumerGroup
    from kgitops.manifests.kinds.folder import Folder
    from kgitops.manifests.kinds.tombstone import Tombstone
    from kgitops.manifests.kinds.topic import Topic, TopicLink
    from kgitops.manifests.kinds.topic_profile import TopicProfile
    from kgitops.manifests.kinds.user import User
    from kgitops.manifests.kinds.virtual_cluster import VirtualCluster, VirtualClusterBinding
    from kgitops.manifests.policies.policy import Policy, Waiver

    Declaration = (
        Topic
        | Acl
        | ClientQuota
        | User
        | VirtualCluster
        | TopicLink
        | ConsumerGroup
        | ClientMetrics
        | BrokerConfig
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
    "Topic": "kinds.topic",
    "Acl": "kinds.access",
    "ClientQuota": "kinds.access",
    "User": "kinds.user",
    "Tombstone": "kinds.tombstone",
    "Project": "project.document",
    "VirtualCluster": "kinds.virtual_cluster",
    "TopicLink": "kinds.topic",
    "ConsumerGroup": "kinds.consumer_group",
    "ClientMetrics": "kinds.client_metrics",
    "BrokerConfig": "kinds.broker_config",
    "VirtualClusterBinding": "kinds.virtual_cluster",
    "TopicProfile": "kinds.topic_profile",
    "Folder": "kinds.folder",
    "Policy": "policies.policy",
    "Waiver": "policies.policy",
    "PolicyTest": "policies.policy_test",
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

_BUILDING = Lock()


@cache
def model(kind: str) -> type[Any]:
    """The model of ``kind``."""
    cls: type[Any] = getattr(import_module(f"kgitops.manifests.{KINDS[kind]}"), kind)
    return cls


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
