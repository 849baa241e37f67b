"""Drift tells what others did since the last apply, to which field of which object, and who."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from builders import (
    a_binding,
    a_quota,
    a_quota_state,
    a_topic,
    a_topic_state,
    an_acl,
    an_entity,
    applied,
    with_changes,
)
from msgspec.structs import replace
from workflow.export.test_export import a_workspace

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.port import Cluster, author_of
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Plan
from kgitops.report.text.drift import render_drift
from kgitops.workflow.drift import plan_drift


class Seen:
    """A fake: a cluster that only shows a state, and keeps no record of who made it."""

    def __init__(self, state: ClusterState, like: Cluster) -> None:
        self.state = state
        self.capabilities = like.capabilities
        self.registry = like.registry

    def read_state(
        self, topics: frozenset[str] | None = None, links: frozenset[LocalName] = frozenset()
    ) -> ClusterState:
        return self.state

    def execute(self, *args: object, **kwargs: object) -> list[object]:
        raise AssertionError("drift changes nothing")

    def close(self) -> None:
        pass


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with closing(connect("embedded:", brokers=3, base=tmp_path)) as made:
        assert isinstance(made, EmbeddedCluster)
        yield made


@pytest.fixture
def drift_of(cluster: EmbeddedCluster, tmp_path: Path):
    def find(state: ClusterState) -> SealedPlan:
        seen = Seen(state, cluster)
        return plan_drift(seen, a_workspace(tmp_path))  # type: ignore[arg-type]

    return find


def rows(plan: Plan) -> dict[tuple[str, str], tuple[str | None, str | None, str]]:
    return {(row.address, row.path): (row.last_applied, row.found, row.rule) for row in plan.drift}


TOPIC = a_topic(configs={"retention.ms": "1000"})
PINNED = a_topic("audit", assignment=((1, 2), (2, 1)), delete_records_before={0: 5})
ACL = an_acl()
QUOTA = a_quota(consumer_byte_rate=1024)
ALL = applied(TOPIC, PINNED, ACL, QUOTA)


def test_without_drift_it_says_of_how_much(drift_of) -> None:
    found = drift_of(ALL)
    assert found.plan.drift == ()
    assert found.plan.verdict.exit is ExitCode.SUCCESS
    assert "No drift. All 4 objects that this project manages are as they were last applied." in (
        render_drift(found)
    )


def test_every_kind_of_change_is_a_row(drift_of) -> None:
    state = with_changes(
        ALL,
        a_topic_state(configs={"retention.ms": "2000", "segment.ms": "7"}),
        a_topic_state("audit", assignment=((1, 3), (2, 1))),
        a_quota_state(QUOTA.entity, producer_byte_rate=9),
        a_topic_state("wild"),
        gone=[ACL.binding],
    )
    plan = drift_of(state).plan
    assert not plan.verdict.stops
    assert rows(plan) == {
        (TOPIC.address, "configs.retention.ms"): ("1000", "2000", "restored"),
        (TOPIC.address, "configs.segment.ms"): (None, "7", "undeclared"),
        (PINNED.address, "assignments"): ("[[1,2],[2,1]]", "[[1,3],[2,1]]", "restored"),
        (QUOTA.address, "quotas.consumer_byte_rate"): ("1024", None, "restored"),
        (QUOTA.address, "quotas.producer_byte_rate"): (None, "9", "undeclared"),
        (ACL.address, ""): ("present", None, "missing"),
    }
    assert [kept.address for kept in plan.kept] == ["topic/wild"]
    assert plan.verdict.exit is ExitCode.CHANGES


@pytest.mark.parametrize("topic", [TOPIC, PINNED])
def test_partitions_that_others_added_are_told_and_no_error(topic, drift_of) -> None:
    """Nobody can take them back, so no plan could, and yet nothing is wrong with this command."""
    state = ALL.topics[topic.name]
    grown = replace(state, assignment=(*state.assignment, state.assignment[0]))
    plan = drift_of(with_changes(ALL, grown)).plan
    before, after = str(state.num_partitions), str(grown.num_partitions)
    assert rows(plan) == {(topic.address, "partitions"): (before, after, "stays")}
    assert (plan.verdict.exit, plan.requests) == (ExitCode.CHANGES, ())


@pytest.mark.parametrize("topic", [TOPIC, PINNED])
def test_a_topic_that_is_gone_is_one_row(topic, drift_of) -> None:
    plan = drift_of(with_changes(ALL, gone=[ALL.topics[topic.name]])).plan
    assert rows(plan) == {(topic.address, ""): ("present", None, "missing")}
    assert plan.verdict.exit is ExitCode.CHANGES


@pytest.mark.parametrize("topic", [TOPIC, PINNED])
def test_a_topic_made_anew_is_told_with_what_it_lacks(topic, drift_of) -> None:
    """Deleted and created again, it is a stranger to a plan: its fields were never applied."""
    anew = a_topic_state(topic.name, topic_id="new", assignment=((3, 1),))
    plan = drift_of(with_changes(ALL, anew)).plan
    found = rows(plan)
    assert found[topic.address, "topic_id"] == (f"id-of-{topic.name}", "new", "recreated")
    assert found[topic.address, "partitions"][:2] == (str(topic.partitions), "1")
    assert ((topic.address, "configs.retention.ms") in found) == (topic is TOPIC)
    assert ((topic.address, "assignments") in found) == (topic is PINNED)
    assert not plan.verdict.stops


def test_an_assignment_to_a_broker_that_is_gone_is_no_error(drift_of) -> None:
    plan = drift_of(replace(ALL, brokers=ALL.brokers[1:])).plan
    assert not plan.verdict.stops
    assert "audit" in plan.warnings[0].problem


def test_text_names_objects_and_fields_and_that_nobody_knows_by_whom(drift_of) -> None:
    state = with_changes(
        ALL,
        a_topic_state(configs={"retention.ms": "2000", "segment.ms": "7"}, topic_id="id-of-orders"),
        a_topic_state("audit", topic_id="new"),
        gone=[ACL.binding],
    )
    text = render_drift(drift_of(state))
    shown = [" ".join(line.split()) for line in text.splitlines()]
    for line in (
        "- acl User:billing Allow Read topic orders (literal) deleted",
        "- topic audit deleted and re-created: topic id id-of-audit -> new",
        "~ topic orders",
        "~ retention.ms 1000 (1 s) -> 2000 (2 s)",
        "+ segment.ms (not set) -> 7 (not declared)",
        "By whom is unknown: this cluster keeps no record of it.",
    ):
        assert line in shown


# By whom, as the embedded cluster's log tells.


def test_the_log_knows_who_last_wrote_each_field(cluster: EmbeddedCluster) -> None:
    def by(principal: str, request: req.Request) -> None:
        (result,) = cluster.execute([request], validate_only=False, principal=principal)
        assert result.ok, result

    def make(principal: str) -> RequestedTopicState:
        state = RequestedTopicState(
            name="orders", topic_id=None, assignment=((1, 2),), configs={"retention.ms": "1000"}
        )
        by(principal, req.CreateTopicRequest(topic="orders", requested_state=state))
        found = cluster.read_state().topics["orders"]
        return replace(state, topic_id=found.topic_id)

    def alter(principal: str, step: req.AlterStep, state: RequestedTopicState) -> None:
        request = req.AlterTopicRequest(
            topic="orders", topic_id=state.topic_id or "", step=step, requested_state=state
        )
        by(principal, request)

    def who(path: str, address: str = "topic/orders") -> str | None:
        author = author_of(cluster.read_authors(), address, path)
        return author and author.principal

    old = make("User:first")
    alter(
        "User:ann",
        req.AlterStep.CONFIGS,
        replace(old, configs={"retention.ms": "5"}, requested_configs={"retention.ms": "5"}),
    )
    assert (who("configs.retention.ms"), who("")) == ("User:ann", "User:first")
    by("User:bob", req.DeleteTopicRequest(topic="orders", topic_id=old.topic_id or ""))
    assert (who(""), who("configs.retention.ms")) == ("User:bob", "User:ann")
    new = make("User:cat")
    assert (who(""), who("configs.retention.ms")) == ("User:cat", "User:cat")
    alter("User:dan", req.AlterStep.PARTITIONS, replace(new, assignment=((1, 2), (2, 3))))
    moved = replace(new, assignment=((3, 1), (2, 3)))
    alter("User:eve", req.AlterStep.REPLICAS, moved)
    assert (who("partitions"), who("assignments")) == ("User:dan", "User:eve")
    by("User:fay", req.CreateAclRequest(binding=a_binding()))
    assert who("", ACL.address) == "User:fay"
    entity = an_entity(user="billing")
    for principal, rate in (("User:gil", 1.0), ("User:hal", None)):
        by(
            principal,
            req.AlterClientQuotaRequest(entity=entity, quotas={"producer_byte_rate": rate}),
        )
    assert who("quotas.producer_byte_rate", QUOTA.address) == "User:hal"
    assert who("", "topic/none") is None
