"""What laws are tried on: projects, and clusters that other people change behind their back.

Names come from small pools, so that projects, look-alikes and leftovers meet. What others do is
given as requests, so that the same strategies drive a model and a real cluster.
"""

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import assert_never

from builders import (
    IN_ENVIRONMENT,
    a_binding,
    a_consumer_group,
    a_desired,
    a_quota,
    a_tombstone,
    a_topic,
    a_user,
    an_acl,
    an_entity,
    some_broker_configs,
    some_client_metrics,
)
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.state import DesiredState, Safety
from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.json.declared import (
    ConfigsPolicy,
    DeletionPolicy,
    DesiredCredential,
    DesiredGroup,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredUser,
    Tombstone,
)
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.secrets import SaltedPassword
from kgitops.model.resources.topics import Assignment, RequestedTopicState, TopicState
from kgitops.model.resources.users import (
    UNKNOWN_PASSWORD,
    PasswordSource,
    ScramIterations,
    ScramMechanism,
)

BROKERS = tuple(Broker(id=number, rack="ab"[number % 2]) for number in range(1, 5))
TOPICS = ("orders", "orders.v1", "Orders", "payments")
PRINCIPALS = ("User:billing", "User:audit", "User:*")
HOSTS = ("*", "10.0.0.1")
ENTITIES = (
    an_entity(user="billing"),
    an_entity(user="billing", client_id=None),
    an_entity(client_id="<default>"),
    an_entity(client_id=None),
)
CONFIGS: Mapping[str, tuple[str, ...]] = {
    "retention.ms": ("1000", "604800000", "-1"),
    "segment.ms": ("1000", "2000"),
    "cleanup.policy": ("delete", "compact", "compact,delete"),
    "min.insync.replicas": ("1", "2"),
}
# As others write them; Kafka keeps the text as it was given.
OTHER_SPELLINGS = {
    "retention.ms": ("1000", " 1000", "604800000"),
    "cleanup.policy": ("delete,compact", "delete", "compact"),
    "preallocate": ("TRUE", "true"),
    "leader.replication.throttled.replicas": ("*", "0:1"),
}
QUOTA_KEYS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
USERS = ("reports", "etl")
ITERATIONS = (4096, 4097)
SOURCES = (IN_ENVIRONMENT, PasswordSource(env="OTHER_PASSWORD"))
# Configs of resources beside topics: groups of the cluster, client metrics and brokers.
RESOURCES: Mapping[ConfigResourceType, tuple[str, Mapping[str, tuple[str, ...]]]] = {
    ConfigResourceType.GROUP: (
        "etl",
        {
            "consumer.session.timeout.ms": ("45000", "50000"),
            "consumer.heartbeat.interval.ms": ("5000", "6000"),
        },
    ),
    ConfigResourceType.CLIENT_METRICS: (
        "lag",
        {"interval.ms": ("30000", "60000"), "metrics": ("org.apache.kafka.",)},
    ),
    ConfigResourceType.BROKER: (
        "<default>",
        {"log.retention.ms": ("1000", "2000"), "background.threads": ("9", "11")},
    ),
}
SALTED = SaltedPassword(b"salt", b"salted password of others")
HIGH_WATERMARK = 20
"""Where every partition that others write to ends."""


DELETED = ("Topic", "Acl", "ClientQuota", "User", "ConsumerGroup", "ClientMetrics", "BrokerConfig")


class Team(Struct, frozen=True):
    """A project, as its repository names it."""

    name: str
    uid: str | None
    take_from: tuple[str, ...] = ()


TEAMS = (
    Team("payments", "uid-payments"),
    Team("billing", "uid-billing"),
    Team("legacy", None),
    Team("default", None),
    Team("heir", "uid-heir", take_from=("legacy",)),
)

policies = st.none() | st.sampled_from(DeletionPolicy)
rates = st.sampled_from((1.0, 1024.0, 12.5))
_either = st.booleans()
_mostly = st.integers(0, 4).map(bool)
_seldom = st.integers(0, 4).map(lambda number: number == 4)

# Hypothesis looks once into each strategy that it draws from: it is quicker with the same ones.
one_of = cache(st.sampled_from)
some_of = cache(partial(st.lists, unique=True))  # in the order drawn: that of a set differs
between = cache(st.integers)


