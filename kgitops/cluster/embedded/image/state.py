"""Builds the model's values from an image: the cluster's state, and topics' requests to judge."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec.structs import replace

from kgitops.cluster.embedded.image.image import Image, ScramCredential, TopicImage
from kgitops.cluster.embedded.options import AuthorizerKind, Options
from kgitops.model.cluster_state import ClusterState, FoundObject, TopicUsage, Usage
from kgitops.model.registry import RegistryState
from kgitops.model.requests import AlterStep, AlterTopicRequest, CreateTopicRequest
from kgitops.model.resources.config_resources import ConfigResourceType, FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import RESOURCE_OF, Kind
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topic_configs import topic_configs
from kgitops.model.resources.topics import RATES, Assignment, RequestedTopicState, TopicState
from kgitops.model.resources.users import FoundUser, ScramIterations, ScramMechanism
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.virtual_clusters.image import linked_topics

BACKEND = "embedded"


def build_cluster_state(
    image: Image,
    options: Options,
    *,
    cluster_id: str,
    topics: frozenset[str] | None,
    registry: RegistryState | None,
    captured_at: str,
    links: frozenset[LocalName] = frozenset(),
) -> ClusterState:
    """The cluster at one moment, topics in the order of their names; ``topics`` None: all."""
    if topics is not None:
        topics |= linked_topics(image.virtual_clusters.by_name, links)
    brokers = tuple(
        replace(broker, throttles=_throttles(image.configs.brokers.get(str(broker.id), {})))
        for broker in image.brokers.brokers.values()
    )
    chosen = list(_chosen(image.topics.by_name, topics))
    quotas = image.quotas.quotas
    return ClusterState(
        cluster_id=cluster_id,
        backend=BACKEND,
        brokers=brokers,
        controller_id=controller_id(image),
        topics={topic.name: topic_state(topic) for topic in chosen},
        acls=image.acls.bindings,
        quotas={
            entity: ClientQuotaState(entity=entity, quotas=quotas[entity])
            for entity in sorted(quotas, key=_entity_order)
        },
        moving={topic.name: tuple(sorted(topic.targets)) for topic in chosen if topic.targets},
        broker_defaults=topic_defaults(options.static_configs, image.configs.brokers.get("", {})),
        has_authorizer=options.authorizer is not AuthorizerKind.DISABLED,
        virtual_clusters=dict(sorted(image.virtual_clusters.by_name.items())),
        registry=registry,
        captured_at=captured_at,
    )


def build_usage(image: Image, topics: frozenset[str]) -> Usage:
    """Offsets and sizes of these topics; the embedded cluster has no consumers."""
    chosen = _chosen(image.topics.by_name, topics)
    return Usage(topics={topic.name: _usage(topic) for topic in chosen})


def find_objects(
    image: Image, kind: Kind, names: frozenset[str] | None, busy: frozenset[str]
) -> Sequence[FoundObject]:
    """The users, groups or config resources of these names, or all; never a key of a user.

    ``busy`` are the groups that have members.
    """
    if kind is Kind.USER:
        users = image.scram.users
        return [
            FoundUser(name=name, held=_mechanisms(users[name])) for name in _among(users, names)
        ]
    resource = RESOURCE_OF[kind]
    held = image.configs.named(resource)
    if resource is ConfigResourceType.GROUP:
        wanted = sorted(held.keys() if names is None else names)
        groups = (_group(image, name, busy) for name in wanted)
        return [group for group in groups if group.exists]
    return [
        FoundConfigs(type=resource, name=name, configs=dict(sorted(held[name].items())))
        for name in _among(held, names)
    ]


def _among(held: Mapping[str, object], names: frozenset[str] | None) -> list[str]:
    return sorted(held.keys() if names is None else held.keys() & names)


def _mechanisms(held: Mapping[str, ScramCredential]) -> ScramIterations:
    return {ScramMechanism(key): item.iterations for key, item in sorted(held.items())}


def _group(image: Image, name: str, busy: frozenset[str]) -> FoundGroup:
    held = image.groups.groups.get(name)
    return FoundGroup(
        name=name,
        known=held is not None,
        active=name in busy,
        offsets=held.committed if held else {},
        configs=dict(sorted(image.configs.groups.get(name, {}).items())),
    )


def controller_id(image: Image) -> int:
    """The controller is the living broker with the lowest id; -1 when there is none (A4-21)."""
    alive = (broker.id for broker in image.brokers.brokers.values() if not broker.fenced)
    return min(alive, default=-1)


def topic_state(topic: TopicImage) -> TopicState:
    """The topic as policies and the planner see it."""
    return TopicState(
        name=topic.name,
        topic_id=topic.topic_id,
        assignment=topic.target_assignment,
        configs=topic.configs,
        marked_for_deletion=topic.marked_for_deletion,
        reassigning=bool(topic.targets),
    )


def _throttles(configs: Mapping[str, str]) -> Mapping[str, str]:
    return {key: configs[key] for key in RATES if key in configs}


def _chosen(
    by_name: Mapping[str, TopicImage], topics: frozenset[str] | None
) -> Iterable[TopicImage]:
    names = by_name.keys() if topics is None else by_name.keys() & topics
    return (by_name[name] for name in sorted(names))


def _usage(topic: TopicImage) -> TopicUsage:
    if not topic.offsets:
        return _empty_usage(len(topic.assignment))
    held = [topic.offsets_of(partition) for partition in range(len(topic.assignment))]
    return TopicUsage(
        log_start_offsets=tuple(start for start, _, _ in held),
        high_watermarks=tuple(high_watermark for _, high_watermark, _ in held),
        size_bytes=tuple(size for _, _, size in held),
        active_groups=(),
    )


@cache
def _empty_usage(partitions: int) -> TopicUsage:
    zeros = (0,) * partitions
    return TopicUsage(
        log_start_offsets=zeros, high_watermarks=zeros, size_bytes=zeros, active_groups=()
    )


def _entity_order(entity: ClientQuotaEntity) -> tuple[tuple[str, bool, str], ...]:
    return tuple((kind, name is not None, name or "") for kind, name in entity)


def topic_defaults(*layers: Mapping[str, str]) -> dict[str, str]:
    """The brokers' configs that are defaults of topic configs, by the topic's key; last wins."""
    defaults: dict[str, str] = {}
    if not any(layers):
        return defaults
    for key, config in topic_configs().items():
        for layer in layers:
            if config.server_default is not None and config.server_default in layer:
                defaults[key] = layer[config.server_default]
    return defaults


def create_topic_request(
    name: str,
    *,
    assignment: Assignment,
    configs: Mapping[str, str],
    generated: bool,
    local: LocalName | None = None,
) -> CreateTopicRequest:
    """The request for a new topic; ``generated``: the caller did not place replicas (P201-23)."""
    state = RequestedTopicState(
        name=name,
        topic_id=None,
        assignment=assignment,
        configs=configs,
        requested_configs=configs,
        generated_replica_assignments=generated,
    )
    return CreateTopicRequest(topic=name, requested_state=state, local=local)


def alter_topic_request(
    topic: TopicImage,
    step: AlterStep,
    *,
    assignment: Assignment | None = None,
    configs: Mapping[str, str] | None = None,
    requested_configs: Mapping[str, str | None] | None = None,
    generated: bool = False,
) -> AlterTopicRequest:
    """The request with the whole topic as it will be; omitted parts stay the same (P201-31)."""
    state = RequestedTopicState(
        name=topic.name,
        topic_id=topic.topic_id,
        assignment=topic.target_assignment if assignment is None else assignment,
        configs=topic.configs if configs is None else configs,
        marked_for_deletion=topic.marked_for_deletion,
        requested_configs=requested_configs or {},
        generated_replica_assignments=generated,
    )
    return AlterTopicRequest(
        topic=topic.name, topic_id=topic.topic_id, step=step, requested_state=state
    )
