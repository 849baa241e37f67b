"""Builders of clusters, requests as policies are asked about them, and the verdict of a policy."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker
from kgitops.model.cluster_state import ClusterState as WholeState
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.policy.api.interfaces import ClusterState, Configurable, PolicyViolation
from kgitops.policy.api.requests import ANONYMOUS, PolicyRequest, Principal, api_of
from kgitops.policy.building import state_of
from kgitops.policy.evaluate.bundle import Level
from kgitops.policy.evaluate.policy_input import build_request
from kgitops.policy.load.python_rule import METHODS, PythonRule
from kgitops.policy.state import SimulatedState

NOBODY = str(ANONYMOUS)
R = TypeVar("R", bound=PolicyRequest)


def cluster(
    *topics: TopicState,
    brokers: int | Iterable[Broker] = 3,
    acls: Iterable[AclBinding] = (),
    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]] | None = None,
    virtual_clusters: Iterable[VirtualCluster] = (),
    broker_configs: Mapping[str, str] | None = None,
    broker_defaults: Mapping[str, str] | None = None,
    users: Mapping[str, Mapping[str, int]] | None = None,
) -> ClusterState:
    """Build a cluster with these objects, as a policy sees it.

    ``brokers`` is their number, with ids from 1 on, or the brokers with their racks.
    ``broker_configs`` are those of the node that evaluates (P201-40); ``broker_defaults`` are the
    configs of topics that set none; ``users`` have iterations by mechanism.
    """
    state = state_of(
        topics,
        brokers=brokers,
        acls=acls,
        quotas=quotas,
        virtual_clusters=virtual_clusters,
        broker_defaults=broker_defaults,
        users={
            user: {ScramMechanism(name): known for name, known in held.items()}
            for user, held in (users or {}).items()
        },
    )
    return ClusterState(SimulatedState(state), broker_configs)


def asked(
    kind: type[R],
    request: req.Request,
    principal: str,
    state: WholeState | None = None,
    broker_configs: Mapping[str, str] | None = None,
) -> R:
    """The request as a policy is asked about it in ``state``, or in an empty cluster."""
    simulated = SimulatedState(state or state_of())
    made = build_request(request, Principal.parse(principal), simulated, broker_configs or {})
    assert isinstance(made, kind)  # noqa: S101 (each kind becomes the one of its name)
    return made


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
