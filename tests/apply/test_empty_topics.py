"""The deletion of a topic without records is no data loss, and never becomes one."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import DELETE, Apply, open_cluster, sealed_now
from builders import a_desired, a_topic, plan_of
from msgspec.structs import replace
from plan.worked_scenario import a_local_topic, a_virtual_cluster

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import TopicUsage, Usage
from kgitops.model.errors import StaleError
from kgitops.model.resources.kinds import Kind
from kgitops.model.verdict import ExitCode
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change, Plan, Precondition
from kgitops.plan.document.risks import RiskLevel
from kgitops.plan.shown import add_usage, shown_problem
from kgitops.plan.usage import WITHOUT_RECORDS
from kgitops.workflow.stages import Planning, with_impact

GONE, KEPT = a_topic("gone", partitions=2, deletion_policy=DELETE), a_topic("kept")
EMPTY = TopicUsage(log_start_offsets=(0, 0), high_watermarks=(0, 0), size_bytes=(0, 0))


@pytest.fixture(params=["memory", "file", "lowered"])
def clusters(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[EmbeddedCluster, Cluster]]:
    """The cluster with two topics that were applied, and the same one as kgitops reaches it."""
    path = tmp_path / "store.db" if request.param == "file" else None
    with closing(open_cluster(path)) as embedded:
        cluster = LoweredCluster(embedded) if request.param == "lowered" else embedded
        Apply(cluster=cluster).desired(a_desired(GONE, KEPT))
        yield embedded, cluster


def deletion(cluster: Cluster) -> Plan:
    return measured(cluster, a_desired(KEPT))


def measured(cluster: Cluster, desired: DesiredState) -> Plan:
    """The plan, with the usage of the topics that it deletes."""
    current = cluster.read_state()
    at = Planning(cluster=cluster, desired=desired, current=current)
    return with_impact(plan_of(desired, current), at)


def with_usage(usage: TopicUsage) -> Plan:
    """The plan that deletes the topic where it is used like this."""
    with closing(open_cluster()) as cluster:
        Apply(cluster=cluster).desired(a_desired(GONE, KEPT))
        plan = plan_of(a_desired(KEPT), cluster.read_state())
    return add_usage(plan, Usage(topics={"gone": usage}))


def the_change(plan: Plan) -> Change:
    (change,) = plan.changes
    return change


def apply_it(cluster: Cluster, plan: Plan) -> ExitCode:
    sealed = sealed_now(plan, FakeClock(), "another nonce")
    return Apply(cluster=cluster).plan(sealed, "run-2").verdict.exit


def test_it_is_deleted_where_it_still_has_none(
    clusters: tuple[EmbeddedCluster, Cluster],
) -> None:
    _, cluster = clusters
    plan = deletion(cluster)
    change = the_change(plan)
    assert (change.level, change.risks) == (RiskLevel.DISRUPTIVE, (risks.EMPTY_TOPIC_DELETE,))
    for expected in (*change.preconditions, *(planned.expects for planned in change.requests)):
        assert WITHOUT_RECORDS.items() <= expected.fields.items()
    assert shown_problem(plan) is None
    assert apply_it(cluster, plan) is ExitCode.SUCCESS
    assert set(cluster.read_state().topics) == {"kept"}


def test_a_record_that_came_since_the_plan_stops_the_apply(
    clusters: tuple[EmbeddedCluster, Cluster],
) -> None:
    embedded, cluster = clusters
    plan = deletion(cluster)
    embedded.produce("gone", 1, records=1, bytes_each=10)
    faulty = FaultyCluster(cluster)
    with pytest.raises(StaleError, match="topic/gone: records was '0' and is '1'"):
        apply_it(faulty, plan)
    assert faulty.sent == []
    assert the_change(deletion(cluster)).level is RiskLevel.DATA_LOSS


@pytest.mark.parametrize("look", range(2, 8))
def test_a_record_that_comes_during_the_apply_is_never_lost(
    look: int, clusters: tuple[EmbeddedCluster, Cluster]
) -> None:
    """Before any reading of the cluster, the last one right before the request included."""
    embedded, cluster = clusters
    plan, looks = deletion(cluster), 0

    def before_read() -> None:
        nonlocal looks
        looks += 1
        if looks == look and not faulty.sent:
            embedded.produce("gone", 0, records=1, bytes_each=10)

    faulty = FaultyCluster(cluster, before_read=before_read)
    try:
        code = apply_it(faulty, plan)
    except StaleError:
        code = ExitCode.STALE
    held = embedded.read_usage(frozenset({"gone"})).topics
    if held and sum(end or 0 for end in held["gone"].high_watermarks):
        assert code in (ExitCode.STALE, ExitCode.PARTIAL)
        assert faulty.sent == []
    else:
        assert code is ExitCode.SUCCESS


def test_a_record_that_comes_while_the_journal_is_written_is_not_lost(
    clusters: tuple[EmbeddedCluster, Cluster],
) -> None:
    embedded, cluster = clusters
    plan = deletion(cluster)

    def after_append(records: object) -> None:
        if "run/run-2/1" in dict(records):  # type: ignore[call-overload]
            embedded.produce("gone", 0, records=3, bytes_each=10)

    faulty = FaultyCluster(cluster, after_append=after_append)
    apply = Apply(cluster=faulty)
    result = apply.plan(sealed_now(plan, FakeClock(), "another nonce"), "run-2")
    assert result.verdict.exit is ExitCode.PARTIAL
    said = " ".join(reason.sentence for reason in result.verdict.reasons)
    assert "topic/gone: records was '0' and is '3'" in said
    assert faulty.sent == []
    assert "gone" in cluster.read_state().topics


def test_a_topic_of_a_virtual_cluster_is_looked_at_by_its_own_name(
    clusters: tuple[EmbeddedCluster, Cluster],
) -> None:
    embedded, cluster = clusters
    sales = a_virtual_cluster("sales")
    inner = a_local_topic("inner", at="sales", deletion_policy=DELETE)
    both = a_desired(GONE, KEPT, sales, inner)
    Apply(cluster=cluster).plan(sealed_now(plan_of(both, cluster.read_state()), FakeClock(), "n2"))
    without = a_desired(GONE, KEPT, sales)
    plan = measured(cluster, without)
    (deleted,) = (change for change in plan.changes if change.kind is Kind.TOPIC)
    assert deleted.risks == (risks.EMPTY_TOPIC_DELETE,)
    (name,) = set(cluster.read_state().topics) - {"gone", "kept"}
    embedded.produce(name, 0, records=1, bytes_each=10)
    with pytest.raises(StaleError, match="records was '0' and is '1'"):
        apply_it(cluster, plan)
    assert apply_it(cluster, measured(cluster, without)) is ExitCode.SUCCESS
    assert set(cluster.read_state().topics) == {"gone", "kept"}


UNCERTAIN = {
    "records": TopicUsage(log_start_offsets=(0, 0), high_watermarks=(0, 1), size_bytes=(0, 0)),
    "a compacted log": TopicUsage(
        log_start_offsets=(0, 0), high_watermarks=(9, 0), size_bytes=(0, 0)
    ),
    "bytes past the high watermark": TopicUsage(
        log_start_offsets=(0, 0), high_watermarks=(0, 0), size_bytes=(70, 0)
    ),
    "no right to see sizes": TopicUsage(
        log_start_offsets=(0, 0), high_watermarks=(0, 0), size_bytes=(None, None)
    ),
    "no right to see offsets": TopicUsage(
        log_start_offsets=(None, None), high_watermarks=(None, None), size_bytes=(0, 0)
    ),
    "a partition without a leader": TopicUsage(
        log_start_offsets=(0, None), high_watermarks=(0, None), size_bytes=(0, None)
    ),
    "fewer partitions": TopicUsage(log_start_offsets=(0,), high_watermarks=(0,), size_bytes=(0,)),
    "a start past the end": TopicUsage(
        log_start_offsets=(1, 0), high_watermarks=(0, 1), size_bytes=(0, 0)
    ),
    "no partitions": TopicUsage(),
}


@pytest.mark.parametrize("case", UNCERTAIN)
def test_what_is_not_certainly_empty_stays_a_data_loss(case: str) -> None:
    change = the_change(with_usage(UNCERTAIN[case]))
    assert change.risks == (risks.TOPIC_DELETE,)
    assert not WITHOUT_RECORDS.keys() & change.preconditions[0].fields.keys()


def test_a_topic_in_remote_storage_stays_a_data_loss() -> None:
    configs = {"remote.storage.enable": "true"}
    change = the_change(with_usage(EMPTY))
    assert change.risks == (risks.EMPTY_TOPIC_DELETE,)
    before = {**(change.before or {}), "configs": configs}
    plan = plan_of(a_desired(GONE, KEPT), open_cluster().read_state())
    tiered = add_usage(replace(plan, changes=(replace(change, before=before),)), _used())
    assert the_change(tiered).risks == (risks.TOPIC_DELETE,)


def _used() -> Usage:
    return Usage(topics={"gone": EMPTY})


def _without(item: Precondition) -> Precondition:
    return replace(item, fields={"records": "0"})


def test_a_plan_that_would_not_look_again_is_refused() -> None:
    plan = with_usage(EMPTY)
    change = the_change(plan)
    (planned,) = change.requests
    blind = (
        replace(change, preconditions=tuple(map(_without, change.preconditions))),
        replace(change, requests=(replace(planned, expects=_without(planned.expects)),)),
        replace(change, basis=None),
        replace(the_change(with_usage(UNCERTAIN["records"])), risks=change.risks),
    )
    assert shown_problem(plan) is None
    for forged in blind:
        problem = shown_problem(replace(plan, changes=(forged,)))
        assert problem == "the risks of topic/gone are not those that follow from its requests"


def test_a_plan_that_lies_about_the_records_deletes_nothing(
    clusters: tuple[EmbeddedCluster, Cluster],
) -> None:
    embedded, cluster = clusters
    embedded.produce("gone", 0, records=5, bytes_each=10)
    plan = plan_of(a_desired(KEPT), cluster.read_state())
    forged = add_usage(plan, _used())
    assert the_change(forged).level is RiskLevel.DISRUPTIVE
    assert shown_problem(forged) is None
    faulty = FaultyCluster(cluster)
    with pytest.raises(StaleError, match="records was '0' and is '5'"):
        apply_it(faulty, forged)
    assert faulty.sent == []


def test_where_the_records_can_not_be_read_any_more_nothing_is_deleted(
    clusters: tuple[EmbeddedCluster, Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, cluster = clusters
    plan, faulty = deletion(cluster), FaultyCluster(cluster)
    monkeypatch.setattr(faulty, "read_usage", lambda *_, **__: Usage())
    with pytest.raises(StaleError, match="topic/gone: records was '0' and is unknown"):
        apply_it(faulty, plan)
    assert faulty.sent == []
