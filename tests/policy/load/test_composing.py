"""Policies made of policies."""

from collections.abc import Callable, Mapping

import pytest
from policy.asking import a_state, a_topic_state, alteration, creation, deletion, judge

from kgitops.model.requests import AlterBrokerRequest, DeleteAclRequest
from kgitops.policy import (
    AclManagementPolicy,
    AllOf,
    AlterVirtualClusterRequest,
    BaseTopicPolicy,
    BrokerManagementPolicy,
    ClientQuotaManagementPolicy,
    ClusterState,
    Configurable,
    CreateTopicLinkRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteTopicLinkRequest,
    DeleteVirtualClusterRequest,
    InternalTopicsPass,
    PolicyViolation,
    Principal,
    TopicManagementPolicy,
    VirtualClusterChange,
    VirtualClusterManagementPolicy,
    VirtualClusterState,
)
from kgitops.policy.api.interfaces import Configurable as Base
from kgitops.policy.api.requests import PolicyRequest
from kgitops.policy.python_rule import METHODS
from kgitops.policy.testing import (
    acl,
    alter_broker,
    alter_client_quota,
    alter_consumer_group_offsets,
    alter_group_configs,
    alter_topic,
    alter_user_scram_credentials,
    create_acl,
    create_topic,
    delete_acl,
    delete_consumer_group,
    delete_records,
    delete_topic,
    entity,
    topic,
    violation,
)

ANYBODY = Principal("User", "ANONYMOUS")
EMEA = VirtualClusterState(name="emea")
REQUESTS: dict[str, PolicyRequest] = {
    "CreateTopic": create_topic("orders"),
    "AlterTopic": alter_topic(topic("orders"), partitions=2),
    "DeleteTopic": delete_topic("orders"),
    "DeleteRecords": delete_records("orders", {0: 1}),
    "AlterBroker": alter_broker(1, {"a": "1"}),
    "CreateAcl": create_acl(acl()),
    "DeleteAcl": delete_acl(acl()),
    "AlterClientQuota": alter_client_quota(entity(user="a"), {"producer_byte_rate": 1.0}),
    "AlterUserScramCredentials": alter_user_scram_credentials("app", "SCRAM-SHA-256", 4096),
    "AlterConfigResource": alter_group_configs("g", {"a": "1"}),
    "AlterConsumerGroupOffsets": alter_consumer_group_offsets("g", {"orders": {0: 1}}),
    "DeleteConsumerGroup": delete_consumer_group("g"),
    "CreateVirtualCluster": CreateVirtualClusterRequest(
        virtual_cluster="emea", principal=ANYBODY, requested_state=EMEA
    ),
    "AlterVirtualCluster": AlterVirtualClusterRequest(
        virtual_cluster="emea",
        principal=ANYBODY,
        current_state=EMEA,
        requested_state=EMEA,
        change=VirtualClusterChange.OPTIONS,
    ),
    "DeleteVirtualCluster": DeleteVirtualClusterRequest(virtual_cluster="emea", principal=ANYBODY),
    "CreateTopicLink": CreateTopicLinkRequest(
        virtual_cluster="emea", link="a", topic="b", principal=ANYBODY
    ),
    "DeleteTopicLink": DeleteTopicLinkRequest(
        virtual_cluster="emea", link="a", topic="b", principal=ANYBODY
    ),
}


def refusing(api: str, message: str) -> Configurable:
    """A policy that implements the one interface of ``api`` and refuses only there."""
    interface, refused = METHODS[api]

    def answer(method: str) -> Callable[[object, object, object], None]:
        def validate(_self: object, request: object, cluster_state: object) -> None:
            if method == refused:
                raise PolicyViolation(message, field=f"field of {message}")

        return validate

    methods = {name: answer(name) for _, name in METHODS.values() if hasattr(interface, name)}
    made: Configurable = type("Refusing", (interface,), methods)()
    return made


@pytest.mark.parametrize("api", METHODS)
def test_every_kind_of_request_reaches_the_members(api: str) -> None:
    """EXP-06: whichever interface a member implements."""
    refused = violation(AllOf([BaseTopicPolicy(), refusing(api, "no")]), REQUESTS[api])
    assert refused is not None
    assert refused.message == "no"
    others = {name: request for name, request in REQUESTS.items() if name != api}
    for request in others.values():
        assert violation(AllOf([refusing(api, "no")]), request) is None


def test_the_words_of_all_that_refuse_are_joined_in_order() -> None:
    """EXP-06: one answer, all reasons; the field of the first."""
    api = "CreateTopic"
    members = [refusing(api, "first"), BaseTopicPolicy(), refusing(api, ""), refusing(api, "last")]
    refused = violation(AllOf(members), REQUESTS[api])
    assert refused is not None
    assert (refused.message, refused.field) == ("first; last", "field of first")


