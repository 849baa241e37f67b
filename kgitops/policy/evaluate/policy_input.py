"""A request as policies are asked about it: built once, read by every policy."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, assert_never

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.requests import request_address
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.resources.users import user_principal
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    VirtualCluster,
)
from kgitops.model.values import overlaid
from kgitops.policy.api import requests as policy_requests
from kgitops.policy.api.requests import (
    PolicyRequest,
    Principal,
    RequestedBrokerState,
    RequestedQuotaState,
    VirtualClusterChange,
    VirtualClusterState,
    api_of,
    virtual_cluster_state,
)
from kgitops.policy.state import SimulatedState, read_only

_MEMBERS = {
    EntityType.USER: "users",
    EntityType.CLIENT_ID: "client_ids",
    EntityType.GROUP: "groups",
    EntityType.TRANSACTIONAL_ID: "transactional_ids",
}


class PolicyInput(Struct, frozen=True, kw_only=True):
    """``api`` and ``name``, what the interfaces' methods take, and what would be ``sent``.

    ``name`` is what patterns match: a topic's or a link's name, in its virtual cluster where it is
    in one (VC-065); the name of an ACL's resource, the quota's entity as in its address, a broker's
    id, a user's name, a group's id, another resource's name, a virtual cluster's name, also where
    one of its members is altered.
    """

    api: str
    name: str
    request: PolicyRequest
    sent: req.Request

    @property
    def address(self) -> str:
        """The address of the object."""
        return request_address(self.sent)

    @property
    def virtual_cluster(self) -> str | None:
        """The virtual cluster that the object is in, as it is written; None for none."""
        match self.request:
            case req.AclRequest(binding=binding):
                return binding.virtual_cluster if binding.scoped else None
            case policy_requests.AlterClientQuotaRequest(entity=entity):
                return dict(entity).get(VIRTUAL_CLUSTER)
            case (
                policy_requests.AlterBrokerRequest()
                | policy_requests.AlterConfigResourceRequest()
                | req.ConsumerGroupRequest()
            ):
                return None
            case request:
                return request.virtual_cluster

    @property
    def topic(self) -> str | None:
        """The physical topic; None where the request is about none."""
        return getattr(self.request, "topic", None)


def build_input(
    request: req.Request,
    principal: Principal,
    simulated: SimulatedState,
    broker_configs: Mapping[str, str] | None,
) -> PolicyInput:
    """The request with everything that policies may know of it."""
    judged = build_request(request, principal, simulated, broker_configs or {})
    return PolicyInput(api=api_of(judged), name=_name(request), request=judged, sent=request)


def _name(request: req.Request) -> str:
    match request:
        case req.TopicRequest():
            return request.name
        case req.AclRequest():
            return request.binding.resource_name
        case req.AlterClientQuotaRequest():
            return request_address(request).rpartition("quota/")[2]
        case req.AlterBrokerRequest():
            return str(request.broker)
        case req.AlterUserScramCredentialsRequest():
            return request.user
        case req.AlterConfigResourceRequest():
            return request.resource_name
        case req.ConsumerGroupRequest():
            return request.group
        case req.AlterVirtualClusterRequest(entity_type=EntityType.TOPIC, entity_name=str(link)):
            return link
        case req.VirtualClusterRequest():
            return request.virtual_cluster
        case _:
            assert_never(request)


def build_request(
    request: req.Request,
    principal: Principal,
    simulated: SimulatedState,
    broker_configs: Mapping[str, str],
) -> PolicyRequest:
    """The request as policies in Python get it."""
    kind, more = _only_for_policies(request, simulated, broker_configs)
    for name in _shared_fields(kind, type(request)):
        if name not in more:
            more[name] = getattr(request, name)
    if request.labels:
        more["labels"] = MappingProxyType(dict(request.labels))
    return kind(principal=principal, **more)


@cache
def _shared_fields(kind: type[PolicyRequest], request: type[req.Request]) -> tuple[str, ...]:
    shared = {*kind.__struct_fields__} & {*request.__struct_fields__}
    return tuple(sorted(shared - {"labels"}))


_Judged = tuple[type[PolicyRequest], dict[str, Any]]
"""The class of a policy's request, and its fields that the request to the cluster has not."""


