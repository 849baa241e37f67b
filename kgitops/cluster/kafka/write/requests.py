"""Logical requests sent as Kafka's requests, and the brokers' answers as results.

There is one module per kind: topics, records, ACLs, quotas, users, reassignments, groups, config
resources. Requests about virtual clusters are not sent here: no broker of today's Kafka knows them
(VC-230).
:mod:`kgitops.cluster.kafka.virtual_clusters` sends them to those that announce them.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar, assert_never

from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.kafka.write.acls import create_acls, delete_acls
from kgitops.cluster.kafka.write.config_resources import alter_brokers, alter_config_resources
from kgitops.cluster.kafka.write.groups import alter_offsets, copy_group_offsets, delete_groups
from kgitops.cluster.kafka.write.quotas import alter_quotas
from kgitops.cluster.kafka.write.reassignments import reassign
from kgitops.cluster.kafka.write.records import delete_records
from kgitops.cluster.kafka.write.topics import (
    alter_configs,
    create_partitions,
    create_topics,
    delete_topics,
)
from kgitops.cluster.kafka.write.users import alter_users
from kgitops.model import requests as req
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.results import RequestResult

R = TypeVar("R", bound=req.Request)


def execute(
    wire: Wire, requests: Sequence[req.Request], *, validate_only: bool
) -> Sequence[RequestResult]:
    """Carry out one wire batch: requests of one api, one result each, in order.

    A batch that a controller would refuse for its size is sent as several requests. Only reads are
    repeated here; the caller retries refusals that may be transient.

    Raises:
        UnreachableError: no answer; what happened is unknown and must be looked up.
        ValueError: Kafka can't validate such a request ahead (C-22), or one is about a virtual
            cluster; nothing of it was sent.
    """
    _check_physical(requests)
    batches = [list(group) for _, group in groupby(requests, key=_kind)]
    if validate_only:
        _check_can_be_validated(batches)
    return [
        result
        for batch in batches
        for result in _execute_alike(wire, batch, validate_only=validate_only)
    ]


def _kind(request: req.Request) -> tuple[type[req.Request], req.AlterStep | None]:
    return type(request), request.step if isinstance(request, req.AlterTopicRequest) else None


def _check_physical(requests: Sequence[req.Request]) -> None:
    for request in requests:
        match request:
            case req.AclRequest(binding=binding):
                scoped = binding.scoped
            case req.AlterClientQuotaRequest(entity=entity):
                scoped = any(kind == VIRTUAL_CLUSTER for kind, _ in entity)
            case req.CreateTopicRequest() | req.DeleteTopicRequest():
                scoped = request.local is not None
            case (
                req.CreateVirtualClusterRequest()
                | req.AlterVirtualClusterRequest()
                | req.DeleteVirtualClusterRequest()
            ):
                scoped = True
            case (
                req.AlterTopicRequest()
                | req.DeleteRecordsRequest()
                | req.AlterBrokerRequest()
                | req.AlterUserScramCredentialsRequest()
                | req.AlterConfigResourceRequest()
                | req.ConsumerGroupRequest()
                | req.CopyGroupOffsetsRequest()
                | req.DeleteGroupRequest()
            ):
                scoped = False
            case _:
                assert_never(request)
        if scoped:
            raise ValueError(f"Kafka brokers do not support virtual clusters: {request}")


def _check_can_be_validated(batches: Sequence[Sequence[req.Request]]) -> None:
    for request in (batch[0] for batch in batches):
        match request:
            case (
                req.CreateTopicRequest()
                | req.AlterClientQuotaRequest()
                | req.AlterBrokerRequest()
                | req.AlterConfigResourceRequest()
            ):
                pass
            case req.AlterTopicRequest(step=req.AlterStep.CONFIGS | req.AlterStep.PARTITIONS):
                pass
            case _:
                kind, step = _kind(request)
                raise ValueError(f"Kafka has no validate_only for {kind.__name__} {step or ''}")


def _execute_alike(
    wire: Wire, batch: Sequence[req.Request], *, validate_only: bool
) -> Sequence[RequestResult]:
    match batch[0]:
        case req.CreateTopicRequest():
            return create_topics(
                wire, _as(req.CreateTopicRequest, batch), validate_only=validate_only
            )
        case req.AlterTopicRequest(step=step):
            alterations = _as(req.AlterTopicRequest, batch)
            return _alter_topics(wire, step, alterations, validate_only=validate_only)
        case req.DeleteTopicRequest():
            return delete_topics(wire, _as(req.DeleteTopicRequest, batch))
        case req.DeleteRecordsRequest():
            return delete_records(wire, _as(req.DeleteRecordsRequest, batch))
        case req.CreateAclRequest():
            return create_acls(wire, _as(req.CreateAclRequest, batch))
        case req.DeleteAclRequest():
            return delete_acls(wire, _as(req.DeleteAclRequest, batch))
        case req.AlterClientQuotaRequest():
            quotas = _as(req.AlterClientQuotaRequest, batch)
            return alter_quotas(wire, quotas, validate_only=validate_only)
        case req.AlterBrokerRequest():
            asked = [(it.broker, it.configs) for it in _as(req.AlterBrokerRequest, batch)]
            return alter_brokers(wire, asked, validate_only=validate_only)
        case req.AlterUserScramCredentialsRequest():
            return alter_users(wire, _as(req.AlterUserScramCredentialsRequest, batch))
        case req.AlterConfigResourceRequest():
            resources = _as(req.AlterConfigResourceRequest, batch)
            return alter_config_resources(wire, resources, validate_only=validate_only)
        case req.AlterConsumerGroupOffsetsRequest():
            return alter_offsets(wire, _as(req.AlterConsumerGroupOffsetsRequest, batch))
        case req.DeleteConsumerGroupRequest():
            return delete_groups(wire, _as(req.DeleteConsumerGroupRequest, batch))
        case req.CopyGroupOffsetsRequest():
            return copy_group_offsets(wire, _as(req.CopyGroupOffsetsRequest, batch))
        case req.DeleteGroupRequest():
            return delete_groups(wire, _as(req.DeleteGroupRequest, batch))
        case (
            req.CreateVirtualClusterRequest()
            | req.AlterVirtualClusterRequest()
            | req.DeleteVirtualClusterRequest()
        ):
            raise AssertionError("refused before anything is sent")
        case unknown:
            assert_never(unknown)


def _alter_topics(
    wire: Wire, step: req.AlterStep, batch: Sequence[req.AlterTopicRequest], *, validate_only: bool
) -> Sequence[RequestResult]:
    match step:
        case req.AlterStep.CONFIGS:
            return alter_configs(wire, batch, validate_only=validate_only)
        case req.AlterStep.PARTITIONS:
            return create_partitions(wire, batch, validate_only=validate_only)
        case req.AlterStep.REPLICAS:
            return reassign(wire, batch)
        case _:
            assert_never(step)


def _as(kind: type[R], batch: Sequence[req.Request]) -> list[R]:
    return [request for request in batch if isinstance(request, kind)]
