"""An exported registry comes back as it was, brings nothing back that must not be, and never half.

Faults are injected at every write of an import that takes several.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from apply.faults import FakeClock, FaultyCluster, nothing
from apply.plans import SETTINGS, Apply, open_cluster, sealed_now
from builders import UID, a_desired, a_topic, plan_of
from older_registry import make_version_1, versions

from kgitops.apply.context import ApplyContext
from kgitops.apply.journal import importing
from kgitops.apply.journal.damage import find_damage
from kgitops.apply.journal.importing import (
    ImportPlan,
    RegistryExport,
    export_text,
    import_registry,
    living_values,
    make_export,
    plan_import,
    read_export,
)
from kgitops.apply.journal.reading import latest_values, unfinished_runs
from kgitops.apply.lock import acquire
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.port import Cluster
from kgitops.model.errors import KgitopsError, LockedError, SafetyError, UntrustedPlanError
from kgitops.model.json.records import Record
from kgitops.model.registry import Json

FILE = "registry.json"


class Died(BaseException):
    """The process died."""


def apply_topics(cluster: Cluster, clock: FakeClock, *names: str) -> None:
    """Apply that these topics are declared, with a plan and a run of their own."""
    plan = plan_of(a_desired(*map(a_topic, names)), cluster.read_state())
    sealed = sealed_now(plan, clock, nonce=f"nonce-{'-'.join(names)}")
    assert not Apply(cluster=cluster, clock=clock).plan(sealed, f"run-{names[-1]}").verdict.stops


def exported(cluster: Cluster, *, cluster_id: str | None = None) -> RegistryExport:
    """Export the registry, by way of a file's text."""
    export = make_export(
        cluster.registry.read() or (),
        created="2026-11-26T00:00:00Z",
        cluster_id=cluster_id or cluster.cluster_id,
        backend="embedded",
        topic_id="registry",
    )
    return read_export(export_text(export), FILE)


def planned(cluster: Cluster, export: RegistryExport, *, may_replace: bool = True) -> ImportPlan:
    return plan_import(
        cluster.registry.scan(),
        export,
        cluster_id=cluster.cluster_id,
        file=FILE,
        may_replace=may_replace,
    )


def imported(
    cluster: Cluster, export: RegistryExport, clock: FakeClock, plan: ImportPlan | None = None
) -> None:
    """Import what is planned."""
    context = ApplyContext(
        cluster=cluster,
        settings=SETTINGS,
        clock=clock,
        on_event=lambda _: None,
        interrupted=lambda: None,
    )
    assert import_registry(
        context,
        export,
        plan or planned(cluster, export),
        file=FILE,
        may_replace=True,
        holder="User:restorer",
        name="import-1",
    )


def records_of(cluster: Cluster) -> dict[str, Json]:
    """Every living record but claims and the records of imports."""
    values = living_values(cluster.registry.scan() or ())
    return {key: value for key, value in values.items() if not key.startswith("import/")}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cluster(clock: FakeClock) -> EmbeddedCluster:
    """A cluster with a registry of two topics."""
    cluster = open_cluster(clock=clock)
    apply_topics(cluster, clock, "orders", "audit")
    return cluster


def test_a_registry_comes_back_as_it_was(cluster: EmbeddedCluster, clock: FakeClock) -> None:
    before = records_of(cluster)
    export = exported(cluster)
    assert planned(cluster, export).is_empty
    cluster.registry.append(
        [
            ("own/topic/orders", None),
            ("own/topic/audit", {**before["own/topic/audit"], "project": "x"}),
        ]
    )
    plan = planned(cluster, export)
    assert [change.key for change in plan.changes] == ["own/topic/audit", "own/topic/orders"]
    imported(cluster, export, clock)
    assert records_of(cluster) == before
    (mark,) = [e.value for e in cluster.registry.read() or () if e.key.startswith("import/")]
    assert mark is not None
    assert (mark["digest"], mark["holder"]) == (export.digest, "User:restorer")
    assert not [key for key in latest_values(cluster.registry.read() or ()) if key[:5] == "lock/"]


