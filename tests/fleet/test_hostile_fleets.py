"""Fleets meant to mislead: each is planned as the planner plans the whole, or refused.

A plan that misses a change, or that deletes what the planner would leave, is what must never come.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders import (
    UID,
    a_binding,
    a_cluster,
    a_desired,
    a_quota,
    a_tombstone,
    a_topic,
    a_topic_state,
    an_acl,
    an_entity,
    an_owner,
    applied,
    on_cluster,
    with_changes,
)
from msgspec.structs import replace

from kgitops.cluster.snapshot import write_snapshot
from kgitops.desired.state import ConfigsPolicy, DeletionPolicy, DesiredObject, DesiredState, Safety
from kgitops.fleet.diff import narrow as reduced
from kgitops.fleet.planning import plan_of_unit
from kgitops.fleet.tables.desired_rows import write_desired
from kgitops.fleet.tables.hydrating import read_state
from kgitops.fleet.tables.state_rows import write_state
from kgitops.fleet.units.unit import RowFiles, StateFiles, StateFormat, Unit
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import SafetyError
from kgitops.model.registry import Owner
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.plan import Plan
from kgitops.plan.ownership import EXECUTED_TOMBSTONES

OTHER = "0c6a5ab0-1111-4a52-9d2b-0d7f3f1b9a22"
FILLER = tuple(a_topic(f"calm-{number}") for number in range(20))


def unit_of(
    desired: Path, *states: Path, form: StateFormat = StateFormat.PARQUET, project: str = "payments"
) -> Unit:
    return Unit(
        cluster="prod",
        project=project,
        state=StateFiles(form=form, files=states),
        desired=RowFiles(files=(desired,)),
    )


def as_told(plan: Plan) -> object:
    """Everything but what is left alone, which a fleet only counts."""
    told = plan_to_json(plan)
    rest = {key: value for key, value in told.items() if key not in ("kept", "summary")}
    return json.loads(re.sub(r"(\.yaml)#[^:\"]*", r"\1", json.dumps(rest)))


def whole(desired: DesiredState, state: ClusterState, folder: Path) -> Plan:
    """What ``kgitops plan --snapshot`` makes of them."""
    declared, there = folder / "whole-desired.parquet", folder / "prod.json"
    write_desired(desired, declared)
    there.write_text(write_snapshot(state), encoding="utf-8")
    return plan_of_unit(unit_of(declared, there, form=StateFormat.JSON), {}).plan


def by_fleet(
    desired: DesiredState,
    state: ClusterState,
    folder: Path,
    rewrite: Callable[[Path], list[Path]] = lambda path: [path],
) -> Plan:
    declared, there = folder / "desired.parquet", folder / "state.parquet"
    write_desired(desired, declared)
    write_state(state, there)
    return plan_of_unit(unit_of(declared, *rewrite(there)), {}).plan


def with_owners(state: ClusterState, owners: Mapping[str, Owner], **more: object) -> ClusterState:
    """The state with these records too; ``projects`` are all that the registry knows."""
    assert state.registry is not None
    registry = replace(state.registry, owners={**state.registry.owners, **owners}, **more)  # type: ignore[arg-type]
    return replace(state, registry=registry)


Case = tuple[DesiredState, ClusterState]
SAFETY = Safety(replication_throttle=0, max_deletes=3, max_delete_percent=10)
_ORDERS = a_topic("orders", deletion_policy=DeletionPolicy.DELETE)


def spent_tombstone() -> Case:
    owner = an_owner(_ORDERS, spent=True)
    buried = replace(owner, last_applied={**owner.last_applied, EXECUTED_TOMBSTONES: ["drop"]})
    state = with_owners(applied(*FILLER), {_ORDERS.address: buried})
    return a_desired(*FILLER, a_tombstone(_ORDERS)), state


def tombstone_again_on_a_settled_topic() -> Case:
    """It was executed once, the topic made again, and the Tombstone has no id."""
    owner = an_owner(_ORDERS)
    buried = replace(owner, last_applied={**owner.last_applied, EXECUTED_TOMBSTONES: ["drop"]})
    state = with_owners(applied(*FILLER, _ORDERS), {_ORDERS.address: buried})
    return a_desired(*FILLER, a_tombstone(_ORDERS)), state


def buried_and_declared() -> Case:
    owner = an_owner(_ORDERS)
    buried = replace(owner, last_applied={**owner.last_applied, EXECUTED_TOMBSTONES: ["drop"]})
    state = with_owners(applied(*FILLER, _ORDERS), {_ORDERS.address: buried})
    return a_desired(*FILLER, _ORDERS), state


def tombstone_with_wrong_id() -> Case:
    return a_desired(*FILLER, a_tombstone(_ORDERS, topic_id="other")), applied(*FILLER, _ORDERS)


def tombstone_beside_a_settled_document() -> Case:
    return a_desired(*FILLER, _ORDERS, a_tombstone(_ORDERS)), applied(*FILLER, _ORDERS)


def tombstone_of_a_foreign_topic() -> Case:
    state = with_owners(
        applied(*FILLER, _ORDERS),
        {_ORDERS.address: an_owner(_ORDERS, project=OTHER)},
        projects={UID: "payments", OTHER: "logistics"},
    )
    return a_desired(*FILLER, a_tombstone(_ORDERS)), state


def tombstone_of_what_nobody_manages() -> Case:
    state = applied(*FILLER, beside=[a_topic_state("orders")])
    return a_desired(*FILLER, a_tombstone(_ORDERS)), state


def _others(identity: str, name: str, **more: object) -> Case:
    state = with_owners(
        applied(*FILLER, _ORDERS),
        {_ORDERS.address: an_owner(_ORDERS, project=identity)},
        projects={UID: "payments", identity: name},
    )
    return a_desired(*FILLER, _ORDERS, **more), state  # type: ignore[arg-type]


def foreign() -> Case:
    return _others(OTHER, "logistics")


def taken_from() -> Case:
    return _others(OTHER, "logistics", take_from=["logistics"])


def formerly() -> Case:
    return _others("old-payments", "old-payments", formerly=["old-payments"])


def formerly_and_removed() -> Case:
    _, state = formerly()
    return a_desired(*FILLER, formerly=["old-payments"]), state


def of_default() -> Case:
    return _others("default", "default")


def owner_in_another_case() -> Case:
    return _others(UID.upper(), "Payments")


def uid_known_by_another_name() -> Case:
    state = applied(*FILLER)
    return a_desired(*FILLER), with_owners(state, {}, projects={UID: "invoices"})


def name_known_by_another_uid() -> Case:
    state = applied(*FILLER)
    return a_desired(*FILLER), with_owners(state, {}, projects={UID: "payments", OTHER: "payments"})


def adopted_and_removed() -> Case:
    state = applied(*FILLER, _ORDERS)
    written = an_owner(replace(_ORDERS, deletion_policy_written=False), adopted=True)
    return a_desired(*FILLER), with_owners(state, {_ORDERS.address: written})


def adopted_and_settled() -> Case:
    state = applied(*FILLER, _ORDERS, adopted=True)
    return a_desired(*FILLER, _ORDERS), state


def collides_with_a_settled_topic() -> Case:
    return a_desired(*FILLER, a_topic("calm.1.x"), a_topic("calm_1_x")), applied(
        *FILLER, a_topic("calm_1_x")
    )


def collides_with_a_strangers_topic() -> Case:
    return a_desired(*FILLER, a_topic("a.b_c")), applied(*FILLER, beside=[a_topic_state("a_b.c")])


def exact_configs_beside_a_strangers_key() -> Case:
    topic = a_topic("orders", configs_policy=ConfigsPolicy.EXACT)
    state = with_changes(
        applied(*FILLER, topic), a_topic_state("orders", configs={"retention.ms": "1"})
    )
    return a_desired(*FILLER, topic), state


def exact_configs_from_now_on() -> Case:
    before = a_topic("orders")
    state = with_changes(
        applied(*FILLER, before), a_topic_state("orders", configs={"retention.ms": "1"})
    )
    return a_desired(*FILLER, a_topic("orders", configs_policy=ConfigsPolicy.EXACT)), state


def deletion_policy_alone() -> Case:
    return a_desired(*FILLER, a_topic("orders", deletion_policy=DeletionPolicy.PROTECT)), applied(
        *FILLER, _ORDERS
    )


def deletion_policy_only_written() -> Case:
    """The same policy, now spelt out: an absence later means another thing."""
    return a_desired(*FILLER, a_topic("orders", deletion_policy=DeletionPolicy.PROTECT)), applied(
        *FILLER, a_topic("orders")
    )


def labels_alone() -> Case:
    return a_desired(*FILLER, replace(_ORDERS, labels={"team": "x"})), applied(*FILLER, _ORDERS)


def labels_of_what_changes() -> Case:
    """A plan tells them, and a compiled row must have carried them there."""
    labelled = replace(_ORDERS, partitions=9, labels={"team": "x", "é": "\N{PILE OF POO}"})
    return a_desired(*FILLER, labelled), applied(*FILLER, _ORDERS)


def recreated_by_somebody() -> Case:
    state = with_changes(applied(*FILLER, _ORDERS), a_topic_state("orders", topic_id="another"))
    return a_desired(*FILLER, _ORDERS), state


def gone_from_the_cluster() -> Case:
    state = with_changes(applied(*FILLER, _ORDERS), gone=[a_topic_state("orders")])
    return a_desired(*FILLER, _ORDERS), state


def gone_and_no_longer_declared() -> Case:
    state = with_changes(applied(*FILLER, _ORDERS), gone=[a_topic_state("orders")])
    return a_desired(*FILLER), state


def being_deleted() -> Case:
    state = with_changes(
        applied(*FILLER, _ORDERS), a_topic_state("orders", marked_for_deletion=True)
    )
    return a_desired(*FILLER, _ORDERS), state


def records_deleted() -> Case:
    topic = a_topic("orders", delete_records_before={0: 5})
    return a_desired(*FILLER, topic), applied(*FILLER, topic)


def too_many_deletions() -> Case:
    going = [a_topic(f"x{n}", deletion_policy=DeletionPolicy.DELETE) for n in range(4)]
    return a_desired(*FILLER, safety=SAFETY), applied(*FILLER, *going)


def too_large_a_share() -> Case:
    """Five of twenty-five: the settled ones count."""
    going = [a_topic(f"x{n}", deletion_policy=DeletionPolicy.DELETE) for n in range(5)]
    safety = Safety(replication_throttle=0, max_deletes=50, max_delete_percent=19)
    return a_desired(*FILLER, safety=safety), applied(*FILLER, *going)


def a_share_that_is_just_allowed() -> Case:
    desired, state = too_large_a_share()
    return replace(desired, safety=replace(desired.safety, max_delete_percent=20)), state


def nothing_declared() -> Case:
    return a_desired(), applied(*FILLER)


def a_part_of_the_project() -> Case:
    return a_desired(_ORDERS, whole=False), applied(*FILLER, a_topic("orders"))


def declared_for_other_clusters() -> Case:
    return a_desired(*FILLER, other_clusters=[_ORDERS.address]), applied(*FILLER, _ORDERS)


def no_registry() -> Case:
    return a_desired(*FILLER), a_cluster(*map(on_cluster, FILLER))


def an_empty_registry() -> Case:
    return a_desired(*FILLER), a_cluster(*map(on_cluster, FILLER), owners={})


_ODD = (
    an_acl(a_binding("User:CN=a/b,O=ü %2F", "Read", "orders", host="10.0.0.1")),
    an_acl(a_binding("User:*", "Describe", "orders")),
    an_acl(a_binding("Group:admins", "All", "kafka-cluster", resource="cluster")),
    an_acl(a_binding("User:x", "Read", "ord", pattern="prefixed")),
    an_acl(a_binding("User:x", "Write", "*")),
)


def _acl(*args: str, **more: str) -> DesiredObject:
    return an_acl(a_binding(*args, **more))


def odd_acls_are_settled() -> Case:
    return a_desired(*FILLER, *_ODD), applied(*FILLER, *_ODD)


def odd_acls_are_taken_away() -> Case:
    return a_desired(*FILLER), applied(*FILLER, *_ODD)


def odd_acls_of_nobody() -> Case:
    return a_desired(*FILLER, _ODD[0]), applied(*FILLER, beside=[acl.binding for acl in _ODD])


def deny(name: str, **more: str) -> Case:
    """It shuts out whoever was let in by others' and by settled rules."""
    denied = _acl("User:billing", "Read", name, permission="Deny", **more)
    rights = (
        _acl("User:billing", "All", "orders-eu"),
        _acl("User:billing", "Read", "orders", pattern="prefixed"),
        _acl("User:billing", "Read", "calm-1"),
        _acl("User:kgitops", "All", "*"),
    )
    beside = [a_binding("User:billing", "Read", "calm-2"), a_binding("User:*", "Read", "other")]
    return a_desired(*FILLER, *rights, denied), applied(*FILLER, *rights, beside=beside)


