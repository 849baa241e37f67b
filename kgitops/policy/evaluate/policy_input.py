"""A request as policies are asked about it: built once, read by every policy."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import assert_never

from kgitops.model import requests as model_requests
from kgitops.model.resources.addresses import (
    acl_address,
    broker_address,
    local_topic_address,
    member_address,
    quota_address,
    topic_address,
    virtual_cluster_address,
)
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.policy.api import requests as policy_requests
from kgitops.policy.api.requests import PolicyRequest, Principal, api_of
from kgitops.policy.api.states import RequestedBrokerState, RequestedQuotaState
from kgitops.policy.evaluate.virtual_cluster_input import build_virtual_cluster_request
from kgitops.policy.state.simulated import SimulatedState, overlaid, read_only


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInput:
    """``api``, ``address`` and ``name`` of the object, and what the interfaces' methods take.

    ``name`` is what patterns match: a topic's or a link's name, in its virtual cluster where it is
    in one (VC-065); the name of an ACL's resource, the quota's entity as in its address, a broker's
    id, a virtual cluster's name, also where one of its members is altered.
    """

    api: str
    address: str
    name: str
    request: PolicyRequest

    @property
    def virtual_cluster(self) -> str | None:
        """The virtual cluster that the object is in, as it is written; None for none."""
        match self.request:
            case (
                policy_requests.CreateAclRequest(binding=binding)
                | policy_requests.DeleteAclRequest(binding=binding)
            ):
                return binding.virtual_cluster if binding.scoped else None
            case policy_requests.AlterClientQuotaRequest(entity=entity):
                return dict(entity).get(VIRTUAL_CLUSTER)
            case policy_requests.AlterBrokerRequest():
                return None
            case request:
                return request.virtual_cluster

    @property
    def topic(self) -> str | None:
        """The physical topic; None where the request is about none."""
        return getattr(self.request, "topic", None)


def build_input(
    request: model_requests.Request,
    principal: Principal,
    simulated: SimulatedState,
    broker_configs: Mapping[str, str] | None,
) -> PolicyInput:
    """The request with everything that policies may know of it."""
    address, name = _address_and_name(request)
    metadata = _metadata(request, principal, simulated, broker_configs or {})
    if request.labels:
        metadata = replace(metadata, labels=MappingProxyType(dict(request.labels)))
    return PolicyInput(api=api_of(metadata), address=address, name=name, request=metadata)


def address_of(request: model_requests.Request) -> str:
    """The address of what the request is about."""
    return _address_and_name(request)[0]


def _address_and_name(request: model_requests.Request) -> tuple[str, str]:
    match request:
        case (
            model_requests.CreateTopicRequest()
            | model_requests.AlterTopicRequest()
            | model_requests.DeleteTopicRequest()
            | model_requests.DeleteRecordsRequest()
        ):
            if request.local is not None:
                return local_topic_address(request.local), request.local.name
            return topic_address(request.topic), request.topic
        case model_requests.CreateAclRequest() | model_requests.DeleteAclRequest():
            return acl_address(request.binding), request.binding.resource_name
        case model_requests.AlterClientQuotaRequest():
            address = quota_address(request.entity)
            return address, address.rpartition("quota/")[2]
        case model_requests.AlterBrokerRequest():
            return broker_address(request.broker), str(request.broker)
        case (
            model_requests.CreateVirtualClusterRequest()
            | model_requests.DeleteVirtualClusterRequest()
        ):
            return virtual_cluster_address(request.virtual_cluster), request.virtual_cluster
        case model_requests.AlterVirtualClusterRequest():
            return _member(request)
        case model_requests.CopyGroupOffsetsRequest() | model_requests.DeleteGroupRequest():
            vc = request.virtual_cluster
            return member_address(vc, EntityType.GROUP, request.group), vc
        case _:
            assert_never(request)


def _member(request: model_requests.AlterVirtualClusterRequest) -> tuple[str, str]:
    vc, entity_type, name = request.virtual_cluster, request.entity_type, request.entity_name
    if entity_type is None or name is None:
        return virtual_cluster_address(vc), vc
    return member_address(vc, entity_type, name), name if entity_type is EntityType.TOPIC else vc


def _metadata(
    request: model_requests.Request,
    principal: Principal,
    simulated: SimulatedState,
    broker_configs: Mapping[str, str],
) -> PolicyRequest:
    match request:
        case (
            model_requests.CreateTopicRequest()
            | model_requests.AlterTopicRequest()
            | model_requests.DeleteTopicRequest()
            | model_requests.DeleteRecordsRequest()
        ):
            return _about_topic(request, principal, simulated)
        case model_requests.CreateAclRequest():
            return policy_requests.CreateAclRequest(principal=principal, binding=request.binding)
        case model_requests.DeleteAclRequest():
            return policy_requests.DeleteAclRequest(principal=principal, binding=request.binding)
        case model_requests.AlterClientQuotaRequest():
            before = simulated.quotas(request.entity)
            return policy_requests.AlterClientQuotaRequest(
                entity=request.entity,
                principal=principal,
                requested_state=RequestedQuotaState(
                    quotas=MappingProxyType(overlaid(before, request.quotas)),
                    requested_quotas=MappingProxyType(dict(request.quotas)),
                ),
            )
        case model_requests.AlterBrokerRequest():
            return policy_requests.AlterBrokerRequest(
                broker_id=request.broker,
                principal=principal,
                requested_state=RequestedBrokerState(
                    configs=MappingProxyType(overlaid(broker_configs, request.configs)),
                    requested_configs=MappingProxyType(dict(request.configs)),
                ),
            )
        case _:
            return build_virtual_cluster_request(request, principal, simulated.virtual_clusters)


def _about_topic(
    request: model_requests.CreateTopicRequest
    | model_requests.AlterTopicRequest
    | model_requests.DeleteTopicRequest
    | model_requests.DeleteRecordsRequest,
    principal: Principal,
    simulated: SimulatedState,
) -> PolicyRequest:
    topic, local = request.topic, request.local
    links = simulated.virtual_clusters.links_to(topic)
    match request:
        case model_requests.CreateTopicRequest():
            return policy_requests.CreateTopicRequest(
                topic=topic,
                principal=principal,
                local=local,
                # A new topic has no links, whatever else still goes by the uuid to come.
                requested_state=read_only(request.requested_state),
            )
        case model_requests.AlterTopicRequest():
            return policy_requests.AlterTopicRequest(
                topic=topic,
                principal=principal,
                local=local,
                links=links,
                requested_state=read_only(request.requested_state),
            )
        case model_requests.DeleteTopicRequest():
            return policy_requests.DeleteTopicRequest(
                topic=topic, principal=principal, local=local, links=links
            )
        case model_requests.DeleteRecordsRequest():
            return policy_requests.DeleteRecordsRequest(
                topic=topic,
                principal=principal,
                local=local,
                links=links,
                deleted_message_offsets=MappingProxyType(dict(request.deleted_message_offsets)),
            )
        case _:
            assert_never(request)
