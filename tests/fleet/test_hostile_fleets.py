"""Fleets meant to mislead: each is planned as the planner plans the whole, or refused.

A plan that misses a change, or that deletes what the planner would leave, is what must never come.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders import (
    UID,
    ClusterObject,
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
from fleet.both_ways import told_by_rows
from msgspec.structs import replace

from kgitops.cluster.snapshot import write_snapshot
from kgitops.desired.state import DesiredState, Safety
from kgitops.fleet.diff import narrow as reduced
from kgitops.fleet.planning import plan_of_unit
from kgitops.fleet.tables.desired_rows import write_desired
from kgitops.fleet.tables.hydrating import read_state
from kgitops.fleet.tables.state_rows import write_state
from kgitops.fleet.units.unit import RowFiles, StateFiles, StateFormat, Unit
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import SafetyError
from kgitops.model.json.declared import (
    ConfigsPolicy,
    DeletionPolicy,
    DesiredObject,
    DesiredTopic,
    Tombstone,
)
from kgitops.model.registry import Owner
from kgitops.model.resources.quotas import ClientQuotaState
from kgitops.plan.document.plan import Plan
from kgitops.plan.ownership import EXECUTED_TOMBSTONES

OTHER = "0c6a5ab0-1111-4a52-9d2b-0d7f3f1b9a22"
ROWS_AT_ONCE = (1_000_000, 3)
"""A cluster is compared as a whole, and a range of buckets after the other."""
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


def whole(desired: DesiredState, state: ClusterState, folder: Path) -> Plan:
    """What ``kgitops plan --snapshot`` makes of them."""
    declared, there = folder / "whole-desired.parquet", folder / "prod.json"
    write_desired(desired, declared)
    there.write_text(write_snapshot(state), encoding="utf-8")
    return plan_of_unit(unit_of(declared, there, form=StateFormat.JSON), {}).plan


def written(desired: DesiredState, state: ClusterState, folder: Path) -> tuple[Path, Path]:
    """Both as rows."""
    declared, there = folder / "desired.parquet", folder / "state.parquet"
    write_desired(desired, declared)
    write_state(state, there)
    return declared, there


def by_fleet(
    desired: DesiredState,
    state: ClusterState,
    folder: Path,
    rewrite: Callable[[Path], list[Path]] = lambda path: [path],
) -> Plan:
    declared, there = written(desired, state, folder)
    return plan_of_unit(unit_of(declared, *rewrite(there)), {}).plan


def with_owners(state: ClusterState, owners: Mapping[str, Owner], **more: object) -> ClusterState:
    """The state with these records too; ``projects`` are all that the registry knows."""
    assert state.registry is not None
    registry = replace(state.registry, owners={**state.registry.owners, **owners}, **more)  # type: ignore[arg-type]
    return replace(state, registry=registry)


Case = tuple[DesiredState, ClusterState]
_ORDERS = a_topic("orders", deletion_policy=DeletionPolicy.DELETE)
_PROTECTED = a_topic("orders", deletion_policy=DeletionPolicy.PROTECT)


def a_case(
    declared: Sequence[DesiredObject | Tombstone] = (),
    there: Sequence[DesiredObject] = (),
    *,
    beside: Sequence[ClusterObject] = (),
    changed: Sequence[ClusterObject] = (),
    gone: Sequence[ClusterObject] = (),
    owners: Mapping[str, Owner] | None = None,
    projects: Mapping[str, str] | None = None,
    **more: Any,  # noqa: ANN401 (of a_desired)
) -> Case:
    """What is declared, and what was applied, which others changed: each beside FILLER."""
    state = with_changes(applied(*FILLER, *there, beside=beside), *changed, gone=gone)
    known = {"projects": projects} if projects else {}
    return a_desired(*FILLER, *declared, **more), with_owners(state, owners or {}, **known)


def buried(declared: DesiredTopic, **more: bool) -> Mapping[str, Owner]:
    """A Tombstone was executed on it."""
    owner = an_owner(declared, **more)
    executed = {**owner.last_applied, EXECUTED_TOMBSTONES: ["drop"]}
    return {declared.address: replace(owner, last_applied=executed)}


def of_another(
    *declared: DesiredObject | Tombstone,
    identity: str = OTHER,
    name: str = "logistics",
    **more: Any,  # noqa: ANN401 (of a_desired)
) -> Case:
    """Another project applied ``orders``."""
    return a_case(
        declared,
        [_ORDERS],
        owners={_ORDERS.address: an_owner(_ORDERS, project=identity)},
        projects={UID: "payments", identity: name},
        **more,
    )


def deletions(count: int, most: int, percent: int) -> Case:
    """Topics that were applied and are no longer declared."""
    going = [a_topic(f"x{n}", deletion_policy=DeletionPolicy.DELETE) for n in range(count)]
    safety = Safety(replication_throttle=0, max_deletes=most, max_delete_percent=percent)
    return a_case((), going, safety=safety)


def _acl(*args: str, **more: str) -> DesiredObject:
    return an_acl(a_binding(*args, **more))


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
    return a_case([*rights, denied], rights, beside=beside)


_EXACT = a_topic("orders", configs_policy=ConfigsPolicy.EXACT)
_RETENTION = [a_topic_state("orders", configs={"retention.ms": "1"})]
_RECORDS = a_topic("orders", delete_records_before={0: 5})
_INSYNC = a_topic("orders", configs={"min.insync.replicas": "2"}, replication_factor=2)
_LABELLED = replace(_ORDERS, partitions=9, labels={"team": "x", "é": "\N{PILE OF POO}"})
_SETTLED_TWIN = a_topic("calm_1_x")
_ODD = (
    _acl("User:CN=a/b,O=ü %2F", "Read", "orders", host="10.0.0.1"),
    _acl("User:*", "Describe", "orders"),
    _acl("Group:admins", "All", "kafka-cluster", resource="cluster"),
    _acl("User:x", "Read", "ord", pattern="prefixed"),
    _acl("User:x", "Write", "*"),
)
_TWO_RIGHTS = (_acl("User:a", "Read", "orders"), _acl("User:a", "All", "orders"))
_ON_CLUSTER = tuple(
    _acl(user, "Alter", "kafka-cluster", resource="cluster") for user in ("User:a", "User:b")
)
_WRITERS = [a_binding("User:m", "Write", "__kgitops"), a_binding("User:n", "All", "*")]
_DEFAULTS = (
    a_quota((("user", None),), producer_byte_rate=5),
    a_quota(an_entity(client_id=None, user="a/b")),
    a_quota((("ip", "10.0.0.1"),), connection_creation_rate=3),
)
_MORE_KEYS = {"producer_byte_rate": 5.0, "consumer_byte_rate": 1.0}

_FORMERLY: Mapping[str, Any] = {
    "identity": "old-payments",
    "name": "old-payments",
    "formerly": ["old-payments"],
}

CASES: Mapping[str, Callable[[], Case]] = {
    "spent_tombstone": lambda: a_case([a_tombstone(_ORDERS)], owners=buried(_ORDERS, spent=True)),
    # It was executed once, the topic made again, and the Tombstone has no id.
    "tombstone_again_on_a_settled_topic": lambda: a_case(
        [a_tombstone(_ORDERS)], [_ORDERS], owners=buried(_ORDERS)
    ),
    "buried_and_declared": lambda: a_case([_ORDERS], [_ORDERS], owners=buried(_ORDERS)),
    "tombstone_with_wrong_id": lambda: a_case([a_tombstone(_ORDERS, topic_id="other")], [_ORDERS]),
    "tombstone_beside_a_settled_document": lambda: a_case(
        [_ORDERS, a_tombstone(_ORDERS)], [_ORDERS]
    ),
    "tombstone_of_a_foreign_topic": lambda: of_another(a_tombstone(_ORDERS)),
    "tombstone_of_what_nobody_manages": lambda: a_case(
        [a_tombstone(_ORDERS)], beside=[a_topic_state("orders")]
    ),
    "foreign": lambda: of_another(_ORDERS),
    "taken_from": lambda: of_another(_ORDERS, take_from=["logistics"]),
    "formerly": lambda: of_another(_ORDERS, **_FORMERLY),
    "formerly_and_removed": lambda: of_another(**_FORMERLY),
    "of_default": lambda: of_another(_ORDERS, identity="default", name="default"),
    "owner_in_another_case": lambda: of_another(_ORDERS, identity=UID.upper(), name="Payments"),
    "uid_known_by_another_name": lambda: a_case(projects={UID: "invoices"}),
    "name_known_by_another_uid": lambda: a_case(projects={UID: "payments", OTHER: "payments"}),
    "adopted_and_removed": lambda: a_case(
        (),
        [_ORDERS],
        owners={
            _ORDERS.address: an_owner(replace(_ORDERS, deletion_policy_written=False), adopted=True)
        },
    ),
    "adopted_and_settled": lambda: (
        a_desired(*FILLER, _ORDERS),
        applied(*FILLER, _ORDERS, adopted=True),
    ),
    "collides_with_a_settled_topic": lambda: a_case(
        [a_topic("calm.1.x"), _SETTLED_TWIN], [_SETTLED_TWIN]
    ),
    "collides_with_a_strangers_topic": lambda: a_case(
        [a_topic("a.b_c")], beside=[a_topic_state("a_b.c")]
    ),
    "exact_configs_beside_a_strangers_key": lambda: a_case([_EXACT], [_EXACT], changed=_RETENTION),
    "exact_configs_from_now_on": lambda: a_case([_EXACT], [a_topic("orders")], changed=_RETENTION),
    "deletion_policy_alone": lambda: a_case([_PROTECTED], [_ORDERS]),
    # The same policy, now spelt out: an absence later means another thing.
    "deletion_policy_only_written": lambda: a_case([_PROTECTED], [a_topic("orders")]),
    "labels_alone": lambda: a_case([replace(_ORDERS, labels={"team": "x"})], [_ORDERS]),
    # A plan tells them, and a compiled row must have carried them there.
    "labels_of_what_changes": lambda: a_case([_LABELLED], [_ORDERS]),
    "recreated_by_somebody": lambda: a_case(
        [_ORDERS], [_ORDERS], changed=[a_topic_state("orders", topic_id="another")]
    ),
    "gone_from_the_cluster": lambda: a_case([_ORDERS], [_ORDERS], gone=[a_topic_state("orders")]),
    "gone_and_no_longer_declared": lambda: a_case((), [_ORDERS], gone=[a_topic_state("orders")]),
    "being_deleted": lambda: a_case(
        [_ORDERS], [_ORDERS], changed=[a_topic_state("orders", marked_for_deletion=True)]
    ),
    "records_deleted": lambda: a_case([_RECORDS], [_RECORDS]),
    "too_many_deletions": lambda: deletions(4, most=3, percent=10),
    # Five of twenty-five: the settled ones count.
    "too_large_a_share": lambda: deletions(5, most=50, percent=19),
    "a_share_that_is_just_allowed": lambda: deletions(5, most=50, percent=20),
    "nothing_declared": lambda: (a_desired(), applied(*FILLER)),
    "a_part_of_the_project": lambda: (
        a_desired(_ORDERS, whole=False),
        applied(*FILLER, a_topic("orders")),
    ),
    "declared_for_other_clusters": lambda: a_case((), [_ORDERS], other_clusters=[_ORDERS.address]),
    "no_registry": lambda: (a_desired(*FILLER), a_cluster(*map(on_cluster, FILLER))),
    "an_empty_registry": lambda: (
        a_desired(*FILLER),
        a_cluster(*map(on_cluster, FILLER), owners={}),
    ),
    "odd_acls_are_settled": lambda: a_case(_ODD, _ODD),
    "odd_acls_are_taken_away": lambda: a_case((), _ODD),
    "odd_acls_of_nobody": lambda: a_case(_ODD[:1], beside=list(map(on_cluster, _ODD))),
    "deny_one": lambda: deny("orders-eu"),
    "deny_a_prefix": lambda: deny("or", pattern="prefixed"),
    "deny_everything": lambda: deny("*"),
    "allow_lost_but_another_stays": lambda: a_case(_TWO_RIGHTS[1:], _TWO_RIGHTS),
    "the_first_rule_on_a_settled_topic": lambda: a_case([_acl("User:a", "Read", "calm-7")]),
    "the_first_rule_on_a_strangers_topics": lambda: a_case(
        [_acl("User:a", "Read", "sha", pattern="prefixed")], beside=[a_topic_state("shared")]
    ),
    "the_first_rule_on_the_cluster": lambda: a_case(_ON_CLUSTER[:1]),
    "the_second_rule_on_the_cluster": lambda: a_case(_ON_CLUSTER, _ON_CLUSTER[1:]),
    "others_write_the_registry": lambda: a_case(beside=_WRITERS),
    "default_quotas_are_settled": lambda: a_case(_DEFAULTS, _DEFAULTS),
    "default_quotas_change_and_go": lambda: a_case(
        [a_quota((("user", None),), producer_byte_rate=4)], _DEFAULTS
    ),
    "a_quota_with_a_strangers_key": lambda: a_case(
        _DEFAULTS[:1],
        _DEFAULTS[:1],
        changed=[ClientQuotaState(entity=_DEFAULTS[0].entity, quotas=_MORE_KEYS)],
    ),
    # Each manages half of what both declare.
    "two_projects_with_the_same_names": lambda: a_case(
        owners={item.address: an_owner(item, project=OTHER) for item in FILLER[10:]},
        projects={UID: "payments", OTHER: "logistics"},
    ),
    "a_broker_default_has_changed": lambda: (
        a_desired(*FILLER, _INSYNC),
        applied(*FILLER, _INSYNC, broker_defaults={"min.insync.replicas": "3"}),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_fleet_is_planned_as_the_planner_plans_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desired, state = CASES[name]()
    expected = told_by_rows(whole(desired, state, tmp_path))
    for rows in ROWS_AT_ONCE:
        monkeypatch.setattr(reduced, "ROWS_AT_ONCE", rows)
        assert told_by_rows(by_fleet(desired, state, tmp_path)) == expected, rows


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


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.__name__)
def test_rows_may_be_rewritten(
    rewrite: Callable[[Path], list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desired, state = eventful()
    expected = told_by_rows(whole(desired, state, tmp_path))
    for rows in ROWS_AT_ONCE:
        monkeypatch.setattr(reduced, "ROWS_AT_ONCE", rows)
        plan = by_fleet(desired, state, tmp_path, rewrite)
        assert told_by_rows(plan) == expected, rows
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


def put(address: str, column: str, value: object) -> Callable[[Rows], None]:
    """Let the row at an address say this."""

    def edit(rows: Rows) -> None:
        row_of(rows, address)[column] = value

    return edit


def copy(column: str, of: str, to: str) -> Callable[[Rows], None]:
    """Let one row say what another says."""

    def edit(rows: Rows) -> None:
        row_of(rows, to)[column] = row_of(rows, of)[column]

    return edit


def everywhere(**columns: object) -> Callable[[Rows], None]:
    def edit(rows: Rows) -> None:
        for row in rows:
            row.update(columns)

    return edit


def in_place_of(lost: str, address: str) -> Callable[[Rows], None]:
    """One row twice, and another not at all: the number of rows is right."""

    def edit(rows: Rows) -> None:
        rows.remove(row_of(rows, lost))
        rows.append(dict(row_of(rows, address)))

    return edit


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
    columns = ("owner", "owner_topic_id", "adopted", "spent", "last_applied")
    row_of(rows, "topic/calm-3").update(dict.fromkeys(columns))


def one_row_twice_in_place_of_another(rows: Rows) -> None:
    """The number of rows is right, and that of settled ones too."""
    a_row_of_nobody_keeps_its_fingerprint(rows)
    in_place_of("topic/stranger", "topic/calm-4")(rows)


def a_lost_row(rows: Rows) -> None:
    rows.remove(row_of(rows, "topic/calm-3"))


def fingerprints_swapped(rows: Rows) -> None:
    one, other = row_of(rows, "topic/calm-3"), row_of(rows, "topic/calm-4")
    one["fingerprint"], other["fingerprint"] = other["fingerprint"], one["fingerprint"]


EDITS: Mapping[str, Callable[[Rows], None]] = {
    "no_bucket_of_a_removed_topic": put("topic/gone", "bucket", None),
    "no_bucket_of_a_changed_topic": put("topic/changed", "bucket", None),
    "a_bucket_beyond_the_last": put("topic/gone", "bucket", 300),
    "a_bucket_before_the_header": put("topic/gone", "bucket", -7),
    "the_bucket_of_another": the_bucket_of_another,
    "all_in_one_bucket": all_in_one_bucket,
    "a_row_of_nobody_keeps_its_fingerprint": a_row_of_nobody_keeps_its_fingerprint,
    "a_row_of_another_keeps_its_fingerprint": put("topic/calm-3", "owner", OTHER),
    "one_row_twice_in_place_of_another": one_row_twice_in_place_of_another,
    "another_one_in_place_of_a_lost_row": in_place_of("topic/calm-3", "topic/calm-4"),
    "a_lost_row": a_lost_row,
    "spent_with_a_fingerprint": put("topic/calm-3", "spent", True),
    "fingerprints_swapped": fingerprints_swapped,
    "the_fingerprint_of_another_on_a_changed_topic": copy(
        "fingerprint", of="topic/calm-3", to="topic/changed"
    ),
    "no_fingerprints": everywhere(fingerprint=None),
    "no_kind": put("topic/changed", "kind", None),
    "the_kind_in_capitals": put("topic/changed", "kind", "TOPIC"),
    "no_body": put("topic/changed", "found", None),
    "the_body_of_another": copy("found", of="topic/calm-3", to="topic/changed"),
    "the_address_of_another": put("topic/stranger", "address", "topic/new"),
    "no_address": put("topic/changed", "address", None),
    "no_name": put("topic/stranger", "name", None),
    "is_said_not_to_exist": put("topic/changed", "exists", False),
    "no_context": everywhere(context=None),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_state_is_refused_or_planned_as_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the edited rows themselves say is what is planned, or nothing is."""
    edit = EDITS[name]
    desired, state = eventful()
    there = tmp_path / "state.parquet"
    write_state(state, there)
    files = _edited(there, edit)
    for rows in ROWS_AT_ONCE:
        monkeypatch.setattr(reduced, "ROWS_AT_ONCE", rows)
        try:
            plan = by_fleet(desired, state, tmp_path, lambda path: _edited(path, edit))
        except SafetyError:
            continue
        told = whole(desired, read_state(files, "prod"), tmp_path)
        # Which state it was is what the header says.
        assert told_by_rows(plan) == told_by_rows(replace(told, base=plan.base)), rows