def deny_one() -> Case:
    return deny("orders-eu")


def deny_a_prefix() -> Case:
    return deny("or", pattern="prefixed")


def deny_everything() -> Case:
    return deny("*")


def allow_lost_but_another_stays() -> Case:
    two = (_acl("User:a", "Read", "orders"), _acl("User:a", "All", "orders"))
    return a_desired(*FILLER, two[1]), applied(*FILLER, *two)


def the_first_rule_on_a_settled_topic() -> Case:
    return a_desired(*FILLER, _acl("User:a", "Read", "calm-7")), applied(*FILLER)


def the_first_rule_on_a_strangers_topics() -> Case:
    rule = _acl("User:a", "Read", "sha", pattern="prefixed")
    return a_desired(*FILLER, rule), applied(*FILLER, beside=[a_topic_state("shared")])


def the_first_rule_on_the_cluster() -> Case:
    rule = _acl("User:a", "Alter", "kafka-cluster", resource="cluster")
    return a_desired(*FILLER, rule), applied(*FILLER)


def the_second_rule_on_the_cluster() -> Case:
    rule = _acl("User:a", "Alter", "kafka-cluster", resource="cluster")
    first = _acl("User:b", "Alter", "kafka-cluster", resource="cluster")
    return a_desired(*FILLER, rule, first), applied(*FILLER, first)


