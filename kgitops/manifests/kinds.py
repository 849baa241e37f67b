"""The kinds of document and the models that they are checked against."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import TypeAdapter

from kgitops.manifests.acl import Acl
from kgitops.manifests.policy import Policy, Waiver
from kgitops.manifests.quota import ClientQuota
from kgitops.manifests.tombstone import Tombstone
from kgitops.manifests.topic import Topic

Declaration = Topic | Acl | ClientQuota | Tombstone | Policy | Waiver
"""What a manifest of this version can declare."""

# Kind to its module: a model takes time to make, so one that no document needs is not imported.
KINDS: Mapping[str, str] = {
    "Topic": "topic",
    "Acl": "acl",
    "ClientQuota": "quota",
    "Tombstone": "tombstone",
    "Project": "project_document",
    "VirtualCluster": "virtual_clusters",
    "TopicLink": "virtual_clusters",
    "ConsumerGroup": "virtual_clusters",
    "VirtualClusterBinding": "virtual_clusters",
    "Policy": "policy",
    "Waiver": "policy",
    "PolicyTest": "policy_test",
}

LATER: Mapping[str, str] = {
    "VirtualCluster": "virtual clusters",
    "TopicLink": "virtual clusters",
    "ConsumerGroup": "virtual clusters",
    "VirtualClusterBinding": "virtual clusters",
}
"""Kinds that are read and refused, and what it is that comes in a later version."""


@cache
def model(kind: str) -> type[Any]:
    """The model of ``kind``."""
    found: type[Any] = getattr(import_module(f"kgitops.manifests.{KINDS[kind]}"), kind)
    return found


@cache
def adapter(kind: str) -> TypeAdapter[Any]:
    """What checks a document of ``kind`` and describes it as JSON Schema."""
    return TypeAdapter(model(kind))