def _only_for_policies(
    request: req.Request, simulated: SimulatedState, broker_configs: Mapping[str, str]
) -> _Judged:
    virtual_clusters = simulated.virtual_clusters
    match request:
        case req.CreateTopicRequest():
            # A new topic has no links, whatever else still goes by the uuid to come.
            state = read_only(request.requested_state)
            return policy_requests.CreateTopicRequest, {"requested_state": state}
        case req.AlterTopicRequest():
            return policy_requests.AlterTopicRequest, {
                "links": virtual_clusters.links_to(request.topic),
                "requested_state": read_only(request.requested_state),
            }
        case req.DeleteTopicRequest():
            links = virtual_clusters.links_to(request.topic)
            return policy_requests.DeleteTopicRequest, {"links": links}
        case req.DeleteRecordsRequest():
            return policy_requests.DeleteRecordsRequest, {
                "links": virtual_clusters.links_to(request.topic),
                "deleted_message_offsets": MappingProxyType(dict(request.deleted_message_offsets)),
            }
        case req.CreateAclRequest():
            return policy_requests.CreateAclRequest, {}
        case req.DeleteAclRequest():
            return policy_requests.DeleteAclRequest, {}
        case req.AlterClientQuotaRequest():
            quotas = RequestedQuotaState(
                quotas=MappingProxyType(overlaid(simulated.quotas(request.entity), request.quotas)),
                requested_quotas=MappingProxyType(dict(request.quotas)),
            )
            return policy_requests.AlterClientQuotaRequest, {"requested_state": quotas}
        case req.AlterBrokerRequest(broker=broker, configs=configs):
            return _about_broker(broker, configs, broker_configs)
        case req.AlterUserScramCredentialsRequest():
            member_of = virtual_clusters.of_user(user_principal(request.user))
            return policy_requests.AlterUserScramCredentialsRequest, {"virtual_cluster": member_of}
        case req.AlterConfigResourceRequest(resource_type=ConfigResourceType.BROKER):
            name = request.resource_name
            broker = policy_requests.ALL_BROKERS_ID if name == ALL_BROKERS else int(name)
            return _about_broker(broker, request.configs, broker_configs)
        case req.AlterConfigResourceRequest():
            asked = MappingProxyType(dict(request.configs))
            return policy_requests.AlterConfigResourceRequest, {"configs": asked}
        case req.AlterConsumerGroupOffsetsRequest():
            return policy_requests.AlterConsumerGroupOffsetsRequest, {}
        case req.DeleteConsumerGroupRequest():
            return policy_requests.DeleteConsumerGroupRequest, {}
        case req.CreateVirtualClusterRequest():
            created = VirtualClusterState(name=request.virtual_cluster, options=request.options)
            return policy_requests.CreateVirtualClusterRequest, {"requested_state": created}
        case req.DeleteVirtualClusterRequest():
            return policy_requests.DeleteVirtualClusterRequest, {}
        case req.AlterVirtualClusterRequest(entity_type=EntityType.TOPIC):
            return _about_link(request, simulated)
        case _:
            return _about_member(request, simulated)


def _about_broker(
    broker: int, requested: Mapping[str, str | None], held: Mapping[str, str]
) -> _Judged:
    """Brokers ask the same policies when their configs are altered (P201-87)."""
    state = RequestedBrokerState(
        configs=MappingProxyType(overlaid(held, requested)),
        requested_configs=MappingProxyType(dict(requested)),
    )
    return policy_requests.AlterBrokerRequest, {"broker_id": broker, "requested_state": state}


def _about_link(request: req.AlterVirtualClusterRequest, simulated: SimulatedState) -> _Judged:
    local = LocalName(request.virtual_cluster, request.entity_name or "")
    topic = simulated.virtual_clusters.leads_to(request)
    links = simulated.virtual_clusters.links_to(topic) - {local}
    removed = request.change is ChangeType.REMOVE
    kind: type[PolicyRequest] = policy_requests.CreateTopicLinkRequest
    if removed:
        kind = policy_requests.DeleteTopicLinkRequest
    return kind, {"link": local.name, "topic": topic, "links": links}


def _about_member(
    request: req.AlterVirtualClusterRequest | req.GroupRequest,
    simulated: SimulatedState,
) -> _Judged:
    name = request.virtual_cluster
    virtual_cluster = simulated.virtual_clusters.get(name) or VirtualCluster(name=name)
    current = requested = virtual_cluster_state(virtual_cluster)
    more: dict[str, object] = {}
    # What becomes of a group's offsets is a change of its virtual cluster, and judged as one:
    # a policy on members must not be passed by for want of a method.
    match request:
        case req.CopyGroupOffsetsRequest():
            change = VirtualClusterChange.COPY_OFFSETS
            more["adopts"] = request.source
        case req.GroupRequest():
            change = VirtualClusterChange.DELETE_GROUP
        case req.AlterVirtualClusterRequest(options=options) if options is not None:
            change = VirtualClusterChange.OPTIONS
            requested = replace(current, options=options)
        case _:
            change = VirtualClusterChange(request.change.value)
            requested = _with_member(request, current)
    if isinstance(request, req.GroupRequest):
        more |= {"entity_type": EntityType.GROUP, "entity_name": request.group}
    more |= {"change": change, "current_state": current, "requested_state": requested}
    return policy_requests.AlterVirtualClusterRequest, more


def _with_member(
    request: req.AlterVirtualClusterRequest, current: VirtualClusterState
) -> VirtualClusterState:
    if request.entity_type is None or request.entity_name is None:
        return current
    field = _MEMBERS[request.entity_type]
    members: frozenset[str] = getattr(current, field)
    one = {request.entity_name}
    after = members - one if request.change is ChangeType.REMOVE else members | one
    return replace(current, **{field: after})