def others_write_the_registry() -> Case:
    return a_desired(*FILLER), applied(
        *FILLER,
        beside=[a_binding("User:m", "Write", "__kgitops"), a_binding("User:n", "All", "*")],
    )


_DEFAULTS = (
    a_quota((("user", None),), producer_byte_rate=5),
    a_quota(an_entity(client_id=None, user="a/b")),
    a_quota((("ip", "10.0.0.1"),), connection_creation_rate=3),
)


def default_quotas_are_settled() -> Case:
    return a_desired(*FILLER, *_DEFAULTS), applied(*FILLER, *_DEFAULTS)


def default_quotas_change_and_go() -> Case:
    changed = a_quota((("user", None),), producer_byte_rate=4)
    return a_desired(*FILLER, changed), applied(*FILLER, *_DEFAULTS)


def a_quota_with_a_strangers_key() -> Case:
    mine = _DEFAULTS[0]
    state = applied(*FILLER, mine)
    both = {"producer_byte_rate": 5.0, "consumer_byte_rate": 1.0}
    more = replace(state.quotas[mine.entity], quotas=both)
    return a_desired(*FILLER, mine), with_changes(state, more)


def two_projects_with_the_same_names() -> Case:
    """Each manages half of what both declare."""
    state = with_owners(
        applied(*FILLER),
        {item.address: an_owner(item, project=OTHER) for item in FILLER[10:]},
        projects={UID: "payments", OTHER: "logistics"},
    )
    return a_desired(*FILLER), state


