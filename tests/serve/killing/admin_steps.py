"""Steps of a client that manages topics, rights, quotas and users, each about several at once."""

from serve.answers.settings.test_acl_answers import binding, matching
from serve.killing.step import Step
from serve.topic_requests import new_topic

from kgitops.wire import messages
from kgitops.wire.messages import Message

_EXISTS, _SAME_PARTITIONS, _NO_SUCH_TOPIC, _NO_SUCH_USER = 36, 37, 17, 91
_TOPIC, _SET, _DELETE = 2, 0, 1
_WRITE = 4
_SHA_512 = 2


def create_topics(*topics: Message) -> Step:
    topics = topics or (
        new_topic("orders", 2, 1, configs={"retention.ms": "5000"}),
        new_topic("audit", 1, 1),
        new_topic("payments", 1, 1),
        new_topic("table", 1, 1, configs={"cleanup.policy": "compact"}),
    )
    return Step(
        api="CreateTopics",
        version=7,
        request=lambda _: messages.CreateTopicsRequest(topics=list(topics), timeout_ms=10_000),
        codes=lambda answer: (row.error_code for row in answer.topics),
        when_repeated=frozenset({_EXISTS}),
    )


def create_partitions() -> Step:
    request = messages.CreatePartitionsRequest
    topics = [
        request.CreatePartitionsTopic(name="orders", count=3, assignments=None),
        request.CreatePartitionsTopic(name="audit", count=2, assignments=None),
    ]
    return Step(
        api="CreatePartitions",
        version=3,
        request=lambda _: request(topics=topics, timeout_ms=10_000),
        codes=lambda answer: (row.error_code for row in answer.results),
        when_repeated=frozenset({_SAME_PARTITIONS}),
    )


def alter_configs() -> Step:
    request = messages.IncrementalAlterConfigsRequest
    altered = {
        "orders": [("retention.ms", _SET, "7000"), ("segment.ms", _SET, "9000")],
        "audit": [("retention.bytes", _SET, "5"), ("segment.ms", _DELETE, None)],
    }
    resources = [
        request.AlterConfigsResource(
            resource_type=_TOPIC,
            resource_name=name,
            configs=[
                request.AlterableConfig(name=key, config_operation=operation, value=value)
                for key, operation, value in configs
            ],
        )
        for name, configs in altered.items()
    ]
    return Step(
        api="IncrementalAlterConfigs",
        version=1,
        request=lambda _: request(resources=resources),
        codes=lambda answer: (row.error_code for row in answer.responses),
    )


def create_acls() -> Step:
    bindings = [binding(principal=f"User:{name}") for name in "abb"]
    bindings[1].operation = _WRITE
    return Step(
        api="CreateAcls",
        version=3,
        request=lambda _: messages.CreateAclsRequest(creations=bindings),
        codes=lambda answer: (row.error_code for row in answer.results),
    )


def delete_acls() -> Step:
    request = messages.DeleteAclsRequest
    filters = [matching(request.DeleteAclsFilter, principal="User:b")]
    return Step(
        api="DeleteAcls",
        version=3,
        request=lambda _: request(filters=filters),
        codes=lambda answer: (row.error_code for row in answer.filter_results),
    )


def alter_quotas() -> Step:
    request = messages.AlterClientQuotasRequest
    entries = [
        request.EntryData(
            entity=[request.EntityData(entity_type="user", entity_name=name)],
            ops=[
                request.OpData(key=key, value=7.0)
                for key in ("producer_byte_rate", "consumer_byte_rate")
            ],
        )
        for name in ("alice", None)
    ]
    return Step(
        api="AlterClientQuotas",
        version=1,
        request=lambda _: request(entries=entries),
        codes=lambda answer: (row.error_code for row in answer.entries),
    )


def alter_scram(*users: str, gone: str | None = None) -> Step:
    request = messages.AlterUserScramCredentialsRequest
    upsertions = [
        request.ScramCredentialUpsertion(
            name=user, mechanism=_SHA_512, iterations=4096, salt=b"salt", salted_password=b"x" * 64
        )
        for user in users
    ]
    deletions = [request.ScramCredentialDeletion(name=gone, mechanism=_SHA_512)] if gone else []
    return Step(
        api="AlterUserScramCredentials",
        version=0,
        request=lambda _: request(upsertions=upsertions, deletions=deletions),
        codes=lambda answer: (row.error_code for row in answer.results),
        when_repeated=frozenset({_NO_SUCH_USER}),
    )


def delete_topics() -> Step:
    request = messages.DeleteTopicsRequest
    topics = [request.DeleteTopicState(name=name) for name in ("audit", "payments")]
    return Step(
        api="DeleteTopics",
        version=6,
        request=lambda _: request(topics=topics, timeout_ms=10_000),
        codes=lambda answer: (row.error_code for row in answer.responses),
        when_repeated=frozenset({_NO_SUCH_TOPIC}),
    )
