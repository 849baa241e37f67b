"""Made-up requests of every kind, on which expressions are tried out when they are loaded."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kgitops.model import requests as wire
from kgitops.model.acls import AclBinding, Operation, PatternType, PermissionType, ResourceType
from kgitops.model.cluster_state import Broker
from kgitops.model.cluster_state import ClusterState as Snapshot
from kgitops.model.quotas import (
    CLIENT_ID,
    IP,
    USER,
    ClientQuotaEntity,
    ClientQuotaState,
    make_entity,
)
from kgitops.model.topics import RequestedTopicState, TopicState
from kgitops.policy.asked import Asked, ask
from kgitops.policy.cluster_state import ClusterState
from kgitops.policy.principal import Principal
from kgitops.policy.world import World

_NAME, _ID = "sample", "AAAAAAAAAAAAAAAAAAAAAA"
_KEYS = ("retention.ms", "cleanup.policy")
_QUOTA_KEYS = ("producer_byte_rate", "consumer_byte_rate")


@dataclass(frozen=True)
class Sample:
    """A request, and the cluster that it is asked of."""

    asked: Asked
    cluster: ClusterState


def samples(api: str, words: Iterable[str]) -> Iterator[Sample]:
    """Requests of one kind, between them with and without everything that may be missing.

    ``words`` are the texts that the policy names: each may be a key, so that every map has them.
    """
    keys = tuple(dict.fromkeys((*_KEYS, *words)))
    quota_keys = tuple(dict.fromkeys((*_QUOTA_KEYS, *words)))
    match api:
        case "CreateTopic" | "AlterTopic" | "DeleteTopic" | "DeleteRecords":
            yield from _topics(api, keys)
        case "CreateAcl" | "DeleteAcl":
            yield from _acls(api)
        case "AlterClientQuota":
            yield from _quotas(quota_keys)
        case "AlterBroker":
            yield from _brokers(keys)
        case _:
            return


def _sample(
    request: wire.Request,
    snapshot: Snapshot,
    broker_configs: Mapping[str, str] | None = None,
) -> Sample:
    world = World(snapshot)
    asked = ask(request, Principal("User", "sample"), world, broker_configs)
    return Sample(asked, ClusterState(world, broker_configs))


def _snapshot(
    topics: Mapping[str, TopicState] | None = None,
    quotas: Mapping[ClientQuotaEntity, ClientQuotaState] | None = None,
    *,
    racks: bool = True,
) -> Snapshot:
    brokers = tuple(Broker(id=id_, rack=f"rack{id_}" if racks else None) for id_ in (1, 2, 3))
    return Snapshot(
        cluster_id="sample",
        backend="embedded",
        brokers=brokers,
        topics=topics or {},
        quotas=quotas or {},
    )


def _topics(api: str, keys: tuple[str, ...]) -> Iterator[Sample]:
    ones, twos = dict.fromkeys(keys, "1"), dict.fromkeys(keys, "2")
    for before, after, racks in ((ones, twos, True), ({}, ones, False), (ones, {}, True)):
        current = TopicState(name=_NAME, topic_id=_ID, assignment=((1, 2, 3),), configs=before)
        requested = RequestedTopicState(
            name=_NAME,
            topic_id=None if api == "CreateTopic" else _ID,
            assignment=((1, 2, 3), (2, 3, 1), (3, 1, 2)),
            configs=after,
            requested_configs={**dict.fromkeys(before), **after},
        )
        known = {} if api == "CreateTopic" else {_NAME: current}
        yield _sample(_topic_request(api, requested), _snapshot(known, racks=racks))


def _topic_request(api: str, requested: RequestedTopicState) -> wire.Request:
    match api:
        case "CreateTopic":
            return wire.CreateTopicRequest(topic=_NAME, requested_state=requested)
        case "AlterTopic":
            step = wire.AlterStep.CONFIGS
            return wire.AlterTopicRequest(
                topic=_NAME, topic_id=_ID, step=step, requested_state=requested
            )
        case "DeleteTopic":
            return wire.DeleteTopicRequest(topic=_NAME, topic_id=_ID)
        case _:
            return wire.DeleteRecordsRequest(
                topic=_NAME, topic_id=_ID, deleted_message_offsets={0: 5}
            )


def _acls(api: str) -> Iterator[Sample]:
    binding = AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name=_NAME,
        pattern_type=PatternType.LITERAL,
        principal="User:sample",
        host="*",
        operation=Operation.READ,
        permission_type=PermissionType.ALLOW,
    )
    created = wire.CreateAclRequest(binding=binding)
    deleted = wire.DeleteAclRequest(binding=binding)
    for racks in (True, False):
        yield _sample(created if api == "CreateAcl" else deleted, _snapshot(racks=racks))


def _quotas(keys: tuple[str, ...]) -> Iterator[Sample]:
    ones, twos = dict.fromkeys(keys, 1.0), dict.fromkeys(keys, 2.0)
    entities = (
        make_entity({USER: "sample", CLIENT_ID: None}),
        make_entity({IP: "192.0.2.1"}),
    )
    gone: dict[str, float | None] = dict.fromkeys(keys)
    for entity in entities:
        for before, named in ((ones, {**twos}), ({}, {**ones}), (ones, gone)):
            held = {entity: ClientQuotaState(entity=entity, quotas=before)} if before else {}
            request = wire.AlterClientQuotaRequest(entity=entity, quotas=named)
            yield _sample(request, _snapshot(quotas=held, racks=bool(before)))


def _brokers(keys: tuple[str, ...]) -> Iterator[Sample]:
    ones = dict.fromkeys(keys, "1")
    twos: dict[str, str | None] = dict.fromkeys(keys, "2")
    gone: dict[str, str | None] = dict.fromkeys(keys)
    for before, named, racks in ((ones, twos, True), ({}, twos, False), (ones, gone, True)):
        request = wire.AlterBrokerRequest(broker=1, configs=named)
        yield _sample(request, _snapshot(racks=racks), before)