def a_broker_default_has_changed() -> Case:
    topic = a_topic("orders", configs={"min.insync.replicas": "2"}, replication_factor=2)
    return a_desired(*FILLER, topic), applied(
        *FILLER, topic, broker_defaults={"min.insync.replicas": "3"}
    )


CASES = [
    spent_tombstone,
    tombstone_again_on_a_settled_topic,
    buried_and_declared,
    tombstone_with_wrong_id,
    tombstone_beside_a_settled_document,
    tombstone_of_a_foreign_topic,
    tombstone_of_what_nobody_manages,
    foreign,
    taken_from,
    formerly,
    formerly_and_removed,
    of_default,
    owner_in_another_case,
    uid_known_by_another_name,
    name_known_by_another_uid,
    adopted_and_removed,
    adopted_and_settled,
    collides_with_a_settled_topic,
    collides_with_a_strangers_topic,
    exact_configs_beside_a_strangers_key,
    exact_configs_from_now_on,
    deletion_policy_alone,
    deletion_policy_only_written,
    labels_alone,
    labels_of_what_changes,
    recreated_by_somebody,
    gone_from_the_cluster,
    gone_and_no_longer_declared,
    being_deleted,
    records_deleted,
    too_many_deletions,
    too_large_a_share,
    a_share_that_is_just_allowed,
    nothing_declared,
    a_part_of_the_project,
    declared_for_other_clusters,
    no_registry,
    an_empty_registry,
    odd_acls_are_settled,
    odd_acls_are_taken_away,
    odd_acls_of_nobody,
    deny_one,
    deny_a_prefix,
    deny_everything,
    allow_lost_but_another_stays,
    the_first_rule_on_a_settled_topic,
    the_first_rule_on_a_strangers_topics,
    the_first_rule_on_the_cluster,
    the_second_rule_on_the_cluster,
    others_write_the_registry,
    default_quotas_are_settled,
    default_quotas_change_and_go,
    a_quota_with_a_strangers_key,
    two_projects_with_the_same_names,
    a_broker_default_has_changed,
]


