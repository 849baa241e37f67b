"""The closed set of changes a cluster can be asked to make; each is one logical request."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from kgitops.model.acls import AclBinding
from kgitops.model.quotas import ClientQuotaEntity
from kgitops.model.topics import RequestedTopicState


class AlterStep(StrEnum):
    """The parts of a topic that Kafka changes by separate calls (P201-11)."""

    CONFIGS = "configs"
    PARTITIONS = "partitions"
    REPLICAS = "replicas"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicRequest:
    """CreateTopics: one topic; ``requested_state.topic_id`` is None until a broker mints it."""

    topic: str
    requested_state: RequestedTopicState


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTopicRequest:
    """One step of an alteration: IncrementalAlterConfigs, CreatePartitions or a reassignment.

    ``requested_state`` is the whole topic after this step and no further one.
    """

    topic: str
    topic_id: str
    step: AlterStep
    requested_state: RequestedTopicState


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicRequest:
    """DeleteTopics, by topic id only: a topic made anew under the name survives."""

    topic: str
    topic_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsRequest:
    """DeleteRecords: partition id to the first offset that is kept (P201-58, P201-59)."""

    topic: str
    topic_id: str
    deleted_message_offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAclRequest:
    """CreateAcls: one binding; one that exists already is a success."""

    binding: AclBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAclRequest:
    """DeleteAcls with a filter that matches this binding and no other."""

    binding: AclBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterClientQuotaRequest:
    """AlterClientQuotas: key to the new value, None for a key that is removed."""

    entity: ClientQuotaEntity
    quotas: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterBrokerRequest:
    """IncrementalAlterConfigs of one broker's replication throttle: key to value, None removes it.

    No other config of a broker is ever changed: :data:`kgitops.model.throttles.RATES`.
    """

    broker: int
    configs: Mapping[str, str | None]


Request = (
    CreateTopicRequest
    | AlterTopicRequest
    | DeleteTopicRequest
    | DeleteRecordsRequest
    | CreateAclRequest
    | DeleteAclRequest
    | AlterClientQuotaRequest
    | AlterBrokerRequest
)


def api_name(request: Request) -> str:
    """The request's ``api`` in a plan: ``CreateTopic``, ``AlterTopic``, ``DeleteAcl``, …."""
    return type(request).__name__.removesuffix("Request")
