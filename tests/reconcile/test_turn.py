"""One turn on an embedded cluster: what it applies by itself, what it leaves, and what it says."""

from contextlib import closing
from pathlib import Path

import pytest
from cli.projects import acl, document, quota, tombstone, topic
from reconcile.turning import Turns
from used import users_of

from kgitops.cli.main import main
from kgitops.model.verdict import ExitCode
from kgitops.plan.reading import read_plan
from kgitops.reconcile.status import TurnOutcome

SHORT = {"retention.ms": 60_000, "compression.type": "zstd"}
LONG = {"retention.ms": 120_000, "compression.type": "zstd"}


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    return Turns(tmp_path / "payments", plans=tmp_path / "plans")


def test_observe_applies_nothing_and_leaves_all_as_a_plan(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "payments", plans=tmp_path / "plans", mode="observe")
    result = turns.declare(topic(configs=SHORT), acl()).take()
    assert (result.outcome, result.exit) == (TurnOutcome.PENDING, ExitCode.CHANGES)
    assert result.pending is not None
    assert result.pending.actions == {"create": 2}
    assert turns.topics() == set()
    assert turns.records() == 0, "it needs read rights only"


def test_converge_creates_and_then_has_nothing_to_do(turns: Turns) -> None:
    result = turns.declare(topic(configs=SHORT), topic("more"), acl()).take()
    assert (result.outcome, result.exit) == (TurnOutcome.APPLIED, ExitCode.SUCCESS)
    assert result.applied_actions == {"create": 3}
    before = turns.records()
    again = turns.take()
    assert (again.outcome, again.exit, again.pending) == (TurnOutcome.IN_SYNC, 0, None)
    assert turns.records() == before, "an idle turn writes nothing"


def test_converge_undoes_what_others_changed(turns: Turns) -> None:
    turns.declare(topic(configs=LONG), acl()).take()
    turns.set_behind("orders", compression_type="gzip")
    result = turns.take()
    assert result.drift == {"Topic": 1}
    assert result.healed == ("topic/orders",)
    assert result.drifting == {}
    assert turns.configs("orders")["compression.type"] == "zstd"


def test_undoing_it_is_a_change_of_a_level_as_any_other(turns: Turns) -> None:
    """Records that somebody wanted to keep longer are lost by it."""
    turns.declare(topic(configs=SHORT)).take()
    turns.set_behind("orders", retention_ms="120000")
    result = turns.take()
    assert (result.healed, result.drifting) == ((), {"Topic": 1})
    assert result.pending is not None
    assert result.pending.levels == {"data-loss": 1}
    assert turns.configs("orders")["retention.ms"] == "120000"


def test_a_new_quota_slows_clients_down_so_it_waits(turns: Turns) -> None:
    result = turns.declare(topic(), quota()).take()
    assert result.applied_actions == {"create": 1}
    assert result.pending is not None
    assert result.pending.levels == {"disruptive": 1}


def test_what_is_above_the_limit_waits_with_all_that_is_left(turns: Turns) -> None:
    turns.declare(topic(configs=LONG), topic("gone", deletionPolicy="Delete"), acl()).take()
    result = turns.declare(topic(configs=SHORT), topic("new"), acl()).take()
    assert result.outcome is TurnOutcome.PENDING
    assert result.applied_actions == {"create": 1}, "of the topic new"
    assert result.pending is not None
    assert result.pending.actions == {"update": 1, "delete": 1}
    assert result.pending.levels == {"data-loss": 1, "disruptive": 1}
    assert turns.topics() == {"orders", "gone", "new"}
    assert turns.configs("orders")["retention.ms"] == "120000"


def test_the_plan_that_waits_stays_the_same_as_long_as_its_changes_do(turns: Turns) -> None:
    turns.declare(topic("gone", deletionPolicy="Delete"), topic()).take()
    first = turns.declare(topic()).take().pending
    turns.clock.pass_by(600)
    second = turns.declare(topic(), topic("more")).take().pending
    assert first == second
    turns.clock.pass_by(13 * 3600)
    third = turns.take().pending
    assert first is not None
    assert third is not None
    assert third.path is not None
    assert third.since == first.since
    text = Path(third.path).read_text()
    assert read_plan(text, "it").plan_digest == third.digest
    names = {path.name for path in Path(third.path).parent.iterdir()}
    assert names == {".cluster", Path(third.path).name}