def declared_in_another_bucket(rows: Rows) -> None:
    for address in ("topic/adopted", "topic/taken", "topic/changed"):
        row = row_of(rows, address)
        row["bucket"] = 255 - int(str(row["bucket"]))


DECLARED_EDITS: Mapping[str, Callable[[Rows], None]] = {
    "declared_in_no_bucket": put("topic/changed", "bucket", None),
    "declared_in_the_headers_bucket": put("topic/changed", "bucket", -1),
    "declared_in_another_bucket": declared_in_another_bucket,
    "declared_with_another_kind": put("topic/new", "kind", "acl"),
    "declared_at_anothers_address": put("topic/new", "address", "topic/other"),
    "declared_without_an_address": put("topic/new", "address", None),
    "declared_as_another": copy("declared", of="topic/calm-1", to="topic/new"),
    "declared_without_a_body": put("topic/new", "declared", None),
    "declared_twice": in_place_of("topic/calm-2", "topic/calm-1"),
    "declared_without_fingerprints": everywhere(fingerprint=None),
    "declared_without_a_place": everywhere(file=None, line=None, column=None),
}
HARMLESS = ("declared_without_fingerprints",)


@pytest.mark.parametrize("name", DECLARED_EDITS)
def test_edited_declarations_are_refused_or_planned_alike(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desired, state = eventful()
    declared, there = written(desired, state, tmp_path)
    (declared,) = _edited(declared, DECLARED_EDITS[name])
    for rows in ROWS_AT_ONCE:
        monkeypatch.setattr(reduced, "ROWS_AT_ONCE", rows)
        try:
            plan = plan_of_unit(unit_of(declared, there), {}).plan
        except SafetyError:
            assert name not in HARMLESS
            continue
        assert told_by_rows(plan) == told_by_rows(whole(desired, state, tmp_path)), rows


def test_rows_of_another_project_are_refused(tmp_path: Path) -> None:
    """Two units of one project on one cluster would each remove what the other declares."""
    desired, state = eventful()
    declared, there = written(desired, state, tmp_path)
    rows = RowFiles(files=(declared,), project="logistics")
    unit = replace(unit_of(declared, there), desired=rows)
    with pytest.raises(SafetyError, match="its folder says logistics, and its rows are of the pr"):
        plan_of_unit(unit, {})
    named = replace(unit, desired=replace(rows, project="payments"))
    assert told_by_rows(plan_of_unit(named, {}).plan) == told_by_rows(
        whole(desired, state, tmp_path)
    )


def test_rows_for_another_cluster_are_refused(tmp_path: Path) -> None:
    """What only one of two clusters should have would be made on, or removed from, the other."""
    desired, state = eventful()
    declared, there = written(desired, state, tmp_path)
    write_desired(desired, declared, cluster="stage")
    with pytest.raises(SafetyError, match="it is what is declared for stage; compile it again"):
        plan_of_unit(unit_of(declared, there), {})
    write_desired(desired, declared, cluster="prod")
    assert plan_of_unit(unit_of(declared, there), {}).plan.changes


def test_topics_of_the_brokers_are_not_counted_as_left_alone(tmp_path: Path) -> None:
    beside = [a_topic_state("__consumer_offsets"), a_topic_state("stranger")]
    desired, state = a_desired(*FILLER), applied(*FILLER, beside=beside)
    declared, there = written(desired, state, tmp_path)
    assert len(whole(desired, state, tmp_path).kept) == 1
    assert plan_of_unit(unit_of(declared, there), {}).kept == {"unmanaged": 1}