@pytest.mark.parametrize("rows_at_once", [1_000_000, 3])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_hostile_fleet_is_planned_as_the_planner_plans_it(
    case: Callable[[], Case], rows_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reduced, "ROWS_AT_ONCE", rows_at_once)
    desired, state = case()
    assert as_told(by_fleet(desired, state, tmp_path)) == as_told(whole(desired, state, tmp_path))


def eventful() -> Case:
    """Something of everything: made, changed, deleted, adopted, refused, taken, settled."""
    gone, changed, new = a_topic("gone", deletion_policy=DeletionPolicy.DELETE), "changed", "new"
    rights = (_acl("User:a", "Read", "calm-1"), _acl("User:a", "Write", "calm-2"))
    state = with_owners(
        applied(
            *FILLER,
            *rights,
            gone,
            a_topic(changed),
            a_topic("taken"),
            beside=[a_topic_state("adopted"), a_topic_state("stranger")],
        ),
        {a_topic("taken").address: an_owner(a_topic("taken"), project="default")},
        projects={UID: "payments", "default": "default"},
    )
    desired = a_desired(
        *FILLER,
        rights[0],
        a_topic(changed, partitions=4),
        a_topic(new),
        a_topic("taken"),
        a_topic("adopted"),
    )
    return desired, state


def _saved(table: pa.Table, path: Path, **how: object) -> Path:
    pq.write_table(table, path, **how)
    return path


def backwards(path: Path) -> list[Path]:
    table = pq.read_table(path)
    return [_saved(table.take(list(reversed(range(table.num_rows)))), path)]


def in_three_files(path: Path) -> list[Path]:
    table = pq.read_table(path)
    parts = [table.take(list(range(start, table.num_rows, 3))) for start in range(3)]
    return [_saved(part, path.with_name(f"part-{n}.parquet")) for n, part in enumerate(parts)]


def a_row_a_group(path: Path) -> list[Path]:
    return [_saved(pq.read_table(path), path, row_group_size=1)]


def without_statistics(path: Path) -> list[Path]:
    return [_saved(pq.read_table(path), path, row_group_size=4, write_statistics=False)]


