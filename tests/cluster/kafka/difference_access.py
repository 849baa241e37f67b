"""ACLs, quotas and brokers' rates, in every way that they can go wrong, and missing rights."""

from collections.abc import Callable, Mapping, Sequence

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
from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import ClientQuotaEntity, make_entity
from kgitops.model.resources.topics import FOLLOWER_RATE, LEADER_RATE

_BINDINGS: Mapping[str, AclBinding] = {
    "as asked": binding(),
    "every topic": replace(binding(), resource_name="*"),
    "a prefix": replace(binding(), pattern_type=PatternType.PREFIXED),
    "the prefix that is a star": replace(
        binding(), pattern_type=PatternType.PREFIXED, resource_name="*"
    ),
    "no resource name": replace(binding(), resource_name=""),
    "a topic name that can not be": replace(binding(), resource_name="a b"),
    "the cluster": replace(
        binding(operation=Operation.ALTER),
        resource_type=ResourceType.CLUSTER,
        resource_name=CLUSTER_NAME,
    ),
    "a cluster of another name": replace(
        binding(operation=Operation.ALTER), resource_type=ResourceType.CLUSTER, resource_name="x"
    ),
    "the cluster as a prefix": replace(
        binding(operation=Operation.ALTER),
        resource_type=ResourceType.CLUSTER,
        resource_name=CLUSTER_NAME,
        pattern_type=PatternType.PREFIXED,
    ),
    "a transactional id": replace(
        binding(operation=Operation.WRITE), resource_type=ResourceType.TRANSACTIONAL_ID
    ),
    "a delegation token": replace(
        binding(operation=Operation.DESCRIBE), resource_type=ResourceType.DELEGATION_TOKEN
    ),
    "a user": replace(
        binding("User:billing", Operation.CREATE_TOKENS), resource_type=ResourceType.USER
    ),
    "a user that is none": replace(
        binding("billing", Operation.CREATE_TOKENS), resource_type=ResourceType.USER
    ),
    "two-phase commit": replace(
        binding(operation=Operation.TWO_PHASE_COMMIT), resource_type=ResourceType.TRANSACTIONAL_ID
    ),
    "an operation that groups do not know": replace(
        binding(operation=Operation.WRITE), resource_type=ResourceType.GROUP
    ),
    "a principal without a type": replace(binding(), principal="billing"),
    "no principal": replace(binding(), principal=""),
    "a principal without a name": replace(binding(), principal="User:"),
    "a principal without a type's name": replace(binding(), principal=":billing"),
    "everyone": replace(binding(), principal="User:*"),
    "no host": replace(binding(), host=""),
    "a host that is no address": replace(binding(), host="example.com"),
}

CREATE_ACL = (
    *(
        Case("CreateAcl", name, lambda _, __, acl=acl: [req.CreateAclRequest(binding=acl)])  # type: ignore[misc]
        for name, acl in _BINDINGS.items()
    ),
    Case("CreateAcl", "again", lambda _, __: [req.CreateAclRequest(binding=binding("again"))] * 2),
    Case(
        "CreateAcl",
        "one wrong among three",
        lambda _, n: [
            req.CreateAclRequest(binding=acl)
            for acl in (binding(n), replace(binding(n), principal="x"), binding(f"{n}-2"))
        ],
    ),
)

DELETE_ACL = (
    *(
        Case("DeleteAcl", name, lambda _, __, acl=acl: [req.DeleteAclRequest(binding=acl)])  # type: ignore[misc]
        for name, acl in _BINDINGS.items()
    ),
    Case("DeleteAcl", "again", lambda _, __: [req.DeleteAclRequest(binding=binding("again"))] * 2),
)


def _quota(name: str, entity: ClientQuotaEntity, **quotas: float | None) -> Case:
    return Case(
        "AlterClientQuota",
        name,
        lambda _, __: [req.AlterClientQuotaRequest(entity=entity, quotas=quotas)],
    )


_USER: ClientQuotaEntity = (("user", "billing"),)
_IP: ClientQuotaEntity = (("ip", "10.0.0.1"),)

