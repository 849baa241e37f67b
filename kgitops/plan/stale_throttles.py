"""Finds throttles that an unfinished run of this project left behind; a new plan removes them."""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.requests import AlterBrokerRequest, AlterTopicRequest
from kgitops.model.resources.addresses import local_topic_address, topic_address
from kgitops.model.resources.topic_configs import normal_value
from kgitops.model.resources.topics import TopicState
from kgitops.plan.document.plan import PlannedRequest

RestoredConfigs = Mapping[str, str | None]
"""The keys that a run set, with their values before."""


class StaleThrottles(Struct, frozen=True, kw_only=True):
    """Throttles that are still as the run left them, by the topic's address or the broker's id."""

    topics: Mapping[str, RestoredConfigs] = field(default_factory=dict)
    brokers: Mapping[int, RestoredConfigs] = field(default_factory=dict)


NO_STALE_THROTTLES = StaleThrottles()


def find_stale_throttles(
    pending_undo_requests: Iterable[PlannedRequest], current: ClusterState
) -> StaleThrottles:
    """Find the throttles that the run's pending undo requests would still remove.

    Throttles that somebody has changed since are no longer the run's.
    """
    topics: dict[str, RestoredConfigs] = {}
    brokers: dict[int, dict[str, str | None]] = {}
    by_id = {broker.id: broker for broker in current.brokers}
    for planned in pending_undo_requests:
        match planned.request:
            case AlterTopicRequest(topic=name, topic_id=topic_id) as request:
                topic = current.topics.get(name)
                if topic and topic.topic_id == topic_id and _topic_is_as_left(topic, planned):
                    local = request.local
                    address = local_topic_address(local) if local else topic_address(name)
                    topics[address] = request.requested_state.requested_configs
            case AlterBrokerRequest(broker=number, configs=configs):
                if number in by_id and _broker_is_as_left(by_id[number], planned):
                    brokers.setdefault(number, {}).update(configs)
            case _:
                pass
    return StaleThrottles(topics=topics, brokers=brokers)


def _topic_is_as_left(topic: TopicState, planned: PlannedRequest) -> bool:
    fields = {f"configs.{key}": normal_value(key, text) for key, text in topic.configs.items()}
    return all(fields.get(path) == text for path, text in planned.expects.fields.items())


def _broker_is_as_left(broker: Broker, planned: PlannedRequest) -> bool:
    fields = {f"throttles.{key}": text for key, text in (broker.throttles or {}).items()}
    return all(fields.get(path) == text for path, text in planned.expects.fields.items())