def with_empty_files(path: Path) -> list[Path]:
    return [path, _saved(pq.read_table(path).slice(0, 0), path.with_name("empty.parquet"))]


def other_columns_in_another_order(path: Path) -> list[Path]:
    table = pq.read_table(path)
    table = table.select(sorted(table.column_names, reverse=True))
    return [_saved(table.append_column("note", pa.nulls(table.num_rows, pa.string())), path)]


def by_duckdb(path: Path) -> list[Path]:
    there = path.with_name("duck.parquet")
    rows = duckdb.read_parquet(str(path)).order("hash(address)")
    rows.write_parquet(str(there), row_group_size=5)
    return [there]


def by_pandas(path: Path) -> list[Path]:
    """Integers beside nulls become floats there, unless they are kept."""
    frame = pq.read_table(path).to_pandas(types_mapper={pa.int32(): None}.get)
    there = path.with_name("pandas.parquet")
    frame.astype({"partitions": "Int32"}).to_parquet(there)
    return [there]


REWRITES = [
    backwards,
    in_three_files,
    a_row_a_group,
    without_statistics,
    with_empty_files,
    other_columns_in_another_order,
    by_duckdb,
    pytest.param(by_pandas, marks=pytest.mark.spark),
]


@pytest.mark.parametrize("rows_at_once", [1_000_000, 3])
@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.__name__)
def test_rows_may_be_rewritten(
    rewrite: Callable[[Path], list[Path]],
    rows_at_once: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reduced, "ROWS_AT_ONCE", rows_at_once)
    desired, state = eventful()
    plan = by_fleet(desired, state, tmp_path, rewrite)
    assert as_told(plan) == as_told(whole(desired, state, tmp_path))
    assert len(plan.changes) == 6


Rows = list[dict[str, object]]


def row_of(rows: Rows, address: str) -> dict[str, object]:
    (row,) = (row for row in rows if row["address"] == address)
    return row


def _edited(path: Path, edit: Callable[[Rows], None]) -> list[Path]:
    table = pq.read_table(path)
    rows = table.to_pylist()
    edit(rows)
    return [_saved(pa.Table.from_pylist(rows, table.schema), path, row_group_size=4)]


def no_bucket_of_a_removed_topic(rows: Rows) -> None:
    row_of(rows, "topic/gone")["bucket"] = None


def no_bucket_of_a_changed_topic(rows: Rows) -> None:
    row_of(rows, "topic/changed")["bucket"] = None


def a_bucket_beyond_the_last(rows: Rows) -> None:
    row_of(rows, "topic/gone")["bucket"] = 300


def a_bucket_before_the_header(rows: Rows) -> None:
    row_of(rows, "topic/gone")["bucket"] = -7


def the_bucket_of_another(rows: Rows) -> None:
    for row in rows:
        if row["kind"] != "cluster":
            row["bucket"] = 255 - int(str(row["bucket"]))


def all_in_one_bucket(rows: Rows) -> None:
    for row in rows:
        if row["kind"] != "cluster":
            row["bucket"] = 0


def a_row_of_nobody_keeps_its_fingerprint(rows: Rows) -> None:
    """As a join would leave it that lost the registry's columns of one row."""
    row_of(rows, "topic/calm-3").update(
        owner=None, owner_topic_id=None, adopted=None, spent=None, last_applied=None
    )


def a_row_of_another_keeps_its_fingerprint(rows: Rows) -> None:
    row_of(rows, "topic/calm-3")["owner"] = OTHER


def one_row_twice_in_place_of_another(rows: Rows) -> None:
    """The number of rows is right, and that of settled ones too."""
    a_row_of_nobody_keeps_its_fingerprint(rows)
    rows.remove(row_of(rows, "topic/stranger"))
    rows.append(dict(row_of(rows, "topic/calm-4")))


def another_one_in_place_of_a_lost_row(rows: Rows) -> None:
    rows.remove(row_of(rows, "topic/calm-3"))
    rows.append(dict(row_of(rows, "topic/calm-4")))


