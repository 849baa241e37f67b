"""The kinds of document and the models that they are checked against."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import TypeAdapter

from kgitops.manifests.kinds.access import Acl, ClientQuota
from kgitops.manifests.kinds.tombstone import Tombstone
from kgitops.manifests.kinds.topic import Topic, TopicLink
from kgitops.manifests.kinds.virtual_cluster import (
    ConsumerGroup,
    VirtualCluster,
    VirtualClusterBinding,
)
from kgitops.manifests.policies.policy import Policy, Waiver

Declaration = (
    Topic
    | Acl
    | ClientQuota
    | VirtualCluster
    | TopicLink
    | ConsumerGroup
    | VirtualClusterBinding
    | Tombstone
    | Policy
    | Waiver
)
"""What a manifest can declare."""

# Kind to its module: a model takes time to make, so one that no document needs is not imported.
KINDS: Mapping[str, str] = {
    "Topic": "kinds.topic",
    "Acl": "kinds.access",
    "ClientQuota": "kinds.access",
    "Tombstone": "kinds.tombstone",
    "Project": "project.document",
    "VirtualCluster": "kinds.virtual_cluster",
    "TopicLink": "kinds.topic",
    "ConsumerGroup": "kinds.virtual_cluster",
    "VirtualClusterBinding": "kinds.virtual_cluster",
    "Policy": "policies.policy",
    "Waiver": "policies.policy",
    "PolicyTest": "policies.policy_test",
}


@cache
def model(kind: str) -> type[Any]:
    """The model of ``kind``."""
    found: type[Any] = getattr(import_module(f"kgitops.manifests.{KINDS[kind]}"), kind)
    return found


@cache
def adapter(kind: str) -> TypeAdapter[Any]:
    """What checks a document of ``kind`` and describes it as JSON Schema."""
    return TypeAdapter(model(kind))
