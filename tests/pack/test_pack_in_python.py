"""What the pack's YAML tests can't say: refused configs, files, fields, a broker's start."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from policy_pack import EXAMPLES

from kgitops import policies
from kgitops.policies import (
    BrokerConfigBounds,
    DeleteOnlyIfUnused,
    FrozenConfigs,
    MinInsyncReplicasRange,
    NeverLeaveCreatePolicy,
    NoAllOnCluster,
    NoManualAssignment,
    NoWildcardHosts,
    NoWildcardPrincipals,
    PartitionBudget,
    ProtectFromDeletion,
    QuotaCeilings,
    RackSpread,
    RecordDeletionLimit,
    ReplicationFactorRange,
    RetentionRange,
    TopicSizeCap,
)
from kgitops.policies.topic_rule import number_of
from kgitops.policy import AllOf, Broker, LocalName, PolicyViolation
from kgitops.policy.legacy import CreateTopicPolicy, LegacyPolicyAdapter
from kgitops.policy.settings import Configured
from kgitops.policy.testing import (
    acl,
    alter_broker,
    alter_client_quota,
    alter_topic,
    alter_user_scram_credentials,
    cluster,
    create_acl,
    create_topic,
    delete_records,
    delete_topic,
    entity,
    topic,
    violation,
)

REFUSED = [
    (
        ReplicationFactorRange,
        {"min": "4", "max": "3"},
        "min is more than max, so that nothing would",
    ),
    (ReplicationFactorRange, {"max": "2"}, "min is more than max"),
    (ReplicationFactorRange, {"minimum": "3"}, "minimum is not a config of ReplicationFactorRange"),
    (
        ReplicationFactorRange,
        {"exceptPrincipals": "admin"},
        "exceptPrincipals: 'admin' is not a princip",
    ),
    (ReplicationFactorRange, {"topics": ""}, "topics: '' is not a list"),
    (MinInsyncReplicasRange, {"min": "two"}, "min: 'two' is not a whole number"),
    (RetentionRange, {}, "min and max are missing (write one of them, such as max: 30d)"),
    (RetentionRange, {"max": "a week"}, "max: 'a week' is not a duration"),
    (RetentionRange, {"min": "2d", "max": "1d"}, "min is more than max"),
    (TopicSizeCap, {}, "max is missing (write the most that a topic may hold, such as 100GiB)"),
    (TopicSizeCap, {"max": "1G"}, "max: '1G' is not a byte size"),
    (policies.ShortRetentionOfBigTopics, {"max": "7d"}, "partitions is missing"),
    (policies.PartitionRange, {}, "min and max are missing (write one of them, such as max: 48)"),
    (policies.PartitionRange, {"min": "3", "max": "2"}, "min is more than max"),
    (PartitionBudget, {}, "there is no budget (write max, maxPerBroker or prefixes)"),
    (
        PartitionBudget,
        {"prefixes": "sales."},
        "prefixes: 'sales.' is not a pair (write NAME=VALUE)",
    ),
    (
        policies.NoPartitionGrowthOfKeyedTopics,
        {"compacted": "false"},
        "no topic counts as keyed (write keyed, or compacted: true)",
    ),
    (policies.ReservedBrokers, {}, "brokers is missing"),
    (policies.ReservedBrokers, {"brokers": "a"}, "brokers: 'a' is not a whole number"),
    (policies.TopicNaming, {"pattern": "("}, "pattern: '(' is not a regular expression"),
    (policies.NamingByPrincipal, {"prefixes": "x"}, "prefixes: 'x' is not a pair"),
    (FrozenConfigs, {}, "keys is missing"),
    (ProtectFromDeletion, {}, "topics is missing"),
    (RecordDeletionLimit, {"allPartitions": "no"}, "allPartitions: 'no' is neither true nor false"),
    (policies.MassDeleteGuard, {"max": "-1"}, "max: '-1' is not a whole number"),
    (DeleteOnlyIfUnused, {}, "register is missing"),
    (
        DeleteOnlyIfUnused,
        {"register": "no/such"},
        "register: no/such can't be opened: No such file",
    ),
    (QuotaCeilings, {}, "there is no ceiling (write one, such as producer_byte_rate: 50MiB)"),
    (QuotaCeilings, {"removable": "false"}, "there is no ceiling"),
    (QuotaCeilings, {"producerByteRate": "1"}, "did you mean producer_byte_rate?"),
    (policies.ScramStrength, {"mechanisms": "PLAIN"}, "mechanisms: 'PLAIN' is not a mechanism"),
    (policies.ScramStrength, {"minIterations": "16385"}, "is more than the 16384 that Kafka"),
    (policies.UserNaming, {}, "pattern and reserved are missing (write one of them)"),
    (policies.RequiredUserLabels, {}, "labels is missing"),
    (BrokerConfigBounds, {}, "there is no bound (write one, such as max.log.retention.ms: 30d)"),
    (BrokerConfigBounds, {"log.retention.ms": "1d"}, "write min.KEY or max.KEY"),
    (BrokerConfigBounds, {"min": "1"}, "min is not a config of BrokerConfigBounds"),
    (BrokerConfigBounds, {"min.": "1"}, "min. is not a config of BrokerConfigBounds"),
    (BrokerConfigBounds, {"max.a.ms": "soon"}, "max.a.ms: 'soon' is not a duration"),
    (BrokerConfigBounds, {"max.a.bytes": "x"}, "max.a.bytes: 'x' is not a byte size"),
    (BrokerConfigBounds, {"max.a": "x"}, "max.a: 'x' is not a number"),
    (BrokerConfigBounds, {"min.a": "2", "max.a": "1"}, "min.a is more than max.a"),
    (NeverLeaveCreatePolicy, {}, "policy is missing (write the other policy, as module:Class)"),
    (NeverLeaveCreatePolicy, {"policy": "json"}, "policy: 'json' names no class"),
    (NeverLeaveCreatePolicy, {"policy": "json:JSONDecoder"}, "is not a topic policy"),
    (
        NeverLeaveCreatePolicy,
        {"policy": "kgitops.policies:NoAllOnCluster"},
        "is not a topic policy",
    ),
    (NeverLeaveCreatePolicy, {"policy": "no_such:A"}, "can't be loaded: No module named 'no_such'"),
    (
        NeverLeaveCreatePolicy,
        {"policy": "kgitops.policies:TopicSizeCap", "max": "x"},
        "max: 'x' is not a byte size",
    ),
]


@pytest.mark.parametrize(("class_", "configs", "problem"), REFUSED)
def test_configs_that_cannot_be_meant(
    class_: type[Configured], configs: dict[str, str], problem: str
) -> None:
    """EXP-07: refused when the policy is configured, with the key and what to write."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the words are looked at below)
        class_().configure(configs)
    assert problem in str(refused.value)


