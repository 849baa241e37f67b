"""The interfaces of KIP-201, through the judge that plans and brokers use."""

import ast
import inspect
from collections.abc import Mapping
from pathlib import Path

import pytest
from policy.asking import (
    Looking,
    a_state,
    a_topic_state,
    alteration,
    creation,
    deletion,
    judge,
    record_deletion,
    seen,
    stopped,
)

import kgitops.policy
from kgitops.model.cluster_state import Broker
from kgitops.model.requests import AlterBrokerRequest as WireAlterBroker
from kgitops.model.requests import Request
from kgitops.model.resources.topics import TopicState
from kgitops.policy import (
    AlterBrokerRequest,
    AlterTopicRequest,
    BaseTopicPolicy,
    BrokerManagementPolicy,
    ClusterState,
    CreateTopicRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    PolicyViolation,
    TopicManagementPolicy,
)
from kgitops.policy.testing import alter_topic, cluster, create_topic, topic, violation

DAY = 86_400_000
ORDERS = a_topic_state()


class EveryState(BaseTopicPolicy):
    """One rule on the state that a request leaves behind, written once."""

    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        raise NotImplementedError

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        self.check(request.requested_state, cluster_state)

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        self.check(request.requested_state, cluster_state)


class ShortRetention(EveryState):
    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        if int(topic.configs.get("retention.ms", 0)) > 7 * DAY:
            raise PolicyViolation("too long")


def test_one_policy_sees_all_four_kinds_of_request_and_tells_them_apart() -> None:
    """P201-01, P201-06: creation is another method than alteration, also for one end state."""
    policy = Looking(lambda request, _: type(request))
    created = a_topic_state("new")
    judge(
        policy,
        a_state(ORDERS),
        creation("new"),
        alteration(created),
        record_deletion({0: 5}),
        deletion(),
    )
    assert policy.methods == [
        "validate_create_topic",
        "validate_alter_topic",
        "validate_delete_records",
        "validate_delete_topic",
    ]
    assert policy.looks == [
        CreateTopicRequest,
        AlterTopicRequest,
        DeleteRecordsRequest,
        DeleteTopicRequest,
    ]


def test_a_rule_on_configs_is_written_once_and_holds_at_both_times() -> None:
    """P201-02: the same predicate refuses the creation and the later change."""
    long = {"retention.ms": str(8 * DAY)}
    said = judge(
        ShortRetention(),
        a_state(ORDERS),
        creation("new", configs=long),
        alteration(ORDERS, configs=long),
        alteration(ORDERS, configs={"retention.ms": str(7 * DAY)}),
    )
    assert stopped(said) == [True, True, False]


class InsyncOfThree(EveryState):
    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        insync = int(topic.configs.get("min.insync.replicas", "1"))
        if topic.replication_factor >= 3 and insync < 2:
            raise PolicyViolation("three replicas need two in sync")


def test_a_change_of_configs_is_judged_together_with_what_stays() -> None:
    """P201-03: the alteration of a config alone tells the replication factor too."""
    key = "min.insync.replicas"
    three = a_topic_state("three", ((1, 2, 3),), {key: "2"})
    two = a_topic_state("two", ((1, 2),), {key: "2"})
    said = judge(
        InsyncOfThree(),
        a_state(three, two),
        alteration(three, configs={key: "1"}),
        alteration(two, configs={key: "1"}),
    )
    assert stopped(said) == [True, False]


class NoGrowth(BaseTopicPolicy):
    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        before = cluster_state.topic_state(request.topic)
        assert before is not None
        if request.requested_state.num_partitions > before.num_partitions:
            raise PolicyViolation("no more partitions")


