"""A request as policies are asked about it: built once, read by every policy."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

from kgitops.model import requests as wire
from kgitops.model.addresses import acl_address, broker_address, quota_address, topic_address
from kgitops.model.requests import api_name
from kgitops.policy import requests as asked
from kgitops.policy.principal import Principal
from kgitops.policy.requests import PolicyRequest
from kgitops.policy.states import RequestedBrokerState, RequestedQuotaState
from kgitops.policy.world import World, overlaid, read_only


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """``api``, ``address`` and ``name`` of the object, and what the interfaces' methods take.

    ``name`` is what patterns match: a topic's name, the name of an ACL's resource, the quota's
    entity as in its address, a broker's id.
    """

    api: str
    address: str
    name: str
    request: PolicyRequest


def ask(
    request: wire.Request,
    principal: Principal,
    world: World,
    broker_configs: Mapping[str, str] | None,
) -> Asked:
    """The request with everything that policies may know of it."""
    address, name = _address_and_name(request)
    return Asked(
        api=api_name(request),
        address=address,
        name=name,
        request=_metadata(request, principal, world, broker_configs or {}),
    )


def address_of(request: wire.Request) -> str:
    """The address of what the request is about."""
    return _address_and_name(request)[0]


def _address_and_name(request: wire.Request) -> tuple[str, str]:
    match request:
        case (
            wire.CreateTopicRequest()
            | wire.AlterTopicRequest()
            | wire.DeleteTopicRequest()
            | wire.DeleteRecordsRequest()
        ):
            return topic_address(request.topic), request.topic
        case wire.CreateAclRequest() | wire.DeleteAclRequest():
            return acl_address(request.binding), request.binding.resource_name
        case wire.AlterClientQuotaRequest():
            address = quota_address(request.entity)
            return address, address.partition("/")[2]
        case wire.AlterBrokerRequest():
            return broker_address(request.broker), str(request.broker)
        case _:
            assert_never(request)


def _metadata(
    request: wire.Request, principal: Principal, world: World, broker_configs: Mapping[str, str]
) -> PolicyRequest:
    match request:
        case wire.CreateTopicRequest():
            return asked.CreateTopicRequest(
                topic=request.topic,
                principal=principal,
                requested_state=read_only(request.requested_state),
            )
        case wire.AlterTopicRequest():
            return asked.AlterTopicRequest(
                topic=request.topic,
                principal=principal,
                requested_state=read_only(request.requested_state),
            )
        case wire.DeleteTopicRequest():
            return asked.DeleteTopicRequest(topic=request.topic, principal=principal)
        case wire.DeleteRecordsRequest():
            return asked.DeleteRecordsRequest(
                topic=request.topic,
                principal=principal,
                deleted_message_offsets=MappingProxyType(dict(request.deleted_message_offsets)),
            )
        case wire.CreateAclRequest():
            return asked.CreateAclRequest(principal=principal, binding=request.binding)
        case wire.DeleteAclRequest():
            return asked.DeleteAclRequest(principal=principal, binding=request.binding)
        case wire.AlterClientQuotaRequest():
            before = world.quotas.get(request.entity, {})
            return asked.AlterClientQuotaRequest(
                entity=request.entity,
                principal=principal,
                requested_state=RequestedQuotaState(
                    quotas=MappingProxyType(overlaid(before, request.quotas)),
                    requested_quotas=MappingProxyType(dict(request.quotas)),
                ),
            )
        case wire.AlterBrokerRequest():
            return asked.AlterBrokerRequest(
                broker_id=request.broker,
                principal=principal,
                requested_state=RequestedBrokerState(
                    configs=MappingProxyType(overlaid(broker_configs, request.configs)),
                    requested_configs=MappingProxyType(dict(request.configs)),
                ),
            )
        case _:
            assert_never(request)