def test_what_was_applied_by_somebody_no_longer_waits(turns: Turns, monkeypatch, capsys) -> None:
    turns.declare(topic("gone", deletionPolicy="Delete"), topic()).take()
    pending = turns.declare(topic()).take().pending
    assert pending is not None
    assert pending.path is not None
    monkeypatch.chdir(turns.project.folder)
    assert main(["apply", pending.path, "--expect-digest", pending.digest]) == 0
    after = turns.take()
    assert (after.outcome, after.pending) == (TurnOutcome.IN_SYNC, None)
    assert [path.name for path in Path(pending.path).parent.iterdir()] == [".cluster"]
    assert turns.topics() == {"orders"}


def test_auto_deletes_too(turns: Turns) -> None:
    turns.reconcile["mode"] = "auto"
    turns.declare(topic("gone", deletionPolicy="Delete"), topic(configs=LONG)).take()
    result = turns.declare(topic(configs=SHORT)).take()
    assert result.applied_actions == {"update": 1, "delete": 1}
    assert turns.topics() == {"orders"}


def test_auto_applies_what_is_not_refused_but_then_no_deletion(turns: Turns) -> None:
    turns.reconcile["mode"] = "auto"
    turns.declare(topic("kept"), topic("gone", deletionPolicy="Delete"), topic()).take()
    result = turns.declare(topic(), topic("new")).take()
    assert turns.topics() == {"kept", "gone", "orders", "new"}
    assert result.exit is ExitCode.PARTIAL, "requests were sent, and the plan is not complete"
    assert {reason.exit for reason in result.reasons} == {ExitCode.PARTIAL, ExitCode.REFUSED}
    assert turns.take().exit is ExitCode.REFUSED


@pytest.mark.parametrize(("level", "applies"), [("disruptive", False), ("data-loss", True)])
def test_the_highest_level_is_the_projects_to_set(turns: Turns, level: str, applies: bool) -> None:
    turns.reconcile["maxRisk"] = level
    turns.declare(topic(configs=LONG)).take()
    turns.declare(topic(configs=SHORT)).take()
    assert turns.configs("orders")["retention.ms"] == ("60000" if applies else "120000")


def test_a_label_leaves_an_object_alone(turns: Turns) -> None:
    document = topic(configs=LONG)
    turns.declare(document, topic("other", configs=LONG)).take()
    document["metadata"]["labels"] = {"reconcile": "disabled"}
    turns.declare(document, topic("other", configs=LONG)).take()
    turns.set_behind("orders", compression_type="gzip")
    turns.set_behind("other", compression_type="gzip")
    result = turns.take()
    assert result.disabled == 1
    assert turns.configs("orders")["compression.type"] == "gzip"
    assert turns.configs("other")["compression.type"] == "zstd"
    assert result.pending is None


def test_healing_can_be_turned_off(turns: Turns) -> None:
    turns.reconcile["heal"] = {"enabled": False}
    turns.declare(topic(configs=LONG)).take()
    turns.set_behind("orders", compression_type="gzip")
    result = turns.declare(topic(configs=LONG), topic("new")).take()
    assert turns.configs("orders")["compression.type"] == "gzip"
    assert result.drifting == {"Topic": 1}
    assert result.applied_actions == {"create": 1}


def test_a_fight_is_noticed_and_left_until_the_other_stops(turns: Turns) -> None:
    turns.reconcile["heal"] = {"times": 2, "withinMinutes": 60}
    turns.declare(topic(configs=LONG)).take()
    for _ in range(2):
        turns.set_behind("orders", compression_type="gzip")
        assert turns.take().healed == ("topic/orders",)
        turns.clock.pass_by(300)
    turns.set_behind("orders", compression_type="gzip")
    result = turns.take()
    assert (result.fights, result.healed) == (("topic/orders",), ())
    assert turns.configs("orders")["compression.type"] == "gzip"
    turns.clock.pass_by(7200)
    assert turns.take().fights == ("topic/orders",), "it is not healed because time passes"
    turns.set_behind("orders", compression_type="zstd")
    assert turns.take().fights == ()
    turns.set_behind("orders", compression_type="gzip")
    assert turns.take().healed == ("topic/orders",)