def test_a_registry_comes_back_where_there_is_none(
    cluster: EmbeddedCluster, clock: FakeClock
) -> None:
    export = exported(cluster)
    empty = open_cluster(clock=clock)
    empty.controller.cluster_id = cluster.cluster_id
    assert empty.registry.read() is None
    plan = planned(empty, export, may_replace=False)
    imported(empty, export, clock, plan)
    assert records_of(empty) == records_of(cluster)


def test_what_was_used_or_told_since_remains(cluster: EmbeddedCluster, clock: FakeClock) -> None:
    """A used plan stays used, a run's end is known, and nobody's suspension ends."""
    export = exported(cluster)
    apply_topics(cluster, clock, "orders", "audit", "late")
    told = {
        "suspend": _value(by="a", since="s", reason="r", until=None),
        "repair/1": _value(holder="a", at="s", records=[]),
    }
    cluster.registry.append([*told.items()])
    since = records_of(cluster)
    imported(cluster, export, clock)
    now = records_of(cluster)
    kept = {"nonce/nonce-orders-audit-late", "run/run-late", *told}
    assert kept <= now.keys()
    assert {key: now[key] for key in kept} == {key: since[key] for key in kept}
    assert "own/topic/late" not in now


def _value(**fields: Json) -> dict[str, Json]:
    return {"schema_version": 2, **fields}


def test_an_unfinished_run_of_the_file_is_closed(
    cluster: EmbeddedCluster, clock: FakeClock
) -> None:
    """Its plan was reviewed against a cluster that is no more, and a loop would go on with it."""

    def die(_: object) -> None:
        raise Died

    with pytest.raises(Died):
        apply_topics(FaultyCluster(cluster, after_send=die), clock, "orders", "audit", "late")
    cluster.registry.unfence()
    export = exported(cluster)
    assert any(key.startswith("run/run-late/") for key in export.values)
    clock.sleep(600)
    Apply(cluster=cluster, clock=clock).resume(UID)
    cluster.registry.append([("run/run-late", None)])  # as if the registry were an older copy
    plan = planned(cluster, export)
    assert plan.closed == {"run-late": UID}
    imported(cluster, export, clock)
    latest = latest_values(cluster.registry.read() or ())
    assert latest["run/run-late"]["status"] == "superseded"
    assert not [key for key in latest if key.startswith("run/run-late/")]
    assert unfinished_runs(latest, {UID}) == ()
    assert "nonce/nonce-orders-audit-late" in latest


def test_an_unfinished_run_on_the_cluster_stops_an_import(
    cluster: EmbeddedCluster, clock: FakeClock
) -> None:
    export = exported(cluster)

    def die(_: object) -> None:
        raise Died

    with pytest.raises(Died):
        apply_topics(FaultyCluster(cluster, after_send=die), clock, "orders", "audit", "late")
    with pytest.raises(SafetyError, match="the run run-late on this cluster is not finished"):
        planned(cluster, export)


def test_a_release_is_not_brought_back(cluster: EmbeddedCluster, clock: FakeClock) -> None:
    """Whoever withdrew it would have released the objects again."""
    export = exported(cluster)
    text = export_text(export)
    assert "release/" not in text
    cluster.registry.append([("release/other", _value(to="x", at="t", holder="h"))])
    released = exported(cluster)
    cluster.registry.append([("release/other", None)])
    plan = planned(cluster, released)
    assert plan.left_out == ("release/other",)
    assert plan.is_empty


def test_a_spent_tombstone_stays_spent(cluster: EmbeddedCluster, clock: FakeClock) -> None:
    """An older owner record would let the Tombstone delete what has the name now."""
    export = exported(cluster)
    spent = dict(records_of(cluster)["own/topic/orders"])
    spent["spent"] = True
    spent["last_applied"] = {**spent["last_applied"], "tombstones": ["drop"]}
    again = dict(records_of(cluster)["own/topic/audit"])
    again["last_applied"] = {**again["last_applied"], "tombstones": ["drop-audit"]}
    cluster.registry.append([("own/topic/orders", spent), ("own/topic/audit", again)])
    assert planned(cluster, export).is_empty
    other = {**again, "project": "other"}
    cluster.registry.append([("own/topic/audit", other)])
    imported(cluster, export, clock)
    now = records_of(cluster)
    assert now["own/topic/orders"] == spent
    assert now["own/topic/audit"] == again


