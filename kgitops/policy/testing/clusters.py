"""Builders of clusters, the request for a broker's configs, and the verdict of a policy."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from kgitops.model.cluster_state import Broker
from kgitops.model.cluster_state import ClusterState as WholeState
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.api.interfaces import Configurable, PolicyViolation
from kgitops.policy.api.requests import (
    ANONYMOUS,
    AlterBrokerRequest,
    PolicyRequest,
    Principal,
    api_of,
)
from kgitops.policy.api.states import RequestedBrokerState
from kgitops.policy.evaluate.bundle import Level
from kgitops.policy.load.python_rule import METHODS, PythonRule
from kgitops.policy.state.simulated import SimulatedState, overlaid
from kgitops.policy.testing.topics import numbered


def cluster(
    *topics: TopicState,
    brokers: int | Iterable[Broker] = 3,
    acls: Iterable[AclBinding] = (),
    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]] | None = None,
    virtual_clusters: Iterable[VirtualCluster] = (),
    broker_configs: Mapping[str, str] | None = None,
    broker_defaults: Mapping[str, str] | None = None,
) -> ClusterState:
    """Build a cluster with these objects, as a policy sees it.

    ``brokers`` is their number, with ids from 1 on, or the brokers with their racks.
    ``broker_configs`` are those of the node that evaluates (P201-40); ``broker_defaults`` are the
    configs of topics that set none.
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
        virtual_clusters={one.name: one for one in virtual_clusters},
        broker_defaults=dict(broker_defaults or {}),
    )
    return ClusterState(SimulatedState(state), broker_configs)


def alter_broker(
    broker_id: int,
    configs: Mapping[str, str | None],
    *,
    before: Mapping[str, str] | None = None,
    principal: str = str(ANONYMOUS),
) -> AlterBrokerRequest:
    """Configs of a broker that had ``before``; None as a value removes the key."""
    return AlterBrokerRequest(
        broker_id=broker_id,
        principal=Principal.parse(principal),
        requested_state=RequestedBrokerState(
            configs=overlaid(before or {}, configs), requested_configs=dict(configs)
        ),
    )


R = TypeVar("R", bound=PolicyRequest)


def labelled(request: R, labels: Mapping[str, str]) -> R:
    """The request as from a document with these ``metadata.labels``."""
    return replace(request, labels=dict(labels))


def violation(
    policy: Configurable,
    request: PolicyRequest,
    cluster_state: ClusterState | None = None,
) -> PolicyViolation | None:
    """The violation by which the policy refuses the request; None where it accepts it.

    Without ``cluster_state`` the cluster is empty. Other exceptions of the policy come out.

    Raises:
        TypeError: the policy implements no interface for this kind of request, or returned
            something.
    """
    api = api_of(request)
    interface, _ = METHODS[api]
    if not isinstance(policy, interface):
        raise TypeError(
            f"{type(policy).__name__} is not a {interface.__name__}: it never sees {api}"
        )
    rule = PythonRule(type(policy).__name__, Level.HARD, policy)
    for found in rule.violations(
        api, request, cluster() if cluster_state is None else cluster_state
    ):
        return PolicyViolation(found.message, field=found.field)
    return None