# Projects


@st.composite
def declared_topics(draw: st.DrawFn, name: str, state: TopicState | None = None) -> DesiredTopic:
    """A declared topic; of one that is there it seldom asks for what can't be done."""
    least = state.num_partitions if state and draw(_mostly) else 1
    records = draw(_seldom) and (state is not None or draw(_seldom))
    common = {
        "configs": {key: draw(one_of(values)) for key, values in CONFIGS.items() if draw(_either)},
        "deletion_policy": draw(policies),
        "configs_policy": draw(one_of(ConfigsPolicy)),
        "delete_records_before": {0: draw(between(0, HIGH_WATERMARK))} if records else {},
    }
    if draw(_seldom):
        return a_topic(name, assignment=draw(assignments(least, least + 2)), **common)
    return a_topic(
        name,
        partitions=draw(between(least, least + 2)),
        replication_factor=draw(between(1, 3)),
        **common,
    )


@st.composite
def assignments(
    draw: st.DrawFn, least: int = 1, most: int = 4, factor: int | None = None
) -> Assignment:
    """Replica lists of one length on the brokers there are."""
    factor = factor or draw(between(1, 3))
    return tuple(draw(_replicas(factor, least, most)))


@cache
def _replicas(factor: int, least: int, most: int) -> st.SearchStrategy[list[tuple[int, ...]]]:
    orders = st.permutations([broker.id for broker in BROKERS])
    return st.lists(orders.map(lambda it: tuple(it[:factor])), min_size=least, max_size=most)


topic_bindings = st.builds(
    a_binding,
    one_of(PRINCIPALS),
    one_of(("Read", "Write", "Describe", "All")),
    one_of((*TOPICS, "*")),
    host=one_of(HOSTS),
    permission=one_of(("Allow", "Deny")),
) | st.builds(
    a_binding,
    one_of(PRINCIPALS),
    one_of(("Read", "Describe", "All")),
    one_of(("o", "orders", "orders.", "p")),
    pattern=st.just("prefixed"),
    host=one_of(HOSTS),
    permission=one_of(("Allow", "Deny")),
)
bindings = topic_bindings | st.builds(
    a_binding,
    one_of(PRINCIPALS),
    one_of(("Read", "All")),
    one_of(TOPICS),
    resource=st.just("group"),
)


@st.composite
def declared_quotas(draw: st.DrawFn) -> DesiredQuota:
    """The declared quotas of one entity."""
    keys = draw(some_of(one_of(QUOTA_KEYS), min_size=1))
    return a_quota(
        draw(one_of(ENTITIES)),
        deletion_policy=draw(policies),
        **{key: draw(one_of((1.0, 1024.0))) for key in sorted(keys)},
    )


@st.composite
def declared_users(draw: st.DrawFn, name: str, held: ScramIterations | None = None) -> DesiredUser:
    """A declared user; of one that is there it seldom sets a password that nobody knows."""
    mechanisms = draw(some_of(one_of(ScramMechanism), min_size=1))
    known = not held or draw(_mostly)
    return replace(
        a_user(name, deletion_policy=draw(policies)),
        credentials={
            mechanism: DesiredCredential(
                iterations=draw(one_of(ITERATIONS)),
                password=draw(one_of(SOURCES)) if known else UNKNOWN_PASSWORD,
                version=draw(one_of((None, "1", "2"))),
            )
            for mechanism in ScramMechanism
            if mechanism in mechanisms
        },
    )


@st.composite
def declared_resources(draw: st.DrawFn, kind: ConfigResourceType) -> DesiredObject:
    """The declared group, client metrics or broker configs."""
    name, values = RESOURCES[kind]
    keys = draw(some_of(one_of(tuple(sorted(values))), min_size=1))
    configs = {key: draw(one_of(values[key])) for key in sorted(keys)}
    match kind:
        case ConfigResourceType.GROUP:
            return a_consumer_group(name, configs=configs, deletion_policy=draw(policies))
        case ConfigResourceType.BROKER:
            made = some_broker_configs(name, deletion_policy=draw(policies))
            return replace(made, configs=configs)
        case ConfigResourceType.CLIENT_METRICS:
            metrics = some_client_metrics(name, deletion_policy=draw(policies))
            return replace(metrics, configs=configs)
        case _:
            assert_never(kind)


