"""The whole cluster as policies may ask for it, where a plan is made from a part of it.

What differs is at hand. Everything else stays in its Parquet files and is read where a policy asks:
the small columns for names and sums, single topics for ``topic_state``, all of a kind for the rest.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kgitops.desired.state import DesiredState
from kgitops.fleet.policies.acls import AclsAtLarge
from kgitops.fleet.policies.owners import OwnersAtLarge
from kgitops.fleet.policies.quotas import QuotasAtLarge
from kgitops.fleet.policies.stored import Stored
from kgitops.fleet.policies.topics import TopicsAtLarge
from kgitops.model.cluster_state import ClusterState


def at_large(
    current: ClusterState, desired: DesiredState, files: Sequence[Path], cluster: str
) -> ClusterState:
    """The state of ``cluster`` that lies in ``files``, to be shown to policies.

    ``current`` is the part of it that a plan for ``desired`` is made from: of all that ``desired``
    declares it holds what is there. The state travels to another process as paths and that part.
    """
    stored = Stored(tuple(files), cluster)
    names = {topic.name for topic in desired.topics if topic.virtual_cluster is None}
    topics = frozenset(names - current.topics.keys())
    quotas = frozenset(quota.entity for quota in desired.quotas) - current.quotas.keys()
    registry = current.registry
    return replace(
        current,
        topics=TopicsAtLarge(stored, current.topics, topics),
        acls=AclsAtLarge(stored),
        quotas=QuotasAtLarge(stored, current.quotas, quotas),
        registry=registry and replace(registry, owners=OwnersAtLarge(stored)),
    )