def test_findings_apply_nothing_at_all(turns: Turns) -> None:
    turns.declare(topic(configs=LONG)).take()
    turns.set_behind("orders", compression_type="gzip")
    result = turns.declare(topic(configs=LONG), topic("bad name")).take()
    assert (result.outcome, result.exit) == (TurnOutcome.REFUSED, ExitCode.ERROR)
    assert turns.configs("orders")["compression.type"] == "gzip"


def test_one_denied_topic_does_not_stop_the_others(turns: Turns) -> None:
    policies = [{"class": "kgitops.policies:PartitionRange", "configs": {"max": 3}}]
    result = turns.declare(topic(), topic("big", partitions=4), policies=policies).take()
    assert turns.topics() == {"orders"}
    assert {reason.exit for reason in result.reasons} == {ExitCode.PARTIAL, ExitCode.DENIED}
    again = turns.take()
    assert (again.outcome, again.exit) == (TurnOutcome.REFUSED, ExitCode.DENIED)
    assert again.violations == {"hard": 1}


def test_a_tombstone_waits_in_converge(turns: Turns) -> None:
    turns.declare(topic(), topic("old")).take()
    result = turns.declare(topic(), tombstone("topic/old")).take()
    assert turns.topics() == {"orders", "old"}
    assert result.pending is not None
    assert result.pending.actions == {"delete": 1}


def test_a_mechanism_of_a_user_is_not_taken_away_in_converge(turns: Turns) -> None:
    """Whatever level is permitted: taking a login away is a deletion."""
    turns.reconcile["maxRisk"] = "data-loss"
    scram = [
        {"mechanism": name, "password": {"file": "password"}}
        for name in ("SCRAM-SHA-256", "SCRAM-SHA-512")
    ]
    turns.declare(topic(), document("User", "app", scram=scram))
    (turns.project.folder / "password").write_text("not-in-any-plan")
    turns.take()
    result = turns.declare(topic(), topic("new"), document("User", "app", scram=scram[1:])).take()
    assert turns.topics() == {"orders", "new"}
    with closing(turns.project.connect()) as cluster:
        assert len(users_of(cluster, frozenset({"app"}))["app"]) == 2
    assert result.pending is not None
    assert result.pending.actions == {"update": 1}


def test_removing_a_protected_topic_is_refused_and_heals_the_others(turns: Turns) -> None:
    turns.declare(topic(configs=LONG), topic("old")).take()
    turns.set_behind("orders", compression_type="gzip")
    result = turns.declare(topic(configs=LONG)).take()
    assert result.healed == ("topic/orders",)
    assert ExitCode.REFUSED in {reason.exit for reason in result.reasons}
    assert turns.topics() == {"orders", "old"}


def test_without_a_folder_the_plan_is_told_and_kept_nowhere(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "payments", mode="observe")
    pending = turns.declare(topic()).take().pending
    assert pending is not None
    assert pending.path is None
    assert pending.digest.startswith("sha256:")


def test_the_folder_of_plans_cannot_be_written(turns: Turns) -> None:
    assert turns.plans is not None
    turns.plans.write_text("a file")
    turns.reconcile["mode"] = "observe"
    result = turns.declare(topic()).take()
    assert result.exit is ExitCode.ERROR
    assert "can't be written" in result.reasons[0].sentence


def test_an_empty_folder_deletes_nothing_and_nothing_else_is_applied(tmp_path: Path) -> None:
    old = topic("old", deletionPolicy="Delete")
    turns = Turns(tmp_path / "payments", mode="auto").declare(topic(), old)
    assert turns.take().outcome is TurnOutcome.APPLIED
    turns.declare(topic(), topic("new"))
    (turns.project.folder / "manifests" / "team").mkdir()
    before = turns.records()
    result = turns.take()
    assert (result.outcome, result.exit) == (TurnOutcome.REFUSED, ExitCode.REFUSED)
    assert "manifests/team is empty, so files may be missing" in result.reasons[0].sentence
    assert (turns.topics(), turns.records()) == ({"orders", "old"}, before)
    turns.declare(topic(), old, topic("new"))
    assert turns.take().outcome is TurnOutcome.APPLIED, "nothing is removed"
    (turns.project.folder / "manifests" / "team").rmdir()
    turns.declare(topic(), topic("new"))
    assert turns.take().outcome is TurnOutcome.APPLIED
    assert turns.topics() == {"orders", "new"}