@st.composite
def projects(
    draw: st.DrawFn,
    team: Team,
    before: DesiredState | None,
    state: ClusterState | None = None,
    *,
    users: bool = False,
    resources: bool = False,
) -> DesiredState:
    """What a team declares: something new, or what it declared before with a few edits.

    Who knows the cluster's ``state`` seldom asks for what can't be done. Limits on deletions are
    lifted, they have tests of their own. A document that goes may leave a Tombstone behind, and
    Tombstones stay around when they are spent. ``users``: passwords can be read; ``resources``:
    groups and client metrics can.
    """
    topics = state.topics if state else {}
    kept: dict[str, DesiredObject] = {}
    for item in _objects(before):
        if draw(between(0, 2)):
            kept[item.address] = _kept_up(draw, item, topics)
    for name in draw(some_of(one_of(TOPICS), max_size=3)):
        topic = draw(declared_topics(name, topics.get(name)))
        kept[topic.address] = topic
    for binding in draw(some_of(bindings, max_size=3)):
        acl = an_acl(binding, deletion_policy=draw(policies))
        kept[acl.address] = acl
    for quota in draw(st.lists(declared_quotas(), max_size=2)):
        kept[quota.address] = quota
    for name in draw(some_of(one_of(USERS), max_size=1)) if users else ():
        user = draw(declared_users(name, (state.users or {}).get(name) if state else None))
        kept[user.address] = user
    for kind in draw(some_of(one_of(ConfigResourceType))) if resources else ():
        resource = draw(declared_resources(kind))
        kept[resource.address] = resource
    whole = draw(_mostly)
    return a_desired(
        *kept.values(),
        *_tombstones(draw, before, kept),
        project=team.name,
        uid=team.uid,
        take_from=team.take_from,
        whole=whole,
        safety=Safety(allow_deletes=dict.fromkeys(DELETED, 99)),
        principal=draw(one_of(PRINCIPALS)),
    )


def _kept_up(
    draw: st.DrawFn, item: DesiredObject, topics: Mapping[str, TopicState]
) -> DesiredObject:
    """A document; mostly the team has noticed that others added partitions."""
    topic = topics.get(item.name) if isinstance(item, DesiredTopic) else None
    if topic is None or topic.num_partitions <= item.partitions or draw(_seldom):
        return item
    return replace(
        item,
        partitions=topic.num_partitions,
        assignment=None if item.assignment is None else topic.assignment,
        replication_factor=topic.replication_factor,
    )


def _tombstones(
    draw: st.DrawFn, before: DesiredState | None, kept: Mapping[str, DesiredObject]
) -> list[Tombstone]:
    found = {
        tombstone.address: tombstone
        for tombstone in (before.tombstones if before else ())
        if tombstone.address not in kept and draw(_mostly)
    }
    for item in _objects(before):
        protected = isinstance(item, DesiredTopic | DesiredUser | DesiredGroup)
        if item.address not in kept and (draw(_mostly) if protected else draw(_seldom)):
            name = f"drop-{draw(one_of((1, 2)))}-{item.address}"
            found[item.address] = a_tombstone(item, name=name)
    return list(found.values())


def _objects(desired: DesiredState | None) -> Iterable[DesiredObject]:
    return desired.objects if desired else ()


# What others do