def test_claims_are_neither_exported_nor_replaced(
    cluster: EmbeddedCluster, clock: FakeClock
) -> None:
    export = exported(cluster)
    context = Apply(cluster=cluster, clock=clock)._context
    lock = acquire(context, holder="User:at-work")
    assert lock is not None
    assert not [key for key in exported(cluster).values if key.startswith("lock/")]
    cluster.registry.append([("own/topic/orders", None)])
    before = records_of(cluster)
    with pytest.raises(LockedError, match="User:at-work"):
        imported(cluster, export, clock)
    assert records_of(cluster) == before
    lock.release()


def test_a_live_registry_is_replaced_only_on_request(cluster: EmbeddedCluster) -> None:
    with pytest.raises(SafetyError, match=r"a live registry.*import with --replace"):
        planned(cluster, exported(cluster), may_replace=False)


def test_another_clusters_export_is_refused_with_both_ids(cluster: EmbeddedCluster) -> None:
    with pytest.raises(UntrustedPlanError) as error:
        planned(cluster, exported(cluster, cluster_id="other-id"))
    assert "the cluster other-id" in str(error.value)
    assert cluster.cluster_id in str(error.value)


def test_a_registry_that_changed_since_it_was_shown_is_left_alone(
    cluster: EmbeddedCluster, clock: FakeClock
) -> None:
    export = exported(cluster)
    cluster.registry.append([("own/topic/orders", None)])
    plan = planned(cluster, export)
    cluster.registry.append([("own/topic/audit", None)])
    before = records_of(cluster)
    with pytest.raises(SafetyError, match="changed meanwhile, so nothing was imported"):
        imported(cluster, export, clock, plan)
    assert records_of(cluster) == before


def test_a_damaged_registry_is_repaired_first(cluster: EmbeddedCluster) -> None:
    export = exported(cluster)
    cluster.registry.append([("own/topic/orders", {})])
    with pytest.raises(SafetyError, match="a record that can't be used"):
        planned(cluster, export)
    with pytest.raises(SafetyError, match="a record that can't be used"):
        exported(cluster)


def test_an_export_of_version_1_makes_the_registry_one_that_older_versions_read(
    cluster: EmbeddedCluster, clock: FakeClock
) -> None:
    make_version_1(cluster.registry)
    export = exported(cluster)
    before = records_of(cluster)
    apply_topics(cluster, clock, "orders", "audit", "late")
    assert versions(cluster.registry.read())["meta"] == 2
    imported(cluster, export, clock)
    assert set(versions(cluster.registry.read()).values()) == {1}
    now = records_of(cluster)
    assert {key: now[key] for key in before} == before
    assert "nonce/nonce-orders-audit-late" in now


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("write", range(8))
def test_a_death_at_any_write_is_refused_until_the_import_is_done(
    cluster: EmbeddedCluster,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    write: int,
    version: int,
    *,
    after: bool,
) -> None:
    monkeypatch.setattr(importing, "_ATOMIC_RECORDS", 1)
    if version == 1:
        make_version_1(cluster.registry)
    export = exported(cluster)
    wanted = records_of(cluster)
    cluster.registry.append(
        [
            ("own/topic/orders", None),
            ("own/topic/audit", None),
            ("own/topic/more", wanted["own/topic/audit"]),
            (f"project/{UID}", None),
        ]
    )
    before = records_of(cluster)
    count = iter(range(100))

    def die(_: Sequence[Record]) -> None:
        if next(count) >= write:
            raise Died

    faulty = FaultyCluster(
        cluster, after_append=die if after else nothing, before_append=nothing if after else die
    )
    try:
        imported(faulty, export, clock)
    except Died:
        cluster.registry.unfence()
        clock.sleep(600)
        now = latest_values(cluster.registry.scan() or ())
        if "importing" in now["meta"]:
            _assert_refused(cluster, clock)
        else:
            assert records_of(cluster) in (before, wanted)
    if records_of_or_none(cluster) != wanted:
        imported(cluster, export, clock)
    assert records_of(cluster) == wanted
    assert set(versions(cluster.registry.read()).values()) == ({1} if version == 1 else {2})
    assert find_damage(cluster.registry.scan() or ()) == ()


def records_of_or_none(cluster: Cluster) -> dict[str, Json] | None:
    try:
        return records_of(cluster)
    except SafetyError:
        return None


