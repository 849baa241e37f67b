"""Random requests about topics and configs."""

from collections.abc import Sequence
from random import Random

from serve.differential.steps import (
    APPEND,
    BROKER,
    BROKER_CONFIGS,
    CONFIGS,
    DELETE,
    GROUP,
    METRICS,
    SET,
    SUBTRACT,
    TIMEOUT_MS,
    TOPIC,
    Ids,
    Step,
    replicas,
    step,
    topic_name,
)

from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.messages import NIL_UUID, Message


def create_topics(random: Random) -> Step:
    request = messages.CreateTopicsRequest
    topic, config = request.CreatableTopic, request.CreatableTopicConfig
    placed = request.CreatableReplicaAssignment
    rows = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        row = topic(name=topic_name(random), num_partitions=-1, replication_factor=-1)
        if random.random() < 0.75:
            width = len(replicas(random)) or 1
            row.assignments = [
                placed(partition_index=at, broker_ids=_of_width(random, width))
                for at in range(random.choice((1, 2, 3)))
            ]
        else:
            row.num_partitions = random.choice((-1, 1, 3, 0, -2, 10_001))
            row.replication_factor = random.choice((3, 3, 0, 4, -2))
        if random.random() < 0.5:
            chosen = random.sample(CONFIGS, random.choice((1, 1, 2)))
            row.configs = [config(name=name, value=value) for name, value in dict(chosen).items()]
        rows.append(row)
    return step(
        "CreateTopics",
        random,
        lambda _: request(topics=rows, timeout_ms=TIMEOUT_MS, validate_only=random.random() < 0.2),
    )


def _of_width(random: Random, width: int) -> list[int]:
    if random.random() < 0.9:
        return random.sample((1, 2, 3), width)
    return replicas(random)


def delete_topics(random: Random) -> Step:
    request = messages.DeleteTopicsRequest
    version = random.choice(apis()[keys()["DeleteTopics"]].versions)
    names = [topic_name(random) for _ in range(random.choice((1, 1, 2)))]
    if version < 6:
        whole = request(topic_names=names, timeout_ms=TIMEOUT_MS)
        return Step("DeleteTopics", version, lambda _: whole)
    by_id = [random.random() < 0.4 for _ in names]

    def make(ids: Ids) -> Message:
        state = request.DeleteTopicState
        rows = [
            state(name=None, topic_id=ids.get(name, bytes(15) + b"\x07"))
            if is_id
            else state(name=name, topic_id=NIL_UUID)
            for name, is_id in zip(names, by_id, strict=True)
        ]
        return request(topics=rows, timeout_ms=TIMEOUT_MS)

    return Step("DeleteTopics", version, make)


def create_partitions(random: Random) -> Step:
    request = messages.CreatePartitionsRequest
    row = request.CreatePartitionsTopic(
        name=topic_name(random), count=random.choice((1, 2, 3, 4, 5, 0, -1))
    )
    if random.random() < 0.6:
        placed = request.CreatePartitionsAssignment
        width = random.choice((1, 2, 2, 3))
        row.assignments = [
            placed(broker_ids=_of_width(random, width)) for _ in range(random.choice((1, 1, 2)))
        ]
    else:
        row.assignments = None
    return step(
        "CreatePartitions",
        random,
        lambda _: request(topics=[row], timeout_ms=TIMEOUT_MS, validate_only=random.random() < 0.2),
    )


def alter_configs(random: Random) -> Step:
    request = messages.AlterConfigsRequest
    kind, name, pool = _resource(random)
    chosen = dict(random.sample(pool, min(len(pool), random.choice((1, 1, 2)))))
    row = request.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[request.AlterableConfig(name=key, value=value) for key, value in chosen.items()],
    )
    return step(
        "AlterConfigs",
        random,
        lambda _: request(resources=[row], validate_only=random.random() < 0.3),
        broker=_asked(kind, name),
    )


def incremental_alter_configs(random: Random) -> Step:
    request = messages.IncrementalAlterConfigsRequest
    kind, name, pool = _resource(random)
    chosen = random.sample(pool, min(len(pool), random.choice((1, 1, 2))))
    rows = []
    for key, value in chosen:
        operation = random.choice((SET, SET, SET, DELETE, APPEND, SUBTRACT, 9))
        row = request.AlterableConfig(name=key, config_operation=operation, value=value)
        rows.append(row)
    whole = request.AlterConfigsResource(resource_type=kind, resource_name=name, configs=rows)
    return step(
        "IncrementalAlterConfigs",
        random,
        lambda _: request(resources=[whole], validate_only=random.random() < 0.3),
        broker=_asked(kind, name),
    )


def _resource(random: Random) -> tuple[int, str, Sequence[tuple[str, str | None]]]:
    draw = random.random()
    if draw < 0.7:
        return TOPIC, topic_name(random), CONFIGS
    if draw < 0.85:
        return BROKER, random.choice(("", "1", "2", "9", "x")), BROKER_CONFIGS
    if draw < 0.92:
        metrics = (("interval.ms", "5000"), ("interval.ms", "1"), ("metrics", "a"), ("x", "1"))
        return METRICS, random.choice(("m", "")), metrics
    session = "consumer.session.timeout.ms"
    return GROUP, random.choice(("g", "")), ((session, "50000"), (session, "1"), ("x", "1"))


def _asked(kind: int, name: str) -> int:
    return 2 if kind == BROKER and name == "2" else 1


def describe_configs(random: Random) -> Step:
    resource = messages.DescribeConfigsRequest.DescribeConfigsResource
    kind, name, pool = _resource(random)
    row = resource(resource_type=kind, resource_name=name, configuration_keys=None)
    if random.random() < 0.5 or kind == BROKER:
        row.configuration_keys = sorted({key for key, _ in pool})
    return step(
        "DescribeConfigs",
        random,
        lambda version: messages.DescribeConfigsRequest(
            resources=[row], include_synonyms=random.random() < 0.6
        ),
        broker=_asked(kind, name),
    )


def list_config_resources(random: Random) -> Step:
    kinds = random.choice(([], [METRICS], [GROUP], [METRICS, GROUP], [TOPIC]))
    return step(
        "ListConfigResources",
        random,
        lambda version: messages.ListConfigResourcesRequest(
            resource_types=kinds if version else []
        ),
    )
