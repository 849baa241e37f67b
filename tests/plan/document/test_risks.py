"""Risk codes: every change has one, every code can occur, every topic config is judged."""

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest
from builders import (
    a_binding,
    a_cluster,
    a_consumer_group,
    a_desired,
    a_quota,
    a_quota_state,
    a_topic,
    a_topic_state,
    a_user,
    an_acl,
    an_entity,
    an_owner,
    applied,
    on_cluster,
    plan_of,
    some_broker_configs,
    some_client_metrics,
    some_configs,
    with_changes,
    with_configs,
)
from laws.cluster_model import Model
from msgspec.structs import replace
from plan.worked_scenario import (
    APP,
    SALES,
    a_group,
    a_link,
    a_local_topic,
    a_member,
    a_virtual_cluster,
    an_acl_in,
)

from kgitops.desired.state import DesiredState, Safety
from kgitops.kinds import base
from kgitops.kinds.topics.configs import config_risk
from kgitops.model.cluster_state import ClusterState, TopicUsage
from kgitops.model.json.declared import DeletionPolicy, DesiredObject, DesiredTopic, OffsetReset
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topic_configs import ConfigType, TopicConfig, topic_configs
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import EntityType, LocalName, LoweringOptions
from kgitops.plan import planner
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Plan
from kgitops.plan.document.risks import RISK_LEVELS, Risk, all_risks

OTHER = a_quota(an_entity(user="other"))
DELETE, ORPHAN = DeletionPolicy.DELETE, DeletionPolicy.ORPHAN

Scenario = tuple[DesiredState, ClusterState]


def create(*wanted: DesiredObject) -> Scenario:
    return a_desired(*wanted), a_cluster()


def adopt(wanted: DesiredObject) -> Scenario:
    return a_desired(wanted), a_cluster(on_cluster(wanted))


def remove(managed: DesiredObject) -> Scenario:
    return a_desired(OTHER), applied(OTHER, managed)


def without_records(scenario: Scenario) -> Scenario:
    desired, state = scenario
    usage = {
        topic.name: TopicUsage(
            log_start_offsets=(7,) * topic.num_partitions,
            high_watermarks=(7,) * topic.num_partitions,
            size_bytes=(0,) * topic.num_partitions,
        )
        for topic in state.topics.values()
    }
    return desired, replace(state, usage=usage)


def change(before: DesiredObject, after: DesiredObject) -> Scenario:
    return a_desired(after), applied(before)


def config(before: Mapping[str, str], after: Mapping[str, str]) -> Scenario:
    return change(a_topic(configs=before), a_topic(configs=after))


TIERED = "remote.storage.enable"
TWO = a_topic(assignment=((1, 2), (2, 3)))


def in_turn(first: list[DesiredObject], then: list[DesiredObject]) -> Scenario:
    """First this was applied, then that is declared, beside a virtual cluster and its topic."""
    both = [a_virtual_cluster(), a_local_topic(deletion_policy=ORPHAN)]
    desired = a_desired(OTHER, *both, *first)
    state = Model(a_cluster()).apply(plan_of(desired, a_cluster())).state
    return a_desired(OTHER, *both, *then), state


def unmanaged(scenario: Scenario, *addresses: str) -> Scenario:
    """The registry knows nothing of these."""
    desired, state = scenario
    assert state.registry is not None
    owners = {key: own for key, own in state.registry.owners.items() if key not in addresses}
    return desired, replace(state, registry=replace(state.registry, owners=owners))


def unlinked(scenario: Scenario) -> Scenario:
    """Somebody removed the link of the topic."""
    desired, state = scenario
    found = replace(state.virtual_clusters[SALES], links={})
    return desired, replace(state, virtual_clusters={SALES: found})


def without_topic(scenario: Scenario) -> Scenario:
    """The topic's document is removed."""
    desired, state = scenario
    others = (item for item in desired.objects if not isinstance(item, DesiredTopic))
    return desired.with_objects(others), state


