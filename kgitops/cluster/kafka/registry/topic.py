"""The topic ``__kgitops``: whether it is there, whether it can be trusted, and how it is made."""

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from kafka.errors import for_code
from kafka.protocol.admin import (
    CreateTopicsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from kafka.protocol.metadata import MetadataRequest

from kgitops.cluster.kafka.protocol_values import TOPIC
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.errors import SafetyError, UnreachableError
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.results import NO_SUCH_TOPIC, ErrorCode

PATIENCE_S = 40.0
"""How long to wait for a leader, or for the end of what a dead writer left unfinished.

Kafka ends a transaction at most ``transaction.timeout.ms`` (15 s, set by the writer) plus the
coordinator's ``transaction.abort.timed.out.transaction.cleanup.interval.ms`` (10 s) after it began.
"""

POLL_S = 0.05
_REQUIRED = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
_CONFIGS = {
    **_REQUIRED,
    # Ownership must never be lost to a replica that lags behind.
    "unclean.leader.election.enable": "false",
    # A piece of a plan has 512 KiB at most; a smaller default of the cluster must not refuse it.
    "max.message.bytes": "1048588",
    # Small segments and an eager cleaner, so that reading does not mean reading all history.
    "segment.bytes": str(16 << 20),
    "segment.ms": str(24 * 3600 * 1000),
    "min.cleanable.dirty.ratio": "0.1",
    # Whoever reads on from an offset must meet the deletions since: no run is that long.
    "delete.retention.ms": str(7 * 24 * 3600 * 1000),
}
_NOT_YET = frozenset({ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.REPLICA_NOT_AVAILABLE})
_DENIED = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryTopic:
    """Where the registry's only partition is kept; ``leader_epoch`` grows with every new leader."""

    topic_id: uuid.UUID
    leader: int
    leader_epoch: int


def find_topic(wire: Wire, patience_s: float = PATIENCE_S) -> RegistryTopic | None:
    """The registry's topic; None only where a broker says that no topic has this name.

    Raises:
        SafetyError: it has no leader, or is not what kgitops made.
        UnreachableError: the principal may not see it.
    """
    deadline = time.monotonic() + patience_s
    while True:
        # By name and without auto-creation: the list of all topics omits what may not be seen.
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
        refuse(metadata.error_code, "Describe and Read")
        found = _leader(metadata)
        if found and _checked(configs):
            return found
        if time.monotonic() >= deadline:
            raise SafetyError(
                f"the registry can't be read, because the topic {REGISTRY_TOPIC} has had no leader "
                f"for {patience_s:g} s; start the broker that keeps it, then try again"
            )
        time.sleep(POLL_S)


def create_topic(wire: Wire) -> RegistryTopic:
    """Make the topic, or find that another contender just did.

    Raises:
        UnreachableError: the cluster refuses it, or it does not come to life.
        SafetyError: what is there by now is no registry.
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
        topics=[topic], timeout_ms=int(PATIENCE_S * 1000), validate_only=False
    )
    (answer,) = wire.send(request).topics
    # An attempt whose answer was lost may have made it, and so may another contender.
    if answer.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        refuse(answer.error_code, "Create")
        raise UnreachableError(
            f"the topic {REGISTRY_TOPIC}, where kgitops keeps its registry, can't be created: "
            f"{error_text(answer.error_code, answer.error_message)}"
        )
    deadline = time.monotonic() + PATIENCE_S
    while (found := find_topic(wire)) is None:
        # The broker that answers may not have heard of it yet.
        if time.monotonic() >= deadline:
            raise UnreachableError(
                f"the topic {REGISTRY_TOPIC} was created, but is not to be seen after "
                f"{PATIENCE_S:g} s; try again"
            )
        time.sleep(POLL_S)
    return found


def refuse(code: int, right: str) -> None:
    """Say which right is missing, where that is what the broker answered.

    Raises:
        UnreachableError: it is.
    """
    if code in _DENIED:
        raise UnreachableError(
            f"the cluster refuses this principal its registry: it needs {right} on topic "
            f"{REGISTRY_TOPIC}; grant that, then try again"
        )


def error_text(code: int, message: str | None = None) -> str:
    """Kafka's name of an error, and its own words."""
    name = getattr(for_code(code), "message", None) or str(code)
    return f"{name}: {message}" if message else f"{name}"


def _first(answer: Message) -> Message:
    """The one topic of Metadata, the one resource of DescribeConfigs."""
    return answer.results[0] if isinstance(answer, DescribeConfigsResponse) else answer.topics[0]


def _leader(topic: Message) -> RegistryTopic | None:
    """Where its partition is led; None while that is not decided."""
    if topic.error_code not in (ErrorCode.NONE, *_NOT_YET):
        raise SafetyError(
            f"the registry {REGISTRY_TOPIC} can't be read ({error_text(topic.error_code)}); "
            "see that the brokers run, then try again"
        )
    if len(topic.partitions) > 1:
        raise SafetyError(
            f"the topic {REGISTRY_TOPIC} has {len(topic.partitions)} partitions, so it is no "
            "registry of kgitops; find out who changed it before anything is planned"
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
    """Whether its configs are right; False where this broker does not know them yet."""
    if answer.error_code in NO_SUCH_TOPIC:
        return False
    refuse(answer.error_code, "DescribeConfigs")
    if answer.error_code:
        raise SafetyError(
            f"the configs of the topic {REGISTRY_TOPIC} can't be read, so it can't be trusted: "
            f"{error_text(answer.error_code, answer.error_message)}; try again"
        )
    found: Mapping[str, str] = {config.name: config.value for config in answer.configs}
    for name, value in _REQUIRED.items():
        if found.get(name) != value:
            raise SafetyError(
                f"the topic {REGISTRY_TOPIC} has {name}={found.get(name)}, so it can't be trusted "
                f"to know who owns what; find out who changed that, and set it to {value} again"
            )
    return True
