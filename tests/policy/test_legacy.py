"""Kafka's older policies: their interfaces, and the adapter behind which they go on."""

import re
from pathlib import Path

import pytest

from kgitops.policy import BrokerManagementPolicy, PolicyViolation, TopicManagementPolicy
from kgitops.policy.api.interfaces import Configurable
from kgitops.policy.legacy import (
    ALTER_CONFIG_KEY,
    CREATE_TOPIC_KEY,
    KRAFT_COMPAT_KEY,
    AlterConfigPolicy,
    ConfigResource,
    CreateTopicPolicy,
    LegacyPolicyAdapter,
)
from kgitops.policy.testing import (
    alter_broker,
    alter_topic,
    cluster,
    create_topic,
    delete_records,
    delete_topic,
    topic,
    violation,
)

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "embedded-policies.md"


class Old(CreateTopicPolicy, AlterConfigPolicy):
    """Both in one class, as Kafka allows; remembers what is done with it."""

    def __init__(self, words: str | None = None) -> None:
        self.words = words
        self.done: list[object] = []

    def configure(self, configs):
        self.done.append(dict(configs))

    def validate(self, request):
        self.done.append(request)
        if self.words is not None:
            raise PolicyViolation(self.words)

    def close(self):
        self.done.append("closed")


# The interfaces


@pytest.mark.parametrize("interface", [CreateTopicPolicy, AlterConfigPolicy])
def test_the_older_interfaces_have_one_method_and_a_life(interface):
    """P108-03, P108-09, P201-46."""
    assert issubclass(interface, Configurable)
    assert interface.__abstractmethods__ == {"validate"}
    with pytest.raises(TypeError):
        interface()


def test_users_make_the_metadata_for_their_own_tests():
    """P108-07: a public constructor, plain values, nothing of a cluster."""
    metadata = CreateTopicPolicy.RequestMetadata(
        topic="orders", num_partitions=3, replication_factor=2, configs={"a": "b"}
    )
    with pytest.raises(PolicyViolation, match="no"):
        Old("no").validate(metadata)
    assert list(CreateTopicPolicy.RequestMetadata.__struct_fields__) == [
        "topic",
        "num_partitions",
        "replication_factor",
        "replicas_assignments",
        "configs",
    ]
    resource = ConfigResource(type="TOPIC", name="orders")
    assert AlterConfigPolicy.RequestMetadata(resource=resource).configs == {}
    with pytest.raises(AttributeError):
        metadata.topic = "other"  # type: ignore[misc]


# The adapter


def asked(request, *, words: str | None = None, **options):
    """What the older policies were asked about ``request``: creations, altered configs."""
    create, alter = Old(words), Old(words)
    adapter = LegacyPolicyAdapter(create, alter, **options)
    refused = violation(adapter, request, cluster(topic("orders")))
    assert (refused.message if refused else None) == (words if create.done or alter.done else None)
    return create.done, alter.done


def test_the_adapter_is_a_policy_of_the_newer_kind():
    """P201-96: callers know one interface."""
    adapter = LegacyPolicyAdapter(Old(), Old())
    assert isinstance(adapter, TopicManagementPolicy)
    assert isinstance(adapter, BrokerManagementPolicy)


def test_counts_are_told_where_replicas_were_placed():
    """P201-97, P108-27, P108-28, P108-29: and what was placed is not."""
    request = create_topic("new", partitions=4, replication_factor=2)
    assert request.requested_state.generated_replica_assignments
    ((metadata,), _) = asked(request)
    assert (metadata.topic, metadata.num_partitions, metadata.replication_factor) == ("new", 4, 2)
    assert metadata.replicas_assignments is None


def test_an_assignment_is_told_where_one_was_given():
    """P201-97, P108-27, P108-28, P108-29: and no counts."""
    ((metadata,), _) = asked(create_topic("new", assignments={0: [1, 2], 1: [2, 3]}))
    assert (metadata.num_partitions, metadata.replication_factor) == (None, None)
    assert metadata.replicas_assignments == {0: (1, 2), 1: (2, 3)}
    with pytest.raises(TypeError):
        metadata.replicas_assignments[0] = (9,)


def test_configs_are_the_requests_own_never_none_never_writable():
    """P108-30."""
    ((without,), _) = asked(create_topic("new", partitions=1, replication_factor=1))
    ((with_one,), _) = asked(
        create_topic("new", partitions=1, replication_factor=1, configs={"retention.ms": "5"})
    )
    assert (without.configs, with_one.configs) == ({}, {"retention.ms": "5"})
    for metadata in (without, with_one):
        with pytest.raises(TypeError):
            metadata.configs["a"] = "b"


def test_altered_configs_are_told_as_they_were_asked_for():
    """P201-98, P201-28: only those of the request; None for one that is removed."""
    orders = topic("orders", configs={"retention.ms": "5", "segment.ms": "6"})
    request = alter_topic(orders, configs={"retention.ms": None, "max.message.bytes": "9"})
    create, (metadata,) = asked(request)
    assert create == []
    assert metadata.resource == ConfigResource(type="TOPIC", name="orders")
    assert metadata.configs == {"retention.ms": None, "max.message.bytes": "9"}