@pytest.mark.parametrize("name", policies.__all__)
def test_an_unknown_config_is_refused_by_every_policy(name: str) -> None:
    """EXP-07: a misspelt key must not weaken a rule in silence."""
    configs = {"no.such": "1", "policy": "kgitops.policies:RackSpread"}
    with pytest.raises(ValueError, match=r"no\.such is not a config of"):
        getattr(policies, name)().configure(configs)


ORDERS = topic("orders", 2, configs={"retention.ms": "5"})
FIELDS = [
    (ReplicationFactorRange({}), create_topic("a"), "replicationFactor"),
    (
        ReplicationFactorRange({"min": "1", "max": "1"}),
        create_topic("a", 1, 2),
        "replicationFactor",
    ),
    (MinInsyncReplicasRange({}), create_topic("a", 1, 3), "configs.min.insync.replicas"),
    (
        MinInsyncReplicasRange({"min": "1"}),
        create_topic("a", 1, 1),
        "configs.min.insync.replicas",
    ),
    (RetentionRange({"max": "1d"}), create_topic("a"), "configs.retention.ms"),
    (TopicSizeCap({"max": "1GiB"}), create_topic("a"), "configs.retention.bytes"),
    (
        policies.ShortRetentionOfBigTopics({"partitions": "0", "max": "1d"}),
        create_topic("a"),
        "configs.retention.ms",
    ),
    (policies.PartitionRange({"max": "1"}), create_topic("a", 2), "partitions"),
    (PartitionBudget({"max": "1"}), create_topic("a", 2), "partitions"),
    (
        policies.NoPartitionGrowthOfKeyedTopics({"keyed": "*"}),
        alter_topic(ORDERS, partitions=3),
        "partitions",
    ),
    (NoManualAssignment({}), create_topic("a", assignments={0: [1]}), "assignments"),
    (
        policies.ReservedBrokers({"brokers": "1"}),
        create_topic("a", assignments={0: [1]}),
        "assignments",
    ),
    (
        FrozenConfigs({"keys": "retention.ms"}),
        alter_topic(ORDERS, configs={"retention.ms": "6"}),
        "configs.retention.ms",
    ),
    (
        policies.ImmutableConfigs({}),
        alter_topic(ORDERS, configs={"cleanup.policy": "compact"}),
        "configs.cleanup.policy",
    ),
    (
        ProtectFromDeletion({"topics": "*"}),
        delete_records("orders", {0: 1}),
        "deleteRecordsBefore",
    ),
    (RecordDeletionLimit({"max": "1"}), delete_records("orders", {0: 2}), "deleteRecordsBefore"),
    (RecordDeletionLimit({}), delete_records("orders", {0: 2, 1: 2}), "deleteRecordsBefore"),
    (NoWildcardPrincipals({}), create_acl(acl("User:*")), "principals"),
    (NoWildcardHosts({}), create_acl(acl()), "host"),
    (
        NoAllOnCluster({}),
        create_acl(acl(operation="All", resource="cluster", name="kafka-cluster")),
        "operations",
    ),
    (
        QuotaCeilings({"producer_byte_rate": "1"}),
        alter_client_quota(entity(user="a"), {"producer_byte_rate": 2}),
        "quotas.producer_byte_rate",
    ),
    (
        policies.ScramStrength({}),
        alter_user_scram_credentials("a", "SCRAM-SHA-256", 8192),
        "scram",
    ),
    (
        policies.RequiredUserLabels({"labels": "owner"}),
        alter_user_scram_credentials("a", "SCRAM-SHA-256", 8192),
        "metadata.labels.owner",
    ),
    (
        BrokerConfigBounds({"max.num.io.threads": "8"}),
        alter_broker(1, {"num.io.threads": "9"}),
        "configs.num.io.threads",
    ),
]