def owned(managed: DesiredObject, *then: DesiredObject) -> Scenario:
    """An object that is managed, whatever of it is on the cluster; ``then`` is declared now."""
    return a_desired(OTHER, *then), a_cluster(owners={managed.address: an_owner(managed)})


def reset_to(offset: int) -> Scenario:
    """The group is to go to this offset of a topic that has five records."""
    reset = OffsetReset(version="1", offsets={"orders": {0: offset}})
    usage = TopicUsage(log_start_offsets=(0,), high_watermarks=(5,))
    state = a_cluster(a_topic_state(partitions=1), usage={"orders": usage})
    return a_desired(a_consumer_group(reset=reset)), state


def with_group(scenario: Scenario, committed: int | None) -> Scenario:
    """The group has committed this offset, and has a config."""
    desired, state = scenario
    offsets = {} if committed is None else {("orders", 0): committed}
    configs = {"share.isolation.level": "x"}
    group = FoundGroup(name="billing", known=True, offsets=offsets, configs=configs)
    return desired, state.with_objects([group])


def with_metrics(scenario: Scenario) -> Scenario:
    """The subscription is there."""
    desired, state = scenario
    found = some_configs(ConfigResourceType.CLIENT_METRICS, "lag", {"interval.ms": "60000"})
    return desired, with_configs(state, found)


def with_threads(scenario: Scenario) -> Scenario:
    """All brokers have a config of their own."""
    desired, state = scenario
    found = some_configs(ConfigResourceType.BROKER, "<default>", {"num.io.threads": "12"})
    return desired, with_configs(state, found)


def with_acls(scenario: Scenario, *bindings: AclBinding) -> Scenario:
    """These are on the cluster as well."""
    desired, state = scenario
    return desired, replace(state, acls=state.acls | set(bindings))


LINK, OTHER_LINK = a_link("Sales", LocalName(SALES, "Orders")), a_link("Sales", "there")
USER, GROUP, TXN = (
    a_member(),
    a_group("etl"),
    a_member("t", entity_type=EntityType.TRANSACTIONAL_ID),
)
TAKES_OVER = a_group("etl", adopt="etl")
EMPTY_VC = a_virtual_cluster("empty", deletion_policy=DELETE)
THERE = a_topic("there", deletion_policy=ORPHAN)
KEPT_LINK = a_link("Sales", LocalName(SALES, "Orders"), deletion_policy=ORPHAN)

