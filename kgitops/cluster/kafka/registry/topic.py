"""The topic ``__kgitops``: finding it, checking that it can be trusted, and creating it."""

import time
import uuid
from collections.abc import Mapping
from functools import partial

from kafka.errors import for_code
from kafka.protocol.admin import (
    CreateTopicsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from kafka.protocol.metadata import MetadataRequest
from msgspec import Struct

from kgitops.cluster.kafka.protocol_values import TOPIC
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.refusals import (
    MissingRight,
    RefusedRead,
    missing_rights_error,
    read_all,
    refusal,
)
from kgitops.model.errors import SafetyError, UnreachableError
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.results import NO_SUCH_TOPIC, ErrorCode

TIMEOUT_S = 40.0
"""Time to wait for a leader, or for the end of a transaction that a dead writer left open.

Kafka ends a transaction at most ``transaction.timeout.ms`` (15 s, set by the writer) plus the
coordinator's ``transaction.abort.timed.out.transaction.cleanup.interval.ms`` (10 s) after it began.
"""

POLL_S = 0.05
_REQUIRED = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
_CONFIGS = {
    **_REQUIRED,
    # Ownership must never be lost to a replica that lags behind.
    "unclean.leader.election.enable": "false",
    # A piece of a plan has at most 512 KiB, which a smaller cluster default would refuse.
    "max.message.bytes": "1048588",
    # Small segments and an eager cleaner, so that reading does not take in the whole history.
    "segment.bytes": str(16 << 20),
    "segment.ms": str(24 * 3600 * 1000),
    "min.cleanable.dirty.ratio": "0.1",
    # A reader that continues from an offset must see all deletions since: no run is that long.
    "delete.retention.ms": str(7 * 24 * 3600 * 1000),
}
_NOT_YET = frozenset({ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.REPLICA_NOT_AVAILABLE})
_DENIED = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED})
_READING = {
    "DescribeConfigs": ("DescribeConfigs",),
    "Fetch": ("Read",),
    "Metadata": ("Read", "Describe"),  # Read includes it, so both are missing
}
"""The operations on its topic that the principal lacks where a request of the API is refused."""
_WRITING = {
    "CreateTopics": (f"create the topic {REGISTRY_TOPIC}", MissingRight("Create", "the cluster")),
    "Produce": ("write the registry", MissingRight("Write", REGISTRY_TOPIC)),
}
"""The action and the right of each API that changes the registry."""


class RegistryTopic(Struct, frozen=True, kw_only=True):
    """The leader of the registry's only partition; every new leader has a higher epoch."""

    topic_id: uuid.UUID
    leader: int
    leader_epoch: int