def test_a_refusal_without_words_is_one_too() -> None:
    refused = violation(AllOf([refusing("DeleteTopic", "")]), REQUESTS["DeleteTopic"])
    assert refused is not None
    assert refused.message == ""


def test_nothing_is_no_policy() -> None:
    with pytest.raises(ValueError, match="at least one policy"):
        AllOf([])


def test_a_member_that_fails_fails_the_whole() -> None:
    class Broken(BaseTopicPolicy):
        def validate_delete_topic(self, request: object, cluster_state: ClusterState) -> None:
            raise ZeroDivisionError

    (said,) = judge(AllOf([BaseTopicPolicy(), Broken()]), a_state(a_topic_state()), deletion())
    assert said.stops
    assert said[0].crashed


class Remembers(BaseTopicPolicy):
    """Writes down its life."""

    def __init__(self, name: str, diary: list[str], *, trouble: str = "") -> None:
        self.name, self.diary, self.trouble = name, diary, trouble

    def configure(self, configs: Mapping[str, str]) -> None:
        if self.trouble == "configure":
            raise ValueError(f"{self.name} can't")
        self.diary.append(f"{self.name} {dict(configs)}")

    def close(self) -> None:
        self.diary.append(f"{self.name} closed")
        if self.trouble == "close":
            raise RuntimeError(f"{self.name} can't close")


def test_every_member_is_configured_and_closed() -> None:
    """EXP-06: once each, with the same configs."""
    diary: list[str] = []
    with AllOf([Remembers("a", diary), Remembers("b", diary)]) as policy:
        policy.configure({"k": "v"})
    assert sorted(diary) == ["a closed", "a {'k': 'v'}", "b closed", "b {'k': 'v'}"]


def test_a_member_that_cannot_be_closed_keeps_no_other_open() -> None:
    diary: list[str] = []
    members = [
        Remembers("a", diary),
        Remembers("b", diary, trouble="close"),
        Remembers("c", diary),
    ]
    with pytest.raises(RuntimeError, match="b can't close"):
        AllOf(members).close()
    assert sorted(diary) == ["a closed", "b closed", "c closed"]


def test_where_one_refuses_its_configs_the_others_are_closed() -> None:
    diary: list[str] = []
    members = [Remembers("a", diary), Remembers("b", diary, trouble="configure")]
    with pytest.raises(ValueError, match="b can't"):
        AllOf(members).configure({})
    assert diary == ["a {}", "a closed"]


def test_a_class_of_ones_own_needs_no_arguments() -> None:
    """P201-43: a broker's config or a project names the class; it hands its parts their configs."""

    class OurRules(AllOf):
        def __init__(self) -> None:
            super().__init__([refusing("CreateTopic", "no"), BaseTopicPolicy()])

    interfaces = (
        TopicManagementPolicy,
        BrokerManagementPolicy,
        AclManagementPolicy,
        ClientQuotaManagementPolicy,
        VirtualClusterManagementPolicy,
    )
    assert issubclass(OurRules, interfaces)
    said = judge(
        OurRules(),
        a_state(),
        creation(),
        AlterBrokerRequest(broker=1, configs={}),
        DeleteAclRequest(binding=acl()),
    )
    assert [item.stops for item in said] == [True, False, False]


class Nothing(TopicManagementPolicy):
    """Refuses everything."""

    closed = False

    def configure(self, configs: Mapping[str, str]) -> None:
        self.configs = configs

    def close(self) -> None:
        self.closed = True

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        raise PolicyViolation("no")

    validate_alter_topic = validate_delete_topic = validate_delete_records = validate_create_topic


@pytest.mark.parametrize("name", ["__consumer_offsets", "__kgitops", "orders"])
def test_internal_topics_pass(name: str) -> None:
    """EX-17: whatever is done to an internal topic is not asked about; all else is."""
    policy = InternalTopicsPass(Nothing())
    requests = [
        create_topic(name),
        alter_topic(topic(name), partitions=2),
        delete_topic(name),
        delete_records(name, {0: 1}),
    ]
    refused = [violation(policy, request) is not None for request in requests]
    assert refused == [name == "orders"] * 4


def test_what_wraps_a_policy_passes_its_life_on() -> None:
    """EX-17: configure and close reach the policy."""
    inner = Nothing()
    with InternalTopicsPass(inner) as policy:
        policy.configure({"a": "1"})
    assert (inner.configs, inner.closed) == ({"a": "1"}, True)


def test_an_altered_internal_topic_passes_in_a_judge_too() -> None:
    """EX-17: as plans and brokers ask."""
    offsets = a_topic_state("__consumer_offsets")
    state = a_state(offsets, a_topic_state())
    said = judge(
        InternalTopicsPass(Nothing()),
        state,
        alteration(offsets, configs={"a": "1"}),
        deletion(),
    )
    assert [item.stops for item in said] == [False, True]
    assert issubclass(InternalTopicsPass, Base)
