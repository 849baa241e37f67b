"""The kinds of document and the models that they are checked against."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import TypeAdapter

from kgitops.manifests.acl import Acl
from kgitops.manifests.members import ConsumerGroup, VirtualClusterBinding
from kgitops.manifests.policy import Policy, Waiver
from kgitops.manifests.quota import ClientQuota
from kgitops.manifests.tombstone import Tombstone
from kgitops.manifests.topic import Topic
from kgitops.manifests.topic_link import TopicLink
from kgitops.manifests.virtual_cluster import VirtualCluster

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
    "Topic": "topic",
    "Acl": "acl",
    "ClientQuota": "quota",
    "Tombstone": "tombstone",
    "Project": "project_document",
    "VirtualCluster": "virtual_cluster",
    "TopicLink": "topic_link",
    "ConsumerGroup": "members",
    "VirtualClusterBinding": "members",
    "Policy": "policy",
    "Waiver": "policy",
    "PolicyTest": "policy_test",
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
