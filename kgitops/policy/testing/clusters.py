"""What policies see of a cluster."""

from collections.abc import Iterable, Mapping

from kgitops.model.cluster_state import Broker
from kgitops.model.cluster_state import ClusterState as WholeState
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.state.simulated import World
from kgitops.policy.testing.assignments import numbered


def cluster(
    *topics: TopicState,
    brokers: int | Iterable[Broker] = 3,
    acls: Iterable[AclBinding] = (),
    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]] | None = None,
    virtual_clusters: Iterable[VirtualCluster] = (),
    broker_configs: Mapping[str, str] | None = None,
    broker_defaults: Mapping[str, str] | None = None,
) -> ClusterState:
    """What a policy sees of a cluster that holds this.

    ``brokers`` is their number, with ids from 1 on, or the brokers with their racks.
    ``broker_configs`` are those of the node that evaluates (P201-40); ``broker_defaults`` what
    topics get that set nothing.
    """
    state = WholeState(
        cluster_id="test",
        backend="test",
        brokers=numbered(brokers) if isinstance(brokers, int) else tuple(brokers),
        topics={topic.name: topic for topic in topics},
        acls=frozenset(acls),
        quotas={
            key: ClientQuotaState(entity=key, quotas=dict(values))
            for key, values in (quotas or {}).items()
        },
        virtual_clusters={found.name: found for found in virtual_clusters},
        broker_defaults=dict(broker_defaults or {}),
    )
    return ClusterState(World(state), broker_configs)
