"""kgitops as a user imports it (contract §13)."""

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import kgitops
from kgitops.apply.events import ApplyFinished, ApplyStarted, Event
from kgitops.library import PlanFormat
from kgitops.model.errors import UntrustedPlanError, UsageError

PROJECT = """
apiVersion: kgitops/v1
kind: Project
metadata: {name: payments}
spec:
  manifests: [topics.yaml]
  defaultCluster: local
  clusters:
    local: {url: "embedded:local.db", brokers: 3}
"""
TOPIC = """
apiVersion: kgitops/v1
kind: Topic
metadata: {name: orders}
spec: {partitions: 3, replicationFactor: 2}
"""


@pytest.fixture
def payments(tmp_path: Path) -> Path:
    folder = tmp_path / "payments"
    folder.mkdir()
    (folder / "kgitops.yaml").write_text(PROJECT)
    (folder / "topics.yaml").write_text(TOPIC)
    return folder


def test_a_project_is_planned_and_applied(payments: Path) -> None:
    events: list[Event] = []
    with kgitops.open(payments, cluster="local") as project:
        plan = project.plan()
        assert [change.address for change in plan.changes] == ["topic/orders"]
        assert not plan.verdict.stops
        result = project.apply(plan, on_event=events.append)
        assert result.verdict.exit is kgitops.ExitCode.SUCCESS
        assert result.done == ("r1",)
        assert not project.plan().changes
        assert project.drift() == ()
        assert project.resume() is None
    assert isinstance(events[0], ApplyStarted)
    assert isinstance(events[-1], ApplyFinished)


def test_an_empty_folder_is_allowed_to_be_empty(
    payments: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(payments.parent)
    project_file = PROJECT.replace("[topics.yaml]", "[manifests]")
    (payments / "kgitops.yaml").write_text(project_file)
    empty = payments / "manifests" / "team"
    empty.mkdir(parents=True)
    declared = empty.parent / "all.yaml"
    declared.write_text(f"{TOPIC}---\n{TOPIC.replace('orders', 'audit')}")
    with kgitops.open(payments) as project:
        project.apply(project.plan())
    declared.write_text(f"{TOPIC}")
    with kgitops.open("payments") as project:
        (_, reason) = project.plan().verdict.reasons
        assert "pass --allow-empty-folder payments/manifests/team" in reason.sentence
    for allowed in ("payments/manifests/team", empty):
        with kgitops.open("payments", allow_empty_folders=[allowed]) as project:
            plan = project.plan()
            assert [
                reason.sentence for reason in plan.verdict.reasons if "empty" in reason.sentence
            ] == []
            assert plan.sealed.plan.allow_empty_folders == ("payments/manifests/team",)


def test_a_plan_is_saved_rendered_and_read_again(payments: Path, tmp_path: Path) -> None:
    with kgitops.open(payments) as project:
        plan = project.plan()
    saved = tmp_path / "plan.json"
    saved.write_text(plan.to_json())
    again = kgitops.read_plan(saved)
    assert again == plan
    assert again.digest == plan.digest == json.loads(plan.to_json())["plan_digest"]
    for form in get_args(PlanFormat):
        assert plan.render(form)
    assert "orders" in plan.render("text", full=True)
    with pytest.raises(ValueError, match="is not a form"):
        plan.render("pdf")  # type: ignore[arg-type]
    with kgitops.open(payments) as project:
        assert project.apply(again).planned == 1


def test_a_plan_that_stops_is_refused(payments: Path) -> None:
    with kgitops.open(payments) as project:
        project.apply(project.plan())
    (payments / "topics.yaml").write_text(TOPIC.replace("partitions: 3", "partitions: 1"))
    with kgitops.open(payments) as project:
        plan = project.plan()
        assert plan.verdict.stops
        with pytest.raises(kgitops.KgitopsError) as refused:
            project.apply(plan)
        assert refused.value.reasons == plan.verdict.reasons


def test_a_changed_plan_is_refused(payments: Path, tmp_path: Path) -> None:
    with kgitops.open(payments) as project:
        text = project.plan().to_json()
    (tmp_path / "plan.json").write_text(text.replace('"orders"', '"others"'))
    with pytest.raises(UntrustedPlanError):
        kgitops.read_plan(tmp_path / "plan.json")


def test_findings_come_all_at_once(payments: Path) -> None:
    (payments / "topics.yaml").write_text(TOPIC.replace("3", "none").replace("2", "-1"))
    with pytest.raises(kgitops.FindingsError) as wrong, kgitops.open(payments):
        pass
    assert len(wrong.value.findings) == 2


def test_a_wrong_principal_is_refused(payments: Path) -> None:
    with (
        pytest.raises(UsageError, match="is not a principal"),
        kgitops.open(payments, principal="alice"),
    ):
        pass


def test_a_part_is_planned(payments: Path) -> None:
    with kgitops.open(payments, excludes=["topic/orders"]) as project:
        assert not project.plan().changes


def test_every_public_name_is_there_and_no_other() -> None:
    assert all(getattr(kgitops, name) is not None for name in kgitops.__all__)
    assert set(kgitops.__all__) <= set(dir(kgitops))
    with pytest.raises(AttributeError, match="no attribute 'shut'"):
        kgitops.shut  # type: ignore[attr-defined]  # noqa: B018


def test_importing_kgitops_imports_nothing_else() -> None:
    program = "import sys; import kgitops; print(*(m for m in sys.modules if 'kgitops' in m))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["kgitops"]


@pytest.mark.lint
@pytest.mark.lint
def test_a_users_types_check(tmp_path: Path) -> None:
    """``py.typed``: a type checker knows what ``kgitops.open`` gives, and finds a wrong use."""
    (tmp_path / "right.py").write_text(
        "import kgitops\n"
        "with kgitops.open('payments', cluster='local') as project:\n"
        "    plan: kgitops.Plan = project.plan()\n"
        "    if not plan.verdict.stops:\n"
        "        result: kgitops.ApplyResult = project.apply(plan, on_event=print)\n"
    )
    (tmp_path / "wrong.py").write_text(
        "import kgitops\n"
        "with kgitops.open('payments') as project:\n"
        "    project.plan().render('pdf')\n"
    )
    checked = [
        subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--no-incremental", name],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        for name in ("right.py", "wrong.py")
    ]
    assert checked[0].returncode == 0, checked[0].stdout
    assert "arg-type" in checked[1].stdout
