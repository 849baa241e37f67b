"""Answers to Alice, who has only the rights that a case gives her."""

from collections.abc import Callable, Sequence

from cluster.kafka.difference_world import (
    ALICE,
    CONFIGS,
    PARTITIONS,
    REPLICAS,
    TWO,
    Ask,
    Case,
    World,
    cut,
    delete,
)
from cluster_contract.contract import alteration, binding, creation

from kgitops.model import requests as req
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.topics import LEADER_RATE

_Prepare = Callable[[World, str], Sequence[Ask]]


def _acl(kind: ResourceType, name: str, operation: Operation) -> AclBinding:
    return AclBinding(
        resource_type=kind,
        resource_name=name,
        pattern_type=PatternType.LITERAL,
        principal=ALICE,
        host="*",
        operation=operation,
        permission_type=PermissionType.ALLOW,
    )


def _case(
    rpc: str,
    name: str,
    prepare: _Prepare,
    *,
    topic: Sequence[Operation] = (),
    cluster: Sequence[Operation] = (),
) -> Case:
    def rights(topic_name: str) -> Sequence[AclBinding]:
        return [
            *(_acl(ResourceType.TOPIC, topic_name, operation) for operation in topic),
            *(_acl(ResourceType.CLUSTER, CLUSTER_NAME, operation) for operation in cluster),
        ]

    return Case(rpc, name, prepare, rights=rights)


def _of_topic(rpc: str, right: Operation, prepare: _Prepare) -> Sequence[Case]:
    """Without any right, with one to see the topic, with the right one, with one on the cluster."""
    see = Operation.DESCRIBE
    return (
        _case(rpc, "without a right", prepare),
        _case(rpc, "with the right to Describe", prepare, topic=[see]),
        _case(rpc, f"with the right to {right.value}", prepare, topic=[see, right]),
        _case(
            rpc,
            f"with the right to {right.value} on the cluster",
            prepare,
            topic=[see],
            cluster=[right],
        ),
    )


def _of_cluster(rpc: str, right: Operation, prepare: _Prepare) -> Sequence[Case]:
    see = Operation.DESCRIBE
    return (
        _case(rpc, "without a right", prepare),
        _case(rpc, "with the right to Describe", prepare, topic=[see], cluster=[see]),
        _case(
            rpc,
            f"with the right to {right.value} on the cluster",
            prepare,
            topic=[see],
            cluster=[right],
        ),
    )


_QUOTA = req.AlterClientQuotaRequest(
    entity=make_entity({"user": "alice"}), quotas={"producer_byte_rate": 1.0}
)
_WRONG_QUOTA = req.AlterClientQuotaRequest(
    entity=make_entity({"user": "alice"}), quotas={"no_such_rate": 1.0}
)
_RATE = req.AlterBrokerRequest(broker=1, configs={LEADER_RATE: "1000"})
_WRONG_RATE = req.AlterBrokerRequest(broker=1, configs={LEADER_RATE: "slow"})

RIGHTS: Sequence[Case] = (
    *_of_topic("CreateTopic", Operation.CREATE, lambda _, n: [creation(n)]),
    _case(
        "CreateTopic",
        "without a right, the metadata topic",
        lambda _, __: [creation("__cluster_metadata")],
    ),
    _case(
        "CreateTopic",
        "without a right, it exists",
        lambda w, n: [creation(w.topic(n).name)],
    ),
    _case("CreateTopic", "without a right, no name", lambda _, __: [creation("")]),
    *_of_topic(
        "AlterTopic configs",
        Operation.ALTER_CONFIGS,
        lambda w, n: [alteration(w.topic(n), CONFIGS, configs={"retention.ms": "1"})],
    ),
    *_of_topic(
        "AlterTopic partitions",
        Operation.ALTER,
        lambda w, n: [alteration(w.topic(n), PARTITIONS, assignment=(*TWO, (3, 1)))],
    ),
    *_of_cluster(
        "AlterTopic replicas",
        Operation.ALTER,
        lambda w, n: [alteration(w.topic(n), REPLICAS, assignment=((2, 3), (3, 1)))],
    ),
    *_of_topic("DeleteTopic", Operation.DELETE, lambda w, n: [delete(w.topic(n))]),
    *_of_topic("DeleteRecords", Operation.DELETE, lambda w, n: [cut(w.topic(n), {0: 0})]),
    *_of_cluster(
        "CreateAcl", Operation.ALTER, lambda _, n: [req.CreateAclRequest(binding=binding(n))]
    ),
    *_of_cluster(
        "DeleteAcl", Operation.ALTER, lambda _, n: [req.DeleteAclRequest(binding=binding(n))]
    ),
    *_of_cluster("AlterClientQuota", Operation.ALTER_CONFIGS, lambda _, __: [_QUOTA]),
    _case("AlterClientQuota", "without a right, an unknown key", lambda _, __: [_WRONG_QUOTA]),
    *_of_cluster("AlterBroker", Operation.ALTER_CONFIGS, lambda _, __: [_RATE]),
    _case("AlterBroker", "without a right, no number", lambda _, __: [_WRONG_RATE]),
)