@st.composite
def foreign_requests(
    draw: st.DrawFn, state: ClusterState, *, resources: bool = False
) -> list[req.Request]:
    """A few changes that somebody makes by hand, each legal and about another object."""
    requests: list[req.Request] = []
    for name in draw(some_of(one_of(TOPICS), max_size=2)):
        topic = state.topics.get(name)
        requests += draw(_new_topics(name) if topic is None else _topic_changes(topic))
    for binding in draw(some_of(bindings, max_size=2)):
        known = binding in state.acls
        requests.append((req.DeleteAclRequest if known else req.CreateAclRequest)(binding=binding))
    if draw(_seldom) and state.acls:
        gone = draw(st.sampled_from(sorted(state.acls)))
        if all(getattr(request, "binding", None) != gone for request in requests):
            requests.append(req.DeleteAclRequest(binding=gone))
    for entity in draw(some_of(one_of(ENTITIES), max_size=2)):
        there = state.quotas.get(entity)
        keys = draw(some_of(one_of(QUOTA_KEYS), min_size=1, max_size=2))
        quotas = {
            key: None if there and key in there.quotas and draw(_either) else draw(rates)
            for key in sorted(keys)
        }
        requests.append(req.AlterClientQuotaRequest(entity=entity, quotas=quotas))
    for name in draw(some_of(one_of(USERS), max_size=1)) if state.users is not None else ():
        requests.append(draw(_credential_changes(name, state.users.get(name, {}))))
    for kind in draw(some_of(one_of(ConfigResourceType))) if resources else ():
        requests.append(draw(_resource_changes(kind)))
    return requests


@st.composite
def _resource_changes(draw: st.DrawFn, kind: ConfigResourceType) -> req.Request:
    name, values = RESOURCES[kind]
    key = draw(one_of(tuple(sorted(values))))
    value = draw(st.none() | one_of(values[key]))
    return req.AlterConfigResourceRequest(
        resource_type=kind, resource_name=name, configs={key: value}
    )


@st.composite
def _credential_changes(draw: st.DrawFn, name: str, held: ScramIterations) -> req.Request:
    mechanism = draw(one_of(ScramMechanism))
    if mechanism in held and draw(_either):
        return req.AlterUserScramCredentialsRequest(user=name, mechanism=mechanism)
    return req.SaltedCredentialsRequest(
        user=name,
        mechanism=mechanism,
        iterations=draw(one_of(ITERATIONS)),
        salted=SALTED,
    )


@st.composite
def _new_topics(draw: st.DrawFn, name: str) -> list[req.Request]:
    configs = _others_configs(draw)
    state = RequestedTopicState(
        name=name,
        topic_id=None,
        assignment=draw(assignments()),
        configs=configs,
        requested_configs=configs,
    )
    return [req.CreateTopicRequest(topic=name, requested_state=state)]


@st.composite
def _topic_changes(draw: st.DrawFn, topic: TopicState) -> list[req.Request]:
    topic_id = topic.topic_id or ""
    now = RequestedTopicState(
        name=topic.name, topic_id=topic_id, assignment=topic.assignment, configs=topic.configs
    )
    match draw(one_of(("configs", "configs", "partitions", "replicas", "gone", "anew"))):
        case "configs":
            requested: dict[str, str | None] = dict(_others_configs(draw))
            for key in topic.configs:
                if draw(_seldom):
                    requested[key] = None
            merged = {**topic.configs, **requested}
            after = replace(
                now,
                configs={key: value for key, value in merged.items() if value is not None},
                requested_configs=requested,
            )
            return [_alter(topic, req.AlterStep.CONFIGS, after)] if requested else []
        case "partitions":
            added = draw(assignments(1, 2, topic.replication_factor))
            after = replace(now, assignment=topic.assignment + added)
            return [_alter(topic, req.AlterStep.PARTITIONS, after)]
        case "replicas":
            moved = draw(assignments(topic.num_partitions, topic.num_partitions))
            after = replace(now, assignment=moved)
            if topic.reassigning or moved == topic.assignment:
                return []
            return [_alter(topic, req.AlterStep.REPLICAS, after)]
        case "gone":
            return [req.DeleteTopicRequest(topic=topic.name, topic_id=topic_id)]
        case _:
            gone = req.DeleteTopicRequest(topic=topic.name, topic_id=topic_id)
            return [gone, *draw(_new_topics(topic.name))]


def _others_configs(draw: st.DrawFn) -> dict[str, str]:
    keys = draw(some_of(one_of(tuple(sorted(OTHER_SPELLINGS))), max_size=2))
    return {key: draw(one_of(OTHER_SPELLINGS[key])) for key in sorted(keys)}


def _alter(
    topic: TopicState, step: req.AlterStep, after: RequestedTopicState
) -> req.AlterTopicRequest:
    return req.AlterTopicRequest(
        topic=topic.name, topic_id=topic.topic_id or "", step=step, requested_state=after
    )