@pytest.mark.parametrize(("policy", "request_", "field"), FIELDS)
def test_a_refusal_points_at_the_field(policy: Configured, request_: object, field: str) -> None:
    """EXP-02: reports show the line of the document where it stands."""
    refused = violation(policy, request_, cluster(ORDERS))  # type: ignore[arg-type]
    assert isinstance(refused, PolicyViolation)
    assert refused.field == field


def test_racks_point_at_the_assignments() -> None:
    racks = cluster(
        brokers=[Broker(id=1, rack="a"), Broker(id=2, rack="a"), Broker(id=3, rack="b")]
    )
    refused = violation(RackSpread({}), create_topic("a", assignments={0: [1, 2]}), racks)
    assert refused is not None
    assert refused.field == "assignments"


def test_racks_are_those_of_the_cluster_that_is_judged() -> None:
    """The racks are remembered for one cluster and not mistaken for another's."""
    policy = RackSpread({})
    request = create_topic("a", assignments={0: [1, 2]})
    apart = cluster(brokers=[Broker(id=1, rack="a"), Broker(id=2, rack="b")])
    together = cluster(
        brokers=[Broker(id=1, rack="a"), Broker(id=2, rack="a"), Broker(id=3, rack="b")]
    )
    assert violation(policy, request, apart) is None
    assert violation(policy, request, together) is not None
    assert violation(policy, request, apart) is None


def test_internal_topics_are_left_alone() -> None:
    """EXP-05: also where a pattern names all topics."""
    policy = ProtectFromDeletion({"topics": "*"})
    assert violation(policy, delete_topic("orders")) is not None
    assert violation(policy, delete_topic("__consumer_offsets")) is None


def test_a_register_is_open_from_configure_to_close(tmp_path: Path) -> None:
    """EX-18: opened in configure, released in close, and read again for each deletion."""
    register = tmp_path / "in-use.txt"
    register.write_text("orders\n")
    policy = DeleteOnlyIfUnused()
    policy.close()  # nothing was opened
    with policy:
        policy.configure({"register": str(register)})
        assert violation(policy, delete_topic("orders")) is not None
        assert violation(policy, delete_topic("payments")) is None
        register.write_text("payments\n")
        assert violation(policy, delete_topic("orders")) is None
        assert violation(policy, delete_topic("payments")) is not None
    with pytest.raises(ValueError, match="closed file"):
        violation(policy, delete_topic("orders"))


def test_a_register_that_was_never_opened_lets_nothing_pass() -> None:
    """EX-18: whoever forgets to configure is told, and nothing is accepted."""
    with pytest.raises(ValueError, match="the register is not open"):
        violation(DeleteOnlyIfUnused(), delete_topic("orders"))