def a_lost_row(rows: Rows) -> None:
    rows.remove(row_of(rows, "topic/calm-3"))


def spent_with_a_fingerprint(rows: Rows) -> None:
    row_of(rows, "topic/calm-3")["spent"] = True


def fingerprints_swapped(rows: Rows) -> None:
    one, other = row_of(rows, "topic/calm-3"), row_of(rows, "topic/calm-4")
    one["fingerprint"], other["fingerprint"] = other["fingerprint"], one["fingerprint"]


def the_fingerprint_of_another_on_a_changed_topic(rows: Rows) -> None:
    row_of(rows, "topic/changed")["fingerprint"] = row_of(rows, "topic/calm-3")["fingerprint"]


def no_fingerprints(rows: Rows) -> None:
    for row in rows:
        row["fingerprint"] = None


def no_kind(rows: Rows) -> None:
    row_of(rows, "topic/changed")["kind"] = None


def the_kind_in_capitals(rows: Rows) -> None:
    row_of(rows, "topic/changed")["kind"] = "TOPIC"


def no_body(rows: Rows) -> None:
    row_of(rows, "topic/changed")["found"] = None


def the_body_of_another(rows: Rows) -> None:
    row_of(rows, "topic/changed")["found"] = row_of(rows, "topic/calm-3")["found"]


def the_address_of_another(rows: Rows) -> None:
    row_of(rows, "topic/stranger")["address"] = "topic/new"


def no_address(rows: Rows) -> None:
    row_of(rows, "topic/changed")["address"] = None


def no_name(rows: Rows) -> None:
    row_of(rows, "topic/stranger")["name"] = None


def is_said_not_to_exist(rows: Rows) -> None:
    row_of(rows, "topic/changed")["exists"] = False


def no_context(rows: Rows) -> None:
    for row in rows:
        row["context"] = None


EDITS = [
    no_bucket_of_a_removed_topic,
    no_bucket_of_a_changed_topic,
    a_bucket_beyond_the_last,
    a_bucket_before_the_header,
    the_bucket_of_another,
    all_in_one_bucket,
    a_row_of_nobody_keeps_its_fingerprint,
    a_row_of_another_keeps_its_fingerprint,
    one_row_twice_in_place_of_another,
    another_one_in_place_of_a_lost_row,
    a_lost_row,
    spent_with_a_fingerprint,
    fingerprints_swapped,
    the_fingerprint_of_another_on_a_changed_topic,
    no_fingerprints,
    no_kind,
    the_kind_in_capitals,
    no_body,
    the_body_of_another,
    the_address_of_another,
    no_address,
    no_name,
    is_said_not_to_exist,
    no_context,
]