ALTER_CLIENT_QUOTA = (
    _quota("as asked", _USER, producer_byte_rate=1024.0, request_percentage=12.5),
    _quota("the default user", (("user", None),), controller_mutation_rate=1000.5),
    _quota("a user's client", (("user", "a"), ("client-id", None)), consumer_byte_rate=1.0),
    _quota("an address", _IP, connection_creation_rate=5.0),
    _quota("every address", (("ip", None),), connection_creation_rate=5.0),
    _quota("an address of IPv6", (("ip", "::1"),), connection_creation_rate=5.0),
    _quota("an address by name", (("ip", "localhost"),), connection_creation_rate=5.0),
    _quota("no address", (("ip", "999.1.1.1"),), connection_creation_rate=5.0),
    _quota("no entity", (), producer_byte_rate=1.0),
    _quota("an unknown type of entity", (("group", "a"),), producer_byte_rate=1.0),
    _quota("an empty user", (("user", ""),), producer_byte_rate=1.0),
    _quota("an empty client", (("client-id", ""),), producer_byte_rate=1.0),
    _quota("an empty address", (("ip", ""),), connection_creation_rate=1.0),
    _quota("a user at an address", (("user", "a"), *_IP), connection_creation_rate=1.0),
    _quota("no keys", _USER),
    _quota("an unknown key", _USER, no_such_rate=1.0),
    _quota("removes an unknown key", _USER, no_such_rate=None),
    _quota("a key of addresses", _USER, connection_creation_rate=1.0),
    _quota("a key of users", _IP, consumer_byte_rate=1.0),
    _quota("zero", _USER, consumer_byte_rate=0.0),
    _quota("negative", _USER, consumer_byte_rate=-1.0),
    _quota("a fraction of a byte", _USER, consumer_byte_rate=1.5),
    _quota("a fraction of a percent", _USER, request_percentage=0.001),
    _quota("a fraction of a mutation", _USER, controller_mutation_rate=0.1),
    _quota("a fraction of a connection", _IP, connection_creation_rate=1.5),
    _quota("not a number", _USER, request_percentage=float("nan")),
    _quota("infinite", _USER, request_percentage=float("inf")),
    _quota("more than a long", _USER, consumer_byte_rate=1e19),
    _quota("more connections than an int", _IP, connection_creation_rate=1e10),
    _quota("removes a key that is not set", (("user", "none"),), consumer_byte_rate=None),
    _quota("as good as no fraction", _USER, consumer_byte_rate=0.0000001),
    _quota("a fraction and too large", _IP, connection_creation_rate=3e9 + 0.5),
    _quota("exactly 2 to the 63", _USER, consumer_byte_rate=2.0**63),
    _quota("one wrong of two keys", _USER, producer_byte_rate=1.0, consumer_byte_rate=0.0),
    Case(
        "AlterClientQuota",
        "one wrong, then one right of the same entity",
        lambda _, __: [
            req.AlterClientQuotaRequest(entity=_USER, quotas={"consumer_byte_rate": value})
            for value in (0.0, 7.0)
        ],
    ),
)


def _broker(name: str, broker: int, key: str, value: str | None) -> Case:
    return Case(
        "AlterBroker",
        name,
        lambda _, __: [req.AlterBrokerRequest(broker=broker, configs={key: value})],
    )


ALTER_BROKER = (
    _broker("as asked", 1, LEADER_RATE, "1000"),
    _broker("removes a rate", 1, LEADER_RATE, None),
    _broker("removes a rate that is not set", 2, FOLLOWER_RATE, None),
    _broker("a rate that is no number", 1, LEADER_RATE, "slow"),
    _broker("a negative rate", 1, LEADER_RATE, "-1"),
    _broker("zero", 1, LEADER_RATE, "0"),
    _broker("a fraction of a rate", 1, FOLLOWER_RATE, "1.5"),
    _broker("a rate past 64 bits", 1, FOLLOWER_RATE, "9223372036854775808"),
    _broker("an empty rate", 1, FOLLOWER_RATE, ""),
    _broker("an unknown key", 1, "no.such.config", "1"),
    _broker("removes an unknown key", 1, "no.such.config", None),
    _broker("a key that needs a restart", 1, "log.dirs", "data"),
    Case(
        "AlterBroker",
        "one of two rates is wrong",
        lambda _, __: [
            req.AlterBrokerRequest(broker=1, configs={LEADER_RATE: "1", FOLLOWER_RATE: "slow"})
        ],
    ),
    Case(
        "AlterBroker",
        "one of two brokers is unknown",
        lambda _, __: [
            req.AlterBrokerRequest(broker=broker, configs={LEADER_RATE: "1"}) for broker in (99, 1)
        ],
    ),
    _broker("an unknown broker", 99, LEADER_RATE, "1000"),
    _broker("a broker of no number", -1, LEADER_RATE, "1000"),
)

ACCESS: Sequence[Case] = (*CREATE_ACL, *DELETE_ACL, *ALTER_CLIENT_QUOTA, *ALTER_BROKER)


# Answers to Alice, who has only the rights that a case gives her.

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