def test_a_broker_that_starts_outside_its_bounds() -> None:
    """EX-15: at the start all configs are requested, so each of them is looked at."""
    configs = {"node.id": "1", "log.retention.ms": "3600000", "num.io.threads": "64"}
    policy = BrokerConfigBounds({"max.num.io.threads": "32", "min.log.retention.ms": "1h"})
    refused = violation(policy, alter_broker(1, configs))
    assert refused is not None
    assert refused.message == "num.io.threads of broker 1 is 64; at most 32 is allowed"
    assert violation(policy, alter_broker(1, {**configs, "num.io.threads": "32"})) is None


class OnlyThree(CreateTopicPolicy):
    """A policy of KIP-108: new topics have three partitions."""

    def validate(self, request: CreateTopicPolicy.RequestMetadata) -> None:
        if request.num_partitions != 3:
            raise PolicyViolation(f"{request.num_partitions} partitions")


class OldRules(LegacyPolicyAdapter):
    """The same, as KIP-201 asks."""

    def __init__(self) -> None:
        super().__init__(OnlyThree())


def test_an_old_policy_on_creation_holds_for_ever() -> None:
    """EX-04: growth, which KIP-108 never sees, is refused as such a creation would be."""
    policy = NeverLeaveCreatePolicy({"policy": f"{__name__}:OldRules"})
    orders = topic("orders", 3)
    assert violation(policy, create_topic("orders", 3)) is None
    grown = alter_topic(orders, partitions=4)
    assert violation(OldRules(), grown, cluster(orders)) is None
    refused = violation(policy, grown, cluster(orders))
    assert refused is not None
    assert refused.message == "4 partitions"
    assert violation(policy, alter_topic(orders, configs={"a": "1"}), cluster(orders)) is None


def test_the_other_policy_lives_and_ends_with_the_one_that_asks_it(tmp_path: Path) -> None:
    register = tmp_path / "in-use.txt"
    register.write_text("orders\n")
    policy = NeverLeaveCreatePolicy()
    policy.configure({"policy": "kgitops.policies:DeleteOnlyIfUnused", "register": str(register)})
    assert violation(policy, delete_topic("orders")) is not None
    policy.close()
    with pytest.raises(ValueError, match="closed file"):
        violation(policy, delete_topic("orders"))


def test_the_pack_composes() -> None:
    """EXP-06: each part has its own configs, whatever a broker has."""

    class OurRules(AllOf):
        def __init__(self) -> None:
            super().__init__([ReplicationFactorRange({"min": "2"}), NoManualAssignment({})])

    policy = OurRules()
    policy.configure({"node.id": "1", "topic.management.policy.class.name": "rules:OurRules"})
    refused = violation(policy, create_topic("orders", assignments={0: [1]}))
    assert refused is not None
    assert refused.message == (
        "orders has replication factor 1; at least 2 is needed; "
        "replicas of orders are placed by hand; leave the brokers to be chosen"
    )


def test_a_config_without_value_and_default_is_no_number() -> None:
    with pytest.raises(ValueError, match=r"no\.such\.config has neither a value nor a default"):
        number_of(ORDERS, "no.such.config", cluster())


COUNTING = ("PartitionBudget", "MassDeleteGuard")
"""They refuse for what the cluster holds, which this one doesn't."""
TOPIC_EXAMPLES = sorted(name for name, (_, asked) in EXAMPLES.items() if hasattr(asked, "local"))
TOPIC_EXAMPLES = [name for name in TOPIC_EXAMPLES if name not in COUNTING]


@pytest.mark.parametrize("name", TOPIC_EXAMPLES)
def test_a_topic_of_a_virtual_cluster_is_judged_by_its_name_there(name: str) -> None:
    """VC-065: patterns match the local name, and messages never show another one."""
    configs, request = EXAMPLES[name]
    brokers = [Broker(id=number, rack=rack) for number, rack in enumerate("aabbc", 1)]
    state = cluster(topic("UNSEEN", 6, 3), brokers=brokers)
    local = replace(request, local=LocalName("emea", request.topic))
    physical = replace(local, topic="UNSEEN")
    if hasattr(request, "requested_state"):
        made = replace(request.requested_state, name="UNSEEN")
        physical = replace(physical, requested_state=made)
    with getattr(policies, name)(configs) as policy:
        said = violation(policy, physical, state)
    assert said is not None
    assert "UNSEEN" not in said.message