SCENARIOS: dict[Risk, Scenario] = {
    risks.TOPIC_UNLINK: without_topic(in_turn([], [])),
    risks.TOPIC_RELINK: unlinked(in_turn([], [])),
    risks.ACL_MIGRATED: with_acls(
        in_turn(
            [USER, an_acl_in(SALES, APP, "Read", "etl", resource="group")],
            [
                a_member(remove="kafka-cluster"),
                an_acl_in(SALES, APP, "Read", "etl", resource="group"),
            ],
        ),
        a_binding(APP, "Read", "etl", resource="group"),
    ),
    risks.VIRTUAL_CLUSTER_CREATE: create(a_virtual_cluster()),
    risks.VIRTUAL_CLUSTER_DELETE: in_turn([EMPTY_VC], []),
    risks.VIRTUAL_CLUSTER_ADOPT: unmanaged(in_turn([EMPTY_VC], [EMPTY_VC]), EMPTY_VC.address),
    risks.VIRTUAL_CLUSTER_FORGET: in_turn([a_virtual_cluster("empty", deletion_policy=ORPHAN)], []),
    risks.LOWERING_OPTIONS: in_turn(
        [EMPTY_VC],
        [
            a_virtual_cluster(
                "empty", deletion_policy=DELETE, options=LoweringOptions(deny_wins=True)
            )
        ],
    ),
    risks.LINK_ADD: in_turn([], [LINK]),
    risks.LINK_REMOVE: in_turn([LINK], []),
    risks.LINK_RETARGET: in_turn([LINK, THERE], [OTHER_LINK, THERE]),
    risks.LINK_ADOPT: unmanaged(in_turn([LINK], [LINK]), LINK.address),
    risks.LINK_FORGET: in_turn([KEPT_LINK], []),
    risks.MEMBER_BIND: in_turn([], [USER]),
    risks.MEMBER_UNBIND: in_turn([USER], []),
    risks.MEMBER_EXPOSED: with_acls(in_turn([USER], []), a_binding(APP)),
    risks.MEMBER_MOVE: in_turn([EMPTY_VC, USER], [EMPTY_VC, a_member(at="empty", move=True)]),
    risks.MEMBER_ADOPT: unmanaged(in_turn([USER], [USER]), USER.address),
    risks.MEMBER_FORGET: in_turn([a_member(deletion_policy=ORPHAN)], []),
    risks.GROUP_ADD: in_turn([], [GROUP]),
    risks.GROUP_TAKE_OVER: in_turn([], [TAKES_OVER]),
    risks.GROUP_REMOVE: in_turn([GROUP], []),
    risks.GROUP_DELETE: in_turn(
        [a_member("etl", entity_type=EntityType.GROUP, deletion_policy=DELETE)], []
    ),
    risks.TRANSACTIONAL_ID_ADD: in_turn([], [TXN]),
    risks.TRANSACTIONAL_ID_REMOVE: in_turn([TXN], []),
    risks.TOPIC_CREATE: create(a_topic()),
    risks.TOPIC_DELETE: remove(a_topic(deletion_policy=DELETE)),
    risks.EMPTY_TOPIC_DELETE: without_records(remove(a_topic(deletion_policy=DELETE))),
    risks.RECORDS_DELETE: change(a_topic(), a_topic(delete_records_before={0: 1})),
    risks.TOPIC_ADOPT: adopt(a_topic()),
    risks.TOPIC_FORGET: remove(a_topic(deletion_policy=ORPHAN)),
    risks.CONFIG_CHANGE: config({"segment.ms": "1"}, {"segment.ms": "2"}),
    risks.CONFIG_REMOVE: config({"segment.ms": "1"}, {}),
    risks.DISK_GROWTH: config({"retention.ms": "1"}, {"retention.ms": "2"}),
    risks.TOPIC_HAZARD: create(a_topic(configs={"segment.ms": "1"})),
    risks.RETENTION_SHRINK: config({"retention.ms": "2"}, {"retention.ms": "1"}),
    risks.CLEANUP_TO_DELETE: config({"cleanup.policy": "compact"}, {"cleanup.policy": "delete"}),
    risks.CLEANUP_TO_COMPACT: config({}, {"cleanup.policy": "compact,delete"}),
    risks.COMPACTION_SOONER: config({}, {"delete.retention.ms": "1"}),
    risks.MAX_MESSAGE_SHRINK: config({}, {"max.message.bytes": "1"}),
    risks.DURABILITY_WEAKER: config({"min.insync.replicas": "2"}, {"min.insync.replicas": "1"}),
    risks.DURABILITY_STRICTER: config({}, {"min.insync.replicas": "2"}),
    risks.TIMESTAMP_RULES: config({}, {"message.timestamp.type": "LogAppendTime"}),
    risks.REMOTE_STORAGE: config({}, {"remote.storage.enable": "true"}),
    risks.PARTITIONS_UP: change(a_topic(partitions=3), a_topic(partitions=4)),
    risks.REPLICAS_MOVE: change(TWO, a_topic(assignment=((1, 3), (2, 3)))),
    risks.REPLICATION_DOWN: change(TWO, a_topic(assignment=((1,), (2,)))),
    risks.REPLICATION_UP: change(TWO, a_topic(assignment=((1, 2, 3), (2, 3, 1)))),
    risks.LEADER_ORDER: change(TWO, a_topic(assignment=((2, 1), (2, 3)))),
    risks.MIN_ISR_UNREACHABLE: create(a_topic(configs={"min.insync.replicas": "2"})),
    risks.THROTTLE_CONFIG: config({}, {"leader.replication.throttled.replicas": "*"}),
    risks.REMOTE_DISABLE: config({TIERED: "true"}, {"remote.log.delete.on.disable": "true"}),
    risks.UNCLEAN_ELECTION: config({}, {"unclean.leader.election.enable": "true"}),
    risks.REGISTRY_ONLY: change(a_topic(deletion_policy=DELETE), a_topic()),
    risks.PROTECTION_LOWERED: change(a_topic(), a_topic(deletion_policy=DELETE)),
    risks.OBJECT_TAKEN: (a_desired(a_topic()), applied(a_topic(), project="default")),
    risks.PROJECT_TAKEN_OVER: (
        a_desired(a_topic(), take_from=["theirs"], safety=Safety(allow_takeover=("theirs",))),
        applied(a_topic(), project="theirs"),
    ),
    risks.ACL_GRANT: create(an_acl()),
    risks.ACL_REVOKE: remove(an_acl()),
    risks.ACL_WIDE_GRANT: create(an_acl(a_binding(principal="User:*"))),
    risks.ACL_DENY: create(an_acl(a_binding(permission="Deny"))),
    risks.ACL_DENY_LIFTED: remove(an_acl(a_binding(permission="Deny"))),
    risks.ACL_ADOPT: adopt(an_acl()),
    risks.ACL_FORGET: remove(an_acl(deletion_policy=ORPHAN)),
    risks.ACL_FIRST: (a_desired(an_acl()), a_cluster(a_topic_state())),
    risks.QUOTA_CREATE: create(a_quota()),
    risks.QUOTA_LOWER: change(a_quota(producer_byte_rate=2), a_quota(producer_byte_rate=1)),
    risks.QUOTA_RAISE: change(a_quota(producer_byte_rate=1), a_quota(producer_byte_rate=2)),
    risks.QUOTA_REMOVE: remove(a_quota()),
    risks.QUOTA_ADOPT: adopt(a_quota()),
    risks.QUOTA_FORGET: remove(a_quota(deletion_policy=ORPHAN)),
    risks.USER_CREATE: (a_desired(OTHER, a_user()), applied(OTHER).with_objects([], Kind.USER)),
    risks.MECHANISM_ADD: change(a_user(), a_user(mechanisms=ScramMechanism)),
    risks.PASSWORD_RENEW: change(a_user(version="1"), a_user(version="2")),
    risks.ITERATIONS_RAISE: change(a_user(iterations=4096), a_user()),
    risks.ITERATIONS_LOWER: change(a_user(), a_user(iterations=4096)),
    risks.MECHANISM_REMOVE: change(a_user(mechanisms=ScramMechanism), a_user()),
    risks.USER_DELETE: remove(a_user(deletion_policy=DELETE)),
    risks.USER_ADOPT: adopt(a_user()),
    risks.USER_FORGET: remove(a_user(deletion_policy=ORPHAN)),
    risks.GROUP_CREATE: create(a_consumer_group()),
    risks.GROUP_ADOPT: with_group((a_desired(a_consumer_group()), a_cluster()), 1),
    risks.GROUP_FORGET: with_group(owned(a_consumer_group(deletion_policy=ORPHAN)), 1),
    risks.GROUP_CONFIG: create(a_consumer_group(configs={"consumer.session.timeout.ms": "1"})),
    risks.GROUP_CONFIG_REMOVE: with_group(
        owned(a_consumer_group(configs={"share.isolation.level": "x"}), a_consumer_group()), 1
    ),
    risks.OFFSETS_SET: with_group(reset_to(2), None),
    risks.OFFSETS_BACK: with_group(reset_to(2), 3),
    risks.OFFSETS_FORWARD: with_group(reset_to(2), 1),
    risks.CLIENT_METRICS_SET: create(some_client_metrics()),
    risks.CLIENT_METRICS_REMOVE: with_metrics(owned(some_client_metrics())),
    risks.CLIENT_METRICS_ADOPT: with_metrics((a_desired(some_client_metrics()), a_cluster())),
    risks.CLIENT_METRICS_FORGET: with_metrics(owned(some_client_metrics(deletion_policy=ORPHAN))),
    risks.BROKER_CONFIG_SET: create(some_broker_configs()),
    risks.BROKER_CONFIG_DATA: create(some_broker_configs(log_retention_ms="1000")),
    risks.BROKER_CONFIG_REMOVE: with_threads(owned(some_broker_configs())),
    risks.BROKER_CONFIG_ADOPT: with_threads((a_desired(some_broker_configs()), a_cluster())),
    risks.BROKER_CONFIG_FORGET: with_threads(owned(some_broker_configs(deletion_policy=ORPHAN))),
    risks.REPLICATION_THROTTLE: (
        a_desired(a_topic(assignment=((1, 3), (2, 3))), safety=Safety()),
        applied(TWO),
    ),
}