def test_growth_is_an_alteration_and_what_is_refused_does_not_happen() -> None:
    """P201-04, P201-54: the delta is what is requested less what the cluster state holds."""
    grown = alteration(ORDERS, assignment=((1, 2), (2, 3), (3, 1)))
    policy = NoGrowth()
    said = judge(policy, a_state(ORDERS), grown, alteration(ORDERS, configs={"a": "b"}), grown)
    # The third is refused only if the first left the topic at two partitions.
    assert stopped(said) == [True, False, True]


class OneReplicaARack(EveryState):
    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        racks = {broker.id: broker.rack for broker in cluster_state.brokers()}
        for replicas in topic.replicas_assignments.values():
            if len({racks[broker] for broker in replicas}) < len(replicas):
                raise PolicyViolation("two replicas in one rack")


def test_a_topic_cannot_leave_the_rule_by_any_way() -> None:
    """P201-07: a config, more partitions and a reassignment are judged alike."""

    class Small(EveryState):
        def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
            ShortRetention().check(topic, cluster_state)
            OneReplicaARack().check(topic, cluster_state)
            if topic.num_partitions > 2:
                raise PolicyViolation("too many partitions")

    brokers = tuple(Broker(id=id_, rack=rack) for id_, rack in ((1, "a"), (2, "b"), (3, "b")))
    said = judge(
        Small(),
        a_state(brokers=brokers),
        creation(assignment=((1, 2), (1, 3))),
        alteration(ORDERS, assignment=((1, 2), (2, 3))),
        alteration(ORDERS, assignment=((1, 2), (1, 3), (1, 3))),
        alteration(ORDERS, assignment=((1, 2), (1, 3)), configs={"retention.ms": str(8 * DAY)}),
        alteration(ORDERS, assignment=((1, 2), (1, 2))),
    )
    assert [item.message for item in said] == [
        None,
        "two replicas in one rack",
        "too many partitions",
        "too long",
        None,
    ]


def test_one_business_rule_protects_a_topic_and_its_records() -> None:
    """P201-08, P201-57, P201-62: both kinds of deletion are refused by raising."""

    class Protected(BaseTopicPolicy):
        def validate_delete_topic(
            self, request: DeleteTopicRequest, cluster_state: ClusterState
        ) -> None:
            self.protect(request.topic, cluster_state)

        def validate_delete_records(
            self, request: DeleteRecordsRequest, cluster_state: ClusterState
        ) -> None:
            self.protect(request.topic, cluster_state)

        def protect(self, name: str, cluster_state: ClusterState) -> None:
            topic = cluster_state.topic_state(name)
            if topic is not None and topic.num_partitions > 1:
                raise PolicyViolation(f"{name} is protected")

    small = a_topic_state("small", ((1,),))
    said = judge(
        Protected(),
        a_state(ORDERS, small),
        deletion(),
        record_deletion({0: 1}),
        record_deletion({0: 1}, "small"),
        deletion("small"),
    )
    assert [item.message for item in said] == ["orders is protected"] * 2 + [None] * 2


def test_a_policy_sees_the_whole_cluster() -> None:
    """P201-09, C-34: the partitions of all topics are counted, and the one too many is refused."""

    class AtMostFive(BaseTopicPolicy):
        def validate_create_topic(
            self, request: CreateTopicRequest, cluster_state: ClusterState
        ) -> None:
            topics = [cluster_state.topic_state(name) for name in cluster_state.topics()]
            used = sum(topic.num_partitions for topic in topics if topic is not None)
            if used + request.requested_state.num_partitions > 5:
                raise PolicyViolation(f"{used} of 5 partitions are used")

    said = judge(AtMostFive(), a_state(ORDERS), creation("a"), creation("b"))
    assert [item.message for item in said] == [None, "4 of 5 partitions are used"]


def test_the_principal_decides() -> None:
    """P201-12, P201-50: an administrator may what others may not."""

    class AdminsOnly(BaseTopicPolicy):
        def validate_create_topic(
            self, request: CreateTopicRequest, cluster_state: ClusterState
        ) -> None:
            if (request.principal.type, request.principal.name) != ("User", "admin"):
                raise PolicyViolation(f"{request.principal} is no administrator")

    state = a_state()
    assert stopped(judge(AdminsOnly(), state, creation(), principal="User:admin")) == [False]
    (said,) = judge(AdminsOnly(), state, creation(), principal="User:sales:eu")
    assert said.message == "User:sales:eu is no administrator"


