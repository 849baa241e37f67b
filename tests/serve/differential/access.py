"""Random requests about ACLs, quotas, users, moves, and what brokers tell of the cluster."""

from random import Random
from typing import Any

from serve.differential.steps import (
    ANY,
    HOSTS,
    LITERAL,
    PREFIXED,
    PRINCIPALS,
    QUOTAS,
    TIMEOUT_MS,
    TOPICS,
    Ids,
    Step,
    replicas,
    step,
    topic_name,
)

from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.messages import Message

CLUSTER_TYPE, USER_TYPE = 4, 7


def create_acls(random: Random) -> Step:
    row = messages.CreateAclsRequest.AclCreation
    rows = []
    for _ in range(random.choice((1, 1, 2))):
        kind = random.choice((2, 2, 3, CLUSTER_TYPE, 5, 6, USER_TYPE))
        name = random.choice(("kafka-cluster", "a")) if kind == CLUSTER_TYPE else "a"
        rows.append(
            row(
                resource_type=kind,
                resource_name=name if random.random() < 0.95 else "",
                resource_pattern_type=random.choice((LITERAL, LITERAL, PREFIXED, ANY)),
                principal=random.choice(PRINCIPALS),
                host=random.choice(HOSTS),
                operation=random.choice((2, 3, 4, 5, 8, 12, 13, ANY)),
                permission_type=random.choice((2, 3, 3, ANY)),
            )
        )
    return step("CreateAcls", random, lambda _: messages.CreateAclsRequest(creations=rows))


def _acl_filter(random: Random) -> dict[str, Any]:
    return {
        "resource_type_filter": random.choice((ANY, ANY, 2, CLUSTER_TYPE, 0)),
        "resource_name_filter": random.choice((None, None, "a", "ab")),
        "pattern_type_filter": random.choice((ANY, 2, LITERAL, PREFIXED)),
        "principal_filter": random.choice((None, None, *PRINCIPALS)),
        "host_filter": random.choice((None, None, *HOSTS)),
        "operation": random.choice((ANY, ANY, 3, 4)),
        "permission_type": random.choice((ANY, ANY, 3)),
    }


def describe_acls(random: Random) -> Step:
    chosen = _acl_filter(random)
    return step("DescribeAcls", random, lambda _: messages.DescribeAclsRequest(**chosen))


def delete_acls(random: Random) -> Step:
    row = messages.DeleteAclsRequest.DeleteAclsFilter
    rows = [row(**_acl_filter(random)) for _ in range(random.choice((1, 1, 2)))]
    return step("DeleteAcls", random, lambda _: messages.DeleteAclsRequest(filters=rows))


def alter_quotas(random: Random) -> Step:
    request = messages.AlterClientQuotasRequest
    kinds = random.choice(
        (
            ("user",),
            ("user",),
            ("client-id",),
            ("user", "client-id"),
            ("ip",),
            ("ip", "user"),
            ("x",),
        )
    )
    entity = [
        request.EntityData(
            entity_type=kind,
            entity_name=random.choice((None, "10.0.0.1" if kind == "ip" else "a")),
        )
        for kind in kinds
    ]
    (key, value) = random.choice(QUOTAS)
    change = request.OpData(key=key, value=value, remove=random.random() < 0.3)
    return step(
        "AlterClientQuotas",
        random,
        lambda _: request(
            entries=[request.EntryData(entity=entity, ops=[change])],
            validate_only=random.random() < 0.2,
        ),
    )


def describe_quotas(random: Random) -> Step:
    component = messages.DescribeClientQuotasRequest.ComponentData
    rows = [
        component(
            entity_type=kind,
            match_type=(match := random.choice((0, 1, 2))),
            match="a" if match == 0 else None,
        )
        for kind in random.choice(((), ("user",), ("client-id",), ("user", "client-id"), ("ip",)))
    ]
    return step(
        "DescribeClientQuotas",
        random,
        lambda _: messages.DescribeClientQuotasRequest(
            components=rows, strict=random.random() < 0.5
        ),
    )


def alter_users(random: Random) -> Step:
    request = messages.AlterUserScramCredentialsRequest
    name, mechanism = random.choice(("u", "v", "")), random.choice((1, 2, 2, 7))
    if random.random() < 0.6:
        made = request.ScramCredentialUpsertion(
            name=name,
            mechanism=mechanism,
            iterations=random.choice((4096, 8192, 10, 20_000)),
            salt=b"salt" * 4,
            salted_password=b"p" * (32 if mechanism == 1 else 64),
        )
        whole = request(upsertions=[made])
    else:
        whole = request(deletions=[request.ScramCredentialDeletion(name=name, mechanism=mechanism)])
    return step("AlterUserScramCredentials", random, lambda _: whole)


def describe_users(random: Random) -> Step:
    user = messages.DescribeUserScramCredentialsRequest.UserName
    names = random.choice((None, ("u",), ("v", "w"), ("u", "u")))
    rows = None if names is None else [user(name=name) for name in names]
    return step(
        "DescribeUserScramCredentials",
        random,
        lambda _: messages.DescribeUserScramCredentialsRequest(users=rows),
    )


def alter_moves(random: Random) -> Step:
    request = messages.AlterPartitionReassignmentsRequest
    lists = [random.choice((None, replicas(random), replicas(random))) for _ in range(2)]
    rows = [
        request.ReassignablePartition(partition_index=random.choice((0, 0, 1, 7)), replicas=chosen)
        for chosen in lists[: random.choice((1, 1, 2))]
    ]
    row = request.ReassignableTopic(name=topic_name(random), partitions=rows)
    return step(
        "AlterPartitionReassignments",
        random,
        lambda _: request(topics=[row], timeout_ms=TIMEOUT_MS),
    )


def elect_leaders(random: Random) -> Step:
    topic = messages.ElectLeadersRequest.TopicPartitions
    row = topic(topic=topic_name(random), partitions=random.choice(([0], [0, 1], [7])))
    return step(
        "ElectLeaders",
        random,
        lambda version: messages.ElectLeadersRequest(
            topic_partitions=[row],
            timeout_ms=TIMEOUT_MS,
            election_type=random.choice((0, 1)) if version else 0,
        ),
    )


def metadata(random: Random) -> Step:
    request = messages.MetadataRequest
    version = random.choice(apis()[keys()["Metadata"]].versions)
    name, everything, by_id = random.choice(TOPICS), random.random() < 0.3, random.random() < 0.5
    bits = version >= 8 and random.random() < 0.5

    def make(ids: Ids) -> Message:
        row = request.MetadataRequestTopic(name=name)
        if version >= 12 and by_id:
            row = request.MetadataRequestTopic(name=None, topic_id=ids.get(name, b"\x07" * 16))
        topics = [] if version == 0 else None
        return request(
            topics=topics if everything else [row],
            allow_auto_topic_creation=version < 4,
            include_topic_authorized_operations=bits,
        )

    return Step("Metadata", version, make)


def describe_cluster(random: Random) -> Step:
    return step(
        "DescribeCluster",
        random,
        lambda _: messages.DescribeClusterRequest(
            include_cluster_authorized_operations=random.random() < 0.5
        ),
    )


def describe_partitions(random: Random) -> Step:
    topic = messages.DescribeTopicPartitionsRequest.TopicRequest
    names = random.sample(TOPICS, random.choice((0, 1, 2)))
    return step(
        "DescribeTopicPartitions",
        random,
        lambda _: messages.DescribeTopicPartitionsRequest(
            topics=[topic(name=name) for name in names],
            response_partition_limit=random.choice((2000, 2000, 2, 0)),
        ),
    )