def codes(plan: Plan) -> set[Risk]:
    found = {risk for change in plan.changes for risk in change.risks}
    return found | {field.risk for c in plan.changes for field in c.fields if field.risk}


def test_every_code_is_produced_by_its_scenario() -> None:
    """No code is dead; one that is added needs a scenario here."""
    assert set(SCENARIOS) == set(all_risks())
    missing = [risk.code for risk, scenario in SCENARIOS.items() if risk not in _of(scenario)]
    assert missing == []


def _of(scenario: Scenario) -> set[Risk]:
    return codes(plan_of(*scenario))


@pytest.mark.parametrize("risk", all_risks(), ids=lambda risk: risk.code)
def test_every_change_has_a_code_and_leads_with_the_worst(risk: Risk) -> None:
    for planned in plan_of(*SCENARIOS[risk]).changes:
        assert planned.risks
        levels = [RISK_LEVELS.index(each.level) for each in planned.risks]
        assert levels == sorted(levels)
        assert {field.risk for field in planned.fields} <= set(planned.risks)


def test_every_code_is_used_by_the_planner_under_its_name() -> None:
    """A constant that no module names would be dead though its code may be built elsewhere."""
    packages = [Path(module.__file__).parent for module in (planner, base)]
    named = {
        node.attr
        for package in packages
        for path in package.rglob("*.py")
        if path.name != "risks.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    constants = {name for name, value in vars(risks).items() if isinstance(value, Risk)}
    assert constants <= named


def test_codes_names_and_sentences_are_fit_to_print() -> None:
    every = all_risks()
    assert len({risk.name for risk in every}) == len(every)
    for risk in every:
        assert risk.code.startswith("KG")
        assert risk.text
        assert risk.safer
        assert "|" not in risk.text + risk.safer
        assert not risk.text.endswith(".")


# Topic configs

# Here no direction loses records, locks anyone out or refuses clients; single values may hurt.
PLAIN = {
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "errors.deadletterqueue.group.enable",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "index.interval.bytes",
    "min.cleanable.dirty.ratio",
    "preallocate",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
}
PLAIN_RISKS = {risks.CONFIG_CHANGE, risks.CONFIG_REMOVE}


def two_values(found: TopicConfig) -> tuple[str, str]:
    """Two legal values of a config, the lower first."""
    match found.type:
        case ConfigType.BOOLEAN:
            return "false", "true"
        case ConfigType.STRING:
            return found.valid_values[0], found.valid_values[-1]
        case ConfigType.LIST:
            return (found.valid_values or ("*",))[0], ",".join(found.valid_values or ("0:1",))
        case ConfigType.DOUBLE:
            return "0.25", "0.75"
        case _:
            low = max(int(found.minimum or 1), 1)
            return str(low), str(low + 1)


def planned_risks(key: str) -> dict[str, set[Risk]]:
    low, high = two_values(topic_configs()[key])
    # Kafka takes tiered storage away only where what it holds may go as well.
    beside = {"remote.log.delete.on.disable": "true"} if key == TIERED else {}
    moves = {
        "set": ({}, {key: high}),
        "raise": ({key: low}, {key: high}),
        "lower": ({key: high}, {key: low}),
        "remove": ({key: high}, {}),
    }
    found = {}
    for move, (before, after) in moves.items():
        (change,) = plan_of(*config({**beside, **before}, {**beside, **after})).changes
        (field,) = change.fields
        assert field.path == f"configs.{key}"
        assert field.risk in change.risks
        found[move] = {field.risk}
    return found


@pytest.mark.parametrize("key", sorted(topic_configs()))
def test_every_topic_config_is_judged_whichever_way_it_goes(key: str) -> None:
    judged = set().union(*planned_risks(key).values())
    if key in PLAIN:
        assert judged - {risks.TOPIC_HAZARD} <= PLAIN_RISKS
    else:
        assert judged - PLAIN_RISKS


def test_the_allow_list_names_existing_configs_only() -> None:
    assert set(topic_configs()) >= PLAIN


@pytest.mark.parametrize(
    ("key", "before", "after", "expected"),
    [
        ("retention.ms", "-1", "9223372036854775807", risks.RETENTION_SHRINK),
        ("retention.ms", "1", "-1", risks.DISK_GROWTH),
        ("retention.bytes", "-5", "-1", risks.CONFIG_CHANGE),
        ("retention.bytes", "5", "6", risks.DISK_GROWTH),
        ("retention.bytes", "-1", "5", risks.RETENTION_SHRINK),
        ("retention.ms", "9223372036854775807", "9223372036854775806", risks.RETENTION_SHRINK),
        ("retention.ms", "1", "what", risks.RETENTION_SHRINK),
        ("cleanup.policy", "compact,delete", "delete", risks.DISK_GROWTH),
        ("cleanup.policy", "compact,delete", "compact", risks.DISK_GROWTH),
        ("cleanup.policy", "", "delete", risks.CLEANUP_TO_DELETE),
        ("cleanup.policy", "delete", "", risks.DISK_GROWTH),
        ("min.insync.replicas", "what", "1", risks.DURABILITY_WEAKER),
        ("unclean.leader.election.enable", "true", "false", risks.CONFIG_CHANGE),
        ("remote.storage.enable", "true", "false", risks.REMOTE_DISABLE),
        ("vendor.key", "1", "2", risks.CONFIG_CHANGE),
        ("x.replication.throttled.replicas", "", "*", risks.THROTTLE_CONFIG),
    ],
)
def test_a_config_is_judged_by_the_values_in_effect(
    key: str, before: str, after: str, expected: Risk
) -> None:
    """Minus is "no limit"; what can't be read is taken for the worse."""
    assert config_risk(key, before, after, removed=False) is expected


def test_removing_a_key_is_judged_by_the_default_that_then_applies() -> None:
    current = applied(
        a_topic(configs={"retention.ms": "9"}), broker_defaults={"retention.ms": "10"}
    )
    assert codes(plan_of(a_desired(a_topic()), current)) == {risks.DISK_GROWTH}
    lower = applied(a_topic(configs={"retention.ms": "9"}), broker_defaults={"retention.ms": "8"})
    assert codes(plan_of(a_desired(a_topic()), lower)) == {risks.RETENTION_SHRINK}


def test_setting_a_key_to_the_default_that_applies_is_plain() -> None:
    assert _of(config({}, {"retention.ms": "604800000"})) == {risks.CONFIG_CHANGE}


def test_drifted_values_are_judged_from_what_was_found() -> None:
    """A retention that someone raised is cut back: records go."""
    managed = a_topic(configs={"retention.ms": "10"})
    current = with_changes(applied(managed), a_topic_state(configs={"retention.ms": "99"}))
    assert codes(plan_of(a_desired(managed), current)) == {risks.RETENTION_SHRINK}


def test_a_quota_key_set_beside_others_is_a_new_limit() -> None:
    current = with_changes(applied(OTHER), a_quota_state(request_percentage=1))
    found = codes(plan_of(a_desired(OTHER, a_quota(producer_byte_rate=1)), current))
    assert found == {risks.QUOTA_ADOPT, risks.QUOTA_CREATE}