def test_without_anybody_the_principal_is_anonymous() -> None:
    """P201-51: a principal always exists."""
    assert str(create_topic("orders").principal) == "User:ANONYMOUS"
    assert kgitops.policy.Principal.parse("User:a:b") == kgitops.policy.Principal("User", "a:b")
    with pytest.raises(ValueError, match="write for example User:sales"):
        kgitops.policy.Principal.parse("sales")


def test_the_methods_are_abstract_and_a_base_accepts_everything() -> None:
    """P201-48: an author implements all four, or overrides one of the base's."""
    assert inspect.isabstract(TopicManagementPolicy)
    assert TopicManagementPolicy.__abstractmethods__ == {
        "validate_create_topic",
        "validate_alter_topic",
        "validate_delete_topic",
        "validate_delete_records",
    }
    requests = creation("new"), alteration(ORDERS), record_deletion({0: 1}), deletion()
    assert stopped(judge(BaseTopicPolicy(), a_state(ORDERS), *requests)) == [False] * 4
    assert stopped(judge(NoGrowth(), a_state(ORDERS), *requests)) == [False] * 4


def test_a_policy_is_configured_and_closed() -> None:
    """P201-46: the interfaces bring configure and close, and a with block closes."""

    class Open(BaseTopicPolicy):
        lines: Mapping[str, str] | None = None

        def configure(self, configs: Mapping[str, str]) -> None:
            self.lines = configs

        def close(self) -> None:
            self.lines = None

    with Open() as policy:
        policy.configure({"a": "1"})
        assert policy.lines == {"a": "1"}
    assert policy.lines is None
    for interface in (TopicManagementPolicy, BrokerManagementPolicy):
        assert {"configure", "close", "__enter__", "__exit__"} <= set(dir(interface))


@pytest.mark.parametrize(
    ("request_", "method"),
    [
        (creation("new"), "validate_create_topic"),
        (alteration(ORDERS, configs={"a": "1"}), "validate_alter_topic"),
        (deletion(), "validate_delete_topic"),
        (record_deletion({0: 1}), "validate_delete_records"),
    ],
)
def test_every_method_refuses_by_raising(request_: Request, method: str) -> None:
    """P201-53, P201-55: what the method raises is said; what the others would raise is not."""

    class Refuses(BaseTopicPolicy):
        pass

    def refuse(*_: object) -> None:
        raise PolicyViolation("because")

    setattr(Refuses, method, refuse)
    (said,) = judge(Refuses(), a_state(ORDERS), request_)
    assert (said.stops, said.message) == (True, "because")
    others = [creation("new"), alteration(ORDERS), record_deletion({0: 1}), deletion()]
    rest = [other for other in others if type(other) is not type(request_)]
    assert stopped(judge(Refuses(), a_state(ORDERS), *rest)) == [False] * 3


def test_what_requests_tell() -> None:
    """P201-49, P201-52, P201-56, P201-58, P201-60: the fields of each kind, and no more."""
    ours = {"local", "links", "labels"}  # KIP-201 knows neither virtual clusters nor documents
    kinds = {
        CreateTopicRequest: {"topic", "principal", "requested_state", *ours},
        AlterTopicRequest: {"topic", "principal", "requested_state", *ours},
        DeleteTopicRequest: {"topic", "principal", *ours},
        DeleteRecordsRequest: {"topic", "principal", "deleted_message_offsets", *ours},
        AlterBrokerRequest: {"broker_id", "principal", "requested_state", "labels"},
    }
    for kind, names in kinds.items():
        assert set(kind.__struct_fields__) == names
    said = seen(
        lambda request, _: request,
        a_state(ORDERS),
        record_deletion({1: 7}),
        deletion(),
        creation("new"),
    )
    assert isinstance(said[0], DeleteRecordsRequest)
    assert dict(said[0].deleted_message_offsets) == {1: 7}
    assert [getattr(request, "topic", "") for request in said] == ["orders", "orders", "new"]


