"""Empties a real cluster, quickly: what is not there costs one request to see."""

from functools import partial
from typing import Any

from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterUserScramCredentialsRequest,
    DeleteAclsRequest,
    DeleteGroupsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    DescribeClientQuotasRequest,
    DescribeConfigsRequest,
    DescribeUserScramCredentialsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
    ListGroupsRequest,
)
from kafka.protocol.metadata import MetadataRequest
from patience import eventually

from kgitops.cluster.kafka.configs.client_configs import wire_options
from kgitops.cluster.kafka.protocol_values import CONFIG_RESOURCES
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.sandbox.layout import USERS
from kgitops.sandbox.sandbox import Sandbox

ANY = 1  # of ACLs' types
BROKER = 4  # ConfigResource.Type
DYNAMIC_BROKER, DYNAMIC_DEFAULT = 2, 3  # ConfigSource
OWN_RESOURCE = (7, 8)  # of client metrics and of groups
SET, DELETE = 0, 1  # AlterConfigOp.OpType
# Brokers with eligible leader replicas (KIP-966) write it when they are formatted, and refuse to
# let it go.
WRITTEN_BY_KAFKA = {"min.insync.replicas": "1"}


def wipe(sandbox: Sandbox) -> None:
    """Remove topics, groups, ACLs, quotas, SCRAM users and dynamic configs, and wait for it.

    Internal topics stay, since they belong to the brokers, and so do the users that a sandbox with
    logins begins with.
    """
    wire = Wire(sandbox.servers.split(","), wire_options(sandbox.configs))
    try:
        wire.connect()
        kept = frozenset(USERS if "sasl.username" in sandbox.configs else ())
        eventually(
            lambda: _remove_all(wire, sandbox.broker_ids, kept),
            lambda left: not left,
            what="the shared cluster is emptied",
        )
    finally:
        wire.close()


def _remove_all(wire: Wire, brokers: tuple[int, ...], kept: frozenset[str]) -> dict[str, Any]:
    """Ask for the removal of what is seen but ``kept`` users; what was, on any broker."""
    users = partial(_users, kept=kept)
    kinds = (_topics, _groups, _acls, _quotas, users, _configs, _resources)
    seen = ((f"{kind} on {id_}", kind(wire, id_)) for kind in kinds for id_ in brokers)
    return {what: found for what, found in seen if found}


def _topics(wire: Wire, broker: int) -> list[str]:
    answer = wire.send(MetadataRequest(topics=None, allow_auto_topic_creation=False), to=broker)
    names = [topic.name for topic in answer.topics if not topic.is_internal]
    if names:
        topic = DeleteTopicsRequest.DeleteTopicState
        topics = [topic(name=name, topic_id=None) for name in names]
        wire.send(DeleteTopicsRequest(topics=topics, timeout_ms=30_000, min_version=6))
    return names


def _groups(wire: Wire, broker: int) -> list[str]:
    answer = wire.send(ListGroupsRequest(states_filter=[], types_filter=[]), to=broker)
    names = [group.group_id for group in answer.groups]
    if names:
        wire.send(DeleteGroupsRequest(groups_names=names), to=broker)
    return names


def _acls(wire: Wire, broker: int) -> list[str]:
    anything: dict[str, Any] = {
        "resource_type_filter": ANY,
        "resource_name_filter": None,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
    }
    answer = wire.send(DescribeAclsRequest(**anything, min_version=3), to=broker)
    if answer.resources:
        every = DeleteAclsRequest.DeleteAclsFilter(**anything)
        wire.send(DeleteAclsRequest(filters=[every], min_version=3))
    return [resource.resource_name for resource in answer.resources]


def _quotas(wire: Wire, broker: int) -> list[str]:
    answer = wire.send(DescribeClientQuotasRequest(components=[], strict=False), to=broker)
    entry = AlterClientQuotasRequest.EntryData
    entries = [
        entry(
            entity=[
                entry.EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
                for part in row.entity
            ],
            ops=[entry.OpData(key=item.key, value=0.0, remove=True) for item in row.values],
        )
        for row in answer.entries or ()
    ]
    if entries:
        wire.send(AlterClientQuotasRequest(entries=entries, validate_only=False))
    return [str(row.entity) for row in answer.entries or ()]


def _users(wire: Wire, broker: int, *, kept: frozenset[str]) -> list[str]:
    answer = wire.send(DescribeUserScramCredentialsRequest(users=None), to=broker)
    held = [
        (row.user, info.mechanism)
        for row in answer.results
        for info in row.credential_infos
        if row.user not in kept
    ]
    for user, mechanism in held:  # one alteration of a user in a request
        deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
        item = deletion(name=user, mechanism=mechanism)
        wire.send(AlterUserScramCredentialsRequest(deletions=[item], upsertions=[]))
    return [user for user, _ in held]


def _configs(wire: Wire, broker: int) -> list[str]:
    """Those of the broker and, empty name, those of all."""
    found: list[str] = []
    for name in (str(broker), ""):
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=BROKER, resource_name=name, configuration_keys=None
        )
        answer = wire.send(DescribeConfigsRequest(resources=[resource]), to=broker)
        dynamic = {
            config.name
            for config in answer.results[0].configs
            if config.config_source == (DYNAMIC_DEFAULT if not name else DYNAMIC_BROKER)
            and WRITTEN_BY_KAFKA.get(config.name) != config.value
        }
        if dynamic:
            found += dynamic
            _reset(wire, broker, name, dynamic)
    return found


def _resources(wire: Wire, broker: int) -> list[str]:
    """The configs of groups and of client metrics."""
    types = [int(code) for code in CONFIG_RESOURCES.values() if code != BROKER]
    listed = wire.send(ListConfigResourcesRequest(resource_types=types), to=broker)
    described = DescribeConfigsRequest.DescribeConfigsResource
    altered = IncrementalAlterConfigsRequest.AlterConfigsResource
    for found in listed.config_resources:
        type_, name = found.resource_type, found.resource_name
        resource = described(resource_type=type_, resource_name=name, configuration_keys=None)
        answer = wire.send(DescribeConfigsRequest(resources=[resource]), to=broker)
        own = [it.name for it in answer.results[0].configs if it.config_source in OWN_RESOURCE]
        deletions = [
            altered.AlterableConfig(name=key, config_operation=DELETE, value=None) for key in own
        ]
        ended = altered(resource_type=type_, resource_name=name, configs=deletions)
        request = IncrementalAlterConfigsRequest(resources=[ended], validate_only=False)
        wire.send(request, to=broker)
    return [found.resource_name for found in listed.config_resources]


def _reset(wire: Wire, broker: int, name: str, keys: set[str]) -> None:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [
        resource.AlterableConfig(
            name=key,
            config_operation=SET if key in WRITTEN_BY_KAFKA else DELETE,
            value=WRITTEN_BY_KAFKA.get(key),
        )
        for key in keys
    ]
    of_broker = resource(resource_type=BROKER, resource_name=name, configs=configs)
    wire.send(IncrementalAlterConfigsRequest(resources=[of_broker], validate_only=False), to=broker)
