"""The kinds of document and the models that they are checked against."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from kgitops.manifests.acl import Acl
from kgitops.manifests.policy import Policy, Waiver
from kgitops.manifests.project_document import Project
from kgitops.manifests.quota import ClientQuota
from kgitops.manifests.tombstone import Tombstone
from kgitops.manifests.topic import Topic
from kgitops.manifests.virtual_clusters import (
    ConsumerGroup,
    TopicLink,
    VirtualCluster,
    VirtualClusterBinding,
)

Declaration = Topic | Acl | ClientQuota | Tombstone
"""What a manifest of this version can declare."""

KINDS: Mapping[str, type[Any]] = {
    "Topic": Topic,
    "Acl": Acl,
    "ClientQuota": ClientQuota,
    "Tombstone": Tombstone,
    "Project": Project,
    "VirtualCluster": VirtualCluster,
    "TopicLink": TopicLink,
    "ConsumerGroup": ConsumerGroup,
    "VirtualClusterBinding": VirtualClusterBinding,
    "Policy": Policy,
    "Waiver": Waiver,
}

LATER: Mapping[str, str] = {
    **dict.fromkeys(
        ("VirtualCluster", "TopicLink", "ConsumerGroup", "VirtualClusterBinding"),
        "virtual clusters",
    ),
    **dict.fromkeys(("Policy", "Waiver"), "policies"),
}
"""Kinds that are read and refused, and what it is that comes in a later version."""


@cache
def adapter(kind: str) -> TypeAdapter[Any]:
    """What checks a document of ``kind`` and describes it as JSON Schema."""
    return TypeAdapter(KINDS[kind])