@pytest.mark.parametrize("rows_at_once", [1_000_000, 3])
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_an_edited_state_is_refused_or_planned_as_it_is(
    edit: Callable[[Rows], None], rows_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the edited rows themselves say is what is planned, or nothing is."""
    monkeypatch.setattr(reduced, "ROWS_AT_ONCE", rows_at_once)
    desired, state = eventful()
    there = tmp_path / "state.parquet"
    write_state(state, there)
    files = _edited(there, edit)
    try:
        plan = by_fleet(desired, state, tmp_path, lambda path: _edited(path, edit))
    except SafetyError:
        return
    told = whole(desired, read_state(files, "prod"), tmp_path)
    # Which state it was is what the header says.
    assert as_told(plan) == as_told(replace(told, base=plan.base))


def declared_in_no_bucket(rows: Rows) -> None:
    row_of(rows, "topic/changed")["bucket"] = None


def declared_in_the_headers_bucket(rows: Rows) -> None:
    row_of(rows, "topic/changed")["bucket"] = -1


def declared_in_another_bucket(rows: Rows) -> None:
    for address in ("topic/adopted", "topic/taken", "topic/changed"):
        row = row_of(rows, address)
        row["bucket"] = 255 - int(str(row["bucket"]))


def declared_with_another_kind(rows: Rows) -> None:
    row_of(rows, "topic/new")["kind"] = "acl"


def declared_at_anothers_address(rows: Rows) -> None:
    row_of(rows, "topic/new")["address"] = "topic/other"


def declared_without_an_address(rows: Rows) -> None:
    row_of(rows, "topic/new")["address"] = None


def declared_as_another(rows: Rows) -> None:
    row_of(rows, "topic/new")["declared"] = row_of(rows, "topic/calm-1")["declared"]


def declared_without_a_body(rows: Rows) -> None:
    row_of(rows, "topic/new")["declared"] = None


def declared_twice(rows: Rows) -> None:
    rows.remove(row_of(rows, "topic/calm-2"))
    rows.append(dict(row_of(rows, "topic/calm-1")))


def declared_without_fingerprints(rows: Rows) -> None:
    for row in rows:
        row["fingerprint"] = None


def declared_without_a_place(rows: Rows) -> None:
    for row in rows:
        row.update(file=None, line=None, column=None)


DECLARED_EDITS = [
    declared_in_no_bucket,
    declared_in_the_headers_bucket,
    declared_in_another_bucket,
    declared_with_another_kind,
    declared_at_anothers_address,
    declared_without_an_address,
    declared_as_another,
    declared_without_a_body,
    declared_twice,
    declared_without_fingerprints,
    declared_without_a_place,
]
HARMLESS = (declared_without_fingerprints,)


@pytest.mark.parametrize("rows_at_once", [1_000_000, 3])
@pytest.mark.parametrize("edit", DECLARED_EDITS, ids=lambda edit: edit.__name__)
def test_edited_declarations_are_refused_or_planned_alike(
    edit: Callable[[Rows], None], rows_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reduced, "ROWS_AT_ONCE", rows_at_once)
    desired, state = eventful()
    declared, there = tmp_path / "desired.parquet", tmp_path / "state.parquet"
    write_desired(desired, declared)
    write_state(state, there)
    (declared,) = _edited(declared, edit)
    try:
        plan = plan_of_unit(unit_of(declared, there), {}).plan
    except SafetyError:
        assert edit not in HARMLESS
        return
    assert as_told(plan) == as_told(whole(desired, state, tmp_path))


def test_rows_of_another_project_are_refused(tmp_path: Path) -> None:
    """Two units of one project on one cluster would each remove what the other declares."""
    desired, state = eventful()
    declared, there = tmp_path / "desired.parquet", tmp_path / "state.parquet"
    write_desired(desired, declared)
    write_state(state, there)
    rows = RowFiles(files=(declared,), project="logistics")
    unit = replace(unit_of(declared, there), desired=rows)
    with pytest.raises(SafetyError, match="its folder says logistics, and its rows are of the pr"):
        plan_of_unit(unit, {})
    named = replace(unit, desired=replace(rows, project="payments"))
    assert as_told(plan_of_unit(named, {}).plan) == as_told(whole(desired, state, tmp_path))


def test_rows_for_another_cluster_are_refused(tmp_path: Path) -> None:
    """What only one of two clusters should have would be made on, or removed from, the other."""
    desired, state = eventful()
    declared, there = tmp_path / "desired.parquet", tmp_path / "state.parquet"
    write_state(state, there)
    write_desired(desired, declared, cluster="stage")
    with pytest.raises(SafetyError, match="it is what is declared for stage; compile it again"):
        plan_of_unit(unit_of(declared, there), {})
    write_desired(desired, declared, cluster="prod")
    assert plan_of_unit(unit_of(declared, there), {}).plan.changes


def test_topics_of_the_brokers_are_not_counted_as_left_alone(tmp_path: Path) -> None:
    beside = [a_topic_state("__consumer_offsets"), a_topic_state("stranger")]
    desired, state = a_desired(*FILLER), applied(*FILLER, beside=beside)
    declared, there = tmp_path / "desired.parquet", tmp_path / "state.parquet"
    write_desired(desired, declared)
    write_state(state, there)
    assert len(whole(desired, state, tmp_path).kept) == 1
    assert plan_of_unit(unit_of(declared, there), {}).kept == {"unmanaged": 1}
