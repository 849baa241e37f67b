"""Topics that brokers have created: their own, and those that Metadata is asked for (KIP-590).

A broker asks the controller as any client does, by CreateTopics in an Envelope. For topics of its
own it asks in its own name; in seed mode policies are not asked then, which no client can have: the
flag is one of the Envelope, and counts for a broker's internal topics alone (F590-34).
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.controller import Controller
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.options import BROKER_PRINCIPAL
from kgitops.model.resources.names import INTERNAL_TOPICS
from kgitops.model.results import ErrorCode
from kgitops.serve.call import ApiCall
from kgitops.serve.forwarding.envelope import ForwardedClient
from kgitops.serve.nodes import ServedCluster
from kgitops.wire import messages
from kgitops.wire.apis import Api, apis, keys
from kgitops.wire.codec import read
from kgitops.wire.frames import SIZE_BYTES, request_frame, response_tags
from kgitops.wire.messages import Message

T = TypeVar("T")

CREATE_TOPICS = "CreateTopics"
VERSION = 7
_PARTITIONS = {
    "__consumer_offsets": ("offsets.topic.num.partitions", 50, "offsets.topic.replication.factor"),
    "__transaction_state": (
        "transaction.state.log.num.partitions",
        50,
        "transaction.state.log.replication.factor",
    ),
    "__share_group_state": (
        "share.coordinator.state.topic.num.partitions",
        50,
        "share.coordinator.state.topic.replication.factor",
    ),
}
_REPLICATION_FACTOR = 3
_CONFIGS = {
    "__consumer_offsets": {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    },
    "__transaction_state": {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "2",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    },
}


class BrokerAdmin(EmbeddedAdmin):
    """A broker's own connection: it may do everything."""

    def __init__(self, controller: Controller, *, host: str, bypasses_policies: bool) -> None:
        super().__init__(controller, principal=BROKER_PRINCIPAL, host=host)
        self._bypasses_policies = bypasses_policies

    def _ask(self, decide: Callable[[Draft], T], *, validate_only: bool = False) -> T:
        def decide_for_broker(draft: Draft) -> T:
            draft.authorizer = draft.authorizer.allowing_everything()
            if self._bypasses_policies:
                draft.policies = None
            return decide(draft)

        return super()._ask(decide_for_broker, validate_only=validate_only)


def broker_admin(
    call: ApiCall, request: Message, client: ForwardedClient, *, bypasses_policies: bool
) -> EmbeddedAdmin | None:
    """The connection for a broker's own request for internal topics; None for any other request."""
    if (
        client.via is None
        or client.principal != BROKER_PRINCIPAL
        or not isinstance(request, messages.CreateTopicsRequest)
        or any(topic.name not in INTERNAL_TOPICS for topic in request.topics)
    ):
        return None
    return BrokerAdmin(
        call.cluster.controller, host=client.host, bypasses_policies=bypasses_policies
    )


def internal_topic(cluster: ServedCluster, name: str) -> Message:
    """An internal topic as brokers' configs want it, on no more brokers than there are."""
    partitions_key, partitions, factor_key = _PARTITIONS[name]
    static = cluster.controller.options.static_configs
    living = len(cluster.living_brokers(cluster.view()))
    request = messages.CreateTopicsRequest
    return request.CreatableTopic(
        name=name,
        num_partitions=int(static.get(partitions_key, partitions)),
        replication_factor=int(static.get(factor_key, min(_REPLICATION_FACTOR, living))),
        configs=[
            request.CreatableTopicConfig(name=key, value=value)
            for key, value in _CONFIGS.get(name, {}).items()
        ],
    )


def created_topic(static: Mapping[str, str], name: str) -> Message:
    """A topic as brokers make those that clients ask for."""
    return messages.CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=int(static.get("num.partitions", "1")),
        replication_factor=int(static.get("default.replication.factor", "1")),
    )


def create_topics_frame(client_id: str | None, topic: Message, timeout_ms: int) -> bytes:
    """A broker's CreateTopics for one topic, without its length."""
    request = messages.CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms)
    return request_frame(_api(), VERSION, 0, client_id, request)[SIZE_BYTES:]


def created_code(answer: bytes) -> ErrorCode:
    """The error in the answer to a broker's CreateTopics; the answer has no length."""
    after = 4 + response_tags(_api(), VERSION)
    response = read(messages.CreateTopicsResponse, VERSION, answer, after)
    return ErrorCode(response.topics[0].error_code)


def _api() -> Api:
    return apis()[keys()[CREATE_TOPICS]]