def _assert_refused(cluster: EmbeddedCluster, clock: FakeClock) -> None:
    """Neither a plan, an apply, a resume nor a repair makes anything of half an import."""
    again = "run kgitops registry import FILE --replace again"
    attempts: list[Callable[[], object]] = [
        cluster.read_state,
        lambda: apply_topics(cluster, clock, "orders"),
        lambda: Apply(cluster=cluster, clock=clock, project=None).resume(UID),
        lambda: exported(cluster),
    ]
    for attempt in attempts:
        with pytest.raises(KgitopsError, match=again):
            attempt()
    (damage,) = find_damage(cluster.registry.scan() or ())
    assert damage.record is None
    assert again in str(damage)


def resealed(change: Callable[[dict[str, Json]], object]) -> Callable[[str], str]:
    """A change of the file whose digest is made anew, as anybody could."""

    def changed(text: str) -> str:
        from kgitops.apply.journal.importing import _digest

        document = json.loads(text)
        change(document)
        document["digest"] = _digest(document)
        return json.dumps(document)

    return changed


def add_record(key: str, value: Json) -> Callable[[dict[str, Json]], object]:
    def add(document: dict[str, Json]) -> None:
        document["records"].append({"key": key, "value": value})

    return add


DAMAGES = {
    "cut off": (lambda text: text[:-40], "is not JSON, or is cut off"),
    "changed": (lambda text: text.replace("orders", "ordars"), "was changed"),
    "another cluster's": (lambda text: text.replace('"backend"', '"backand"'), "was changed"),
    "another file": (lambda _: '{"kind": "kgitops.plan"}', "is not an export of a registry"),
    "no object": (lambda _: "[]", "is not an export of a registry"),
    "a newer format": (
        resealed(lambda it: it.update(format_version="2.0")),
        "is of format version '2.0'",
    ),
    "a newer registry": (
        resealed(add_record("own/topic/x", {"schema_version": 3})),
        "has a record that can't be used: 'own/topic/x' has schema version 3",
    ),
    "a claim": (resealed(add_record("lock/x", None)), "is not a whole export"),
    "a whole claim": (resealed(add_record("lock/x", {})), "a claim on the lock"),
    "a record twice": (
        resealed(lambda it: it["records"].append(it["records"][0])),
        "two records with one key",
    ),
    "no meta": (resealed(lambda it: it["records"].pop(0)), "has no meta record"),
    "half an owner": (
        resealed(add_record("own/topic/x", {"schema_version": 2})),
        "has a record that can't be used",
    ),
    "other counts": (resealed(lambda it: it["counts"].update(own=7)), "contradicts itself"),
    "other names": (resealed(lambda it: it["projects"].update(x="y")), "contradicts itself"),
    "a lower version": (
        resealed(lambda it: it["registry"].update(schema_version=1)),
        "contradicts itself",
    ),
    "an unknown key": (resealed(lambda it: it.update(more=1)), "is not a whole export"),
    "a missing key": (resealed(lambda it: it.pop("created")), "is not a whole export"),
    "no cluster": (resealed(lambda it: it.update(cluster_id="")), "does not say which cluster"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_file_that_is_no_whole_export_is_refused(cluster: EmbeddedCluster, case: str) -> None:
    damage, says = DAMAGES[case]
    text = export_text(exported(cluster))
    with pytest.raises(UntrustedPlanError) as error:
        read_export(damage(text), FILE)
    assert says in str(error.value)
    assert str(error.value).startswith(f"{FILE} ")
    assert "; " in str(error.value)


def test_the_layout_of_the_file_does_not_matter(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    export = exported(cluster)
    text = json.dumps(json.loads(export_text(export)), sort_keys=True)
    assert read_export(text, FILE) == export


def test_the_later_time_until_which_nonces_were_dropped_remains(
    cluster: EmbeddedCluster, clock: FakeClock
) -> None:
    early, late = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    for now, then in ((early, late), (late, early)):
        cluster.registry.append([("nonce", _value(expires=then))])
        export = exported(cluster)
        cluster.registry.append([("nonce", _value(expires=now))])
        imported(cluster, export, clock)
        assert records_of(cluster)["nonce"] == _value(expires=late)