def find_topic(wire: Wire, timeout_s: float = TIMEOUT_S) -> RegistryTopic | None:
    """Find the registry's topic; None only where a broker reports that no topic has this name.

    Raises:
        SafetyError: it has no leader, or its configs are not those that kgitops sets.
        UnreachableError: the principal may not see it.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        # By name and without auto-creation: the list of all topics omits those it may not show.
        named = MetadataRequest.MetadataRequestTopic(name=REGISTRY_TOPIC, topic_id=None)
        asked = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=TOPIC,
            resource_name=REGISTRY_TOPIC,
            configuration_keys=list(_REQUIRED),
        )
        metadata, configs = wire.send_all(
            [
                MetadataRequest(topics=[named], allow_auto_topic_creation=False),
                DescribeConfigsRequest(
                    resources=[asked], include_synonyms=False, include_documentation=False
                ),
            ],
            _first,
        )
        if metadata.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        topic, _ = read_all(
            partial(_leader, wire.principal, metadata),
            partial(check_authorized, wire.principal, configs.error_code, "DescribeConfigs"),
        )
        if topic and _checked(configs):
            return topic
        if time.monotonic() >= deadline:
            raise SafetyError(
                f"the registry can't be read, because the topic {REGISTRY_TOPIC} has had no leader "
                f"for {timeout_s:g} s; start the broker that keeps it, then try again"
            )
        time.sleep(POLL_S)


def create_topic(wire: Wire) -> RegistryTopic:
    """Create the topic, or find the one that another contender just created.

    Raises:
        UnreachableError: the cluster refuses it, or it does not become visible.
        SafetyError: the topic that exists by now is not a registry.
    """
    brokers = len(wire.send(MetadataRequest(topics=[])).brokers)
    copies = min(3, brokers)
    configs = {**_CONFIGS, "min.insync.replicas": "2" if copies > 2 else "1"}
    topic = CreateTopicsRequest.CreatableTopic(
        name=REGISTRY_TOPIC,
        num_partitions=1,
        replication_factor=copies,
        assignments=[],
        configs=[
            CreateTopicsRequest.CreatableTopic.CreatableTopicConfig(name=name, value=value)
            for name, value in configs.items()
        ],
    )
    request = CreateTopicsRequest(
        topics=[topic], timeout_ms=int(TIMEOUT_S * 1000), validate_only=False
    )
    answer = wire.send(request).topics[0]
    # An attempt whose answer was lost may have created it, and so may another contender.
    if answer.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        check_authorized(wire.principal, answer.error_code, "CreateTopics")
        raise UnreachableError(
            f"the topic {REGISTRY_TOPIC}, where kgitops keeps its registry, can't be created: "
            f"{error_text(answer.error_code, answer.error_message)}"
        )
    deadline = time.monotonic() + TIMEOUT_S
    while (created := find_topic(wire)) is None:
        # The broker that answers may not know it yet.
        if time.monotonic() >= deadline:
            raise UnreachableError(
                f"the topic {REGISTRY_TOPIC} was created, but is not to be seen after "
                f"{TIMEOUT_S:g} s; try again"
            )
        time.sleep(POLL_S)
    return created


def check_authorized(principal: str, code: int, api: str) -> None:
    """Check that the broker's answer to a request of this API is not an authorization failure.

    Raises:
        UnreachableError: it is; the missing right is named.
    """
    if code not in _DENIED:
        return
    if api in _WRITING:
        action, right = _WRITING[api]
        raise UnreachableError(refusal(principal, action, [right]))
    refused = RefusedRead("the registry", ErrorCode(code))
    operations = _READING[api]
    missing = {MissingRight(operation, REGISTRY_TOPIC): refused for operation in operations}
    raise missing_rights_error(principal, missing)


def error_text(code: int, message: str | None = None) -> str:
    """Format Kafka's name of an error, and the broker's message."""
    name = getattr(for_code(code), "message", None) or str(code)
    return f"{name}: {message}" if message else f"{name}"


def _first(answer: Message) -> Message:
    """Return the only topic of Metadata, or the only resource of DescribeConfigs."""
    return answer.results[0] if isinstance(answer, DescribeConfigsResponse) else answer.topics[0]


def _leader(principal: str, topic: Message) -> RegistryTopic | None:
    """Return the leader of its partition; None while there is none."""
    check_authorized(principal, topic.error_code, "Metadata")
    if topic.error_code not in (ErrorCode.NONE, *_NOT_YET):
        raise SafetyError(
            f"the registry {REGISTRY_TOPIC} can't be read ({error_text(topic.error_code)}); "
            "see that the brokers run, then try again"
        )
    if len(topic.partitions) > 1:
        raise SafetyError(
            f"the topic {REGISTRY_TOPIC} has {len(topic.partitions)} partitions, so it is "
            "not a registry of kgitops; find out who changed it before anything is planned"
        )
    for partition in topic.partitions:
        if partition.leader_id >= 0 and topic.topic_id:
            return RegistryTopic(
                topic_id=topic.topic_id,
                leader=partition.leader_id,
                leader_epoch=partition.leader_epoch,
            )
    return None


def _checked(answer: Message) -> bool:
    """Check its configs; return False where this broker does not know them yet."""
    if answer.error_code in NO_SUCH_TOPIC:
        return False
    if answer.error_code:
        raise SafetyError(
            f"the configs of the topic {REGISTRY_TOPIC} can't be read, so it can't be trusted: "
            f"{error_text(answer.error_code, answer.error_message)}; try again"
        )
    values: Mapping[str, str] = {config.name: config.value for config in answer.configs}
    for name, value in _REQUIRED.items():
        if values.get(name) != value:
            raise SafetyError(
                f"the topic {REGISTRY_TOPIC} has {name}={values.get(name)}, so it can't be trusted "
                f"to know who owns what; find out who changed that, and set it to {value} again"
            )
    return True