def test_what_they_have_no_method_for_is_accepted():
    """P201-98, P201-99: growth, other replicas, deletions: no call."""
    orders = topic("orders", partitions=2)
    for request in (
        alter_topic(orders, partitions=5),
        alter_topic(orders, assignments={0: [3], 1: [1]}),
        delete_topic("orders"),
        delete_records("orders", {0: 5}),
    ):
        assert asked(request, words="never") == ([], [])


def test_a_violation_goes_through_as_it_is():
    """P201-64."""
    for request in (
        create_topic("new", partitions=1, replication_factor=1),
        alter_topic(topic("orders"), configs={"retention.ms": "5"}),
    ):
        assert any(asked(request, words="these words"))


@pytest.mark.parametrize("kraft_compat", [True, False])
def test_a_creations_configs_are_altered_configs_only_to_kraft(kraft_compat: bool):
    """P201-100, C-27: a switch; and then it is asked first."""
    with_configs = create_topic(
        "new", partitions=1, replication_factor=1, configs={"retention.ms": "5"}
    )
    plain = create_topic("new", partitions=1, replication_factor=1)
    _, altered = asked(with_configs, kraft_compat=kraft_compat)
    assert [request.configs for request in altered] == [{"retention.ms": "5"}] * kraft_compat
    assert asked(plain, kraft_compat=kraft_compat)[1] == []
    create, _ = asked(with_configs, kraft_compat=kraft_compat, words="first")
    assert len(create) == (0 if kraft_compat else 1)


def test_brokers_configs_are_told_but_not_at_their_start():
    """P201-100: BROKER resources are kept."""
    alter = Old()
    adapter = LegacyPolicyAdapter(alter=alter)
    running = cluster(broker_configs={"node.id": "2"})
    request = alter_broker(2, {"log.retention.ms": "5"}, before={"node.id": "2"})
    assert violation(adapter, request, running) is None
    (metadata,) = alter.done
    assert metadata.resource == ConfigResource(type="BROKER", name="2")
    assert metadata.configs == {"log.retention.ms": "5"}
    assert violation(adapter, request, cluster()) is None
    assert len(alter.done) == 1


def test_the_adapter_drives_the_life_of_both():
    """P201-101: configured with the same, closed once, also where one fails."""

    class Stubborn(Old):
        def close(self):
            super().close()
            raise OSError("no")

    create, alter = Stubborn(), Old()
    adapter = LegacyPolicyAdapter(create, alter)
    adapter.configure({"a": "b", KRAFT_COMPAT_KEY: "true"})
    with pytest.raises(OSError, match="no"):
        adapter.close()
    assert create.done == alter.done == [{"a": "b"}, "closed"]


def test_the_adapter_makes_what_its_configs_name():
    """P108-02, P108-09: one class under both keys is two objects."""
    name = f"{__name__}:Old"
    adapter = LegacyPolicyAdapter()
    configs = {CREATE_TOPIC_KEY: name, ALTER_CONFIG_KEY: name}
    adapter.configure(configs)
    create, alter = adapter._policies()
    assert isinstance(create, CreateTopicPolicy)
    assert isinstance(alter, AlterConfigPolicy)
    assert create is not alter
    assert create.done == alter.done == [configs]  # type: ignore[attr-defined]


def test_without_policies_the_adapter_accepts():
    adapter = LegacyPolicyAdapter()
    adapter.configure({})
    request = create_topic("new", partitions=1, replication_factor=1, configs={"a": "b"})
    assert violation(adapter, request, cluster()) is None
    adapter.close()


# The way to the newer interface


def documented() -> dict[str, type]:
    """The classes of the page's examples."""
    found: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, found)  # noqa: S102 (our own page)
    return {name: item for name, item in found.items() if isinstance(item, type)}


def test_the_documented_port_decides_the_same():
    """P201-102, P201-99, EX-19: on creations, altered configs and what neither judges."""
    classes = documented()
    old = LegacyPolicyAdapter(classes["OldReplication"](), classes["OldRetention"]())
    new = classes["Durable"]()
    orders = topic("orders", partitions=2, replication_factor=3)
    world = cluster(orders)
    week = 604_800_000
    corpus = [
        *(create_topic("a", partitions=1, replication_factor=number) for number in (1, 2, 3)),
        create_topic("a", assignments={0: [1, 2, 3]}),
        create_topic("a", assignments={0: [1, 2]}),
        create_topic("a", partitions=1, replication_factor=3, configs={"retention.ms": f"{9**12}"}),
        *(
            alter_topic(orders, configs={"retention.ms": value})
            for value in (None, "5", f"{week}", f"{week + 1}")
        ),
        alter_topic(orders, configs={"segment.ms": f"{week + 1}"}),
        alter_topic(orders, partitions=4),
        alter_topic(orders, assignments={0: [1], 1: [2]}),
        delete_topic("orders"),
        delete_records("orders", {0: 5}),
    ]
    verdicts = []
    for request in corpus:
        before, after = (violation(policy, request, world) for policy in (old, new))
        assert (before and before.message) == (after and after.message), request
        verdicts.append(after is not None)
    assert verdicts.count(True) == 4


def test_the_page_says_how_to_move():
    """P201-102, P201-110, C-25: and which admin calls can now be denied."""
    page = PAGE.read_text(encoding="utf-8")
    assert "will go in a later major release" in page
    for call in ("**DeleteTopics**", "**DeleteRecords**"):
        assert call in page
    assert "can therefore fail with `POLICY_VIOLATION`" in page
    assert "*controllers*" in page