def test_an_offset_is_the_first_that_is_kept() -> None:
    """P201-59: it comes as it was asked for, so that 4 means that record 4 stays."""
    said = seen(lambda request, _: request, a_state(ORDERS), record_deletion({0: 4}))
    assert [getattr(request, "deleted_message_offsets", {})[0] for request in said] == [4]
    assert "first offset that is kept" in " ".join((DeleteRecordsRequest.__doc__ or "").split())


class AtMostEightThreads(BrokerManagementPolicy):
    """Refuses what a broker would have afterwards."""

    def validate_alter_broker(
        self, request: AlterBrokerRequest, cluster_state: ClusterState
    ) -> None:
        if int(request.requested_state.configs.get("num.io.threads", "8")) > 8:
            raise PolicyViolation(f"broker {request.broker_id}: too many threads")


def test_a_broker_policy_is_an_interface_of_its_own() -> None:
    """P201-81, P201-84, P201-85, C-13: it is asked about brokers and about nothing else."""
    alter = WireAlterBroker(broker=2, configs={"num.io.threads": "9"})
    (said,) = judge(AtMostEightThreads(), a_state(), alter, broker_configs={})
    assert said.message == "broker 2: too many threads"
    assert not issubclass(BrokerManagementPolicy, TopicManagementPolicy)
    assert judge(AtMostEightThreads(), a_state(), creation()) == [()]
    assert judge(BaseTopicPolicy(), a_state(), alter) == [()]


def test_the_state_of_a_broker_is_merged_like_a_topics() -> None:
    """P201-82, P201-83: configs are those afterwards, requested_configs only what was asked."""
    before = {"a": "1", "b": "2", "c": "3"}
    (state,) = seen(
        lambda request, _: getattr(request, "requested_state", None),
        a_state(),
        WireAlterBroker(broker=1, configs={"b": "9", "c": None}),
        broker_configs=before,
    )
    assert state is not None
    assert dict(state.configs) == {"a": "1", "b": "9"}
    assert dict(state.requested_configs) == {"b": "9", "c": None}
    assert before == {"a": "1", "b": "2", "c": "3"}


def test_without_a_broker_that_asks_a_broker_policy_still_judges_the_request() -> None:
    """P201-90: on a real cluster it is a check of the plan: only what the request says is known."""
    (said,) = judge(
        AtMostEightThreads(),
        a_state(),
        WireAlterBroker(broker=1, configs={"num.io.threads": "9"}),
    )
    assert said.stops


def test_a_policy_is_tested_without_a_cluster() -> None:
    """P108-07, EXP-01: states and requests have public builders."""
    orders = topic("orders", configs={"retention.ms": str(DAY)})
    request = alter_topic(orders, configs={"retention.ms": str(8 * DAY)})
    refused = violation(ShortRetention(), request, cluster(orders))
    assert refused is not None
    assert refused.message == "too long"


def test_what_policies_see_is_apart_from_the_wire() -> None:
    """P108-08: the classes are of their own, extended by keyword, and import no wire request."""
    folder = Path(kgitops.policy.__file__).parent / "api"
    for name in ("interfaces", "requests"):
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        wire = [module for module in imported if module and "wire" in module]
        assert not wire
        assert "kgitops.model.requests" not in imported
        assert not [module for module in imported if (module or "").startswith("kgitops.cluster")]
    for kind in (CreateTopicRequest, AlterTopicRequest, DeleteTopicRequest, DeleteRecordsRequest):
        assert not kind.__match_args__  # all by name
