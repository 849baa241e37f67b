"""A fleet's plan of a project on a cluster is the one that ``kgitops plan`` makes of them.

Documents in a folder on one side and a cluster's saved state on the other, through everything that
both do with them: loading, comparing, lowering, policies, what brokers would refuse.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from builders import a_binding
from cli.projects import EXAMPLES
from fleet.both_ways import Given, check_a_fleet_agrees, snapshot_of
from fleet.plain_documents import plain_projects
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from laws.chains import assert_caught
from laws.fleet_documents import Document, document, fleets, write
from laws.fleet_surroundings import settle
from laws.test_fleet_laws import MISCHIEF
from laws.twin_clusters import Twin, embedded, twins, workspace_of
from msgspec.structs import replace
from strategies import foreign_requests
from used import used

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.port import Cluster
from kgitops.fleet import planning
from kgitops.fleet.diff import narrow as reduced
from kgitops.manifests.project_file import load_project
from kgitops.model.errors import FindingsError
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest, DeleteTopicRequest
from kgitops.plan.document.plan import Plan
from kgitops.workflow.loading import loaded
from kgitops.workflow.pipeline import plan_against
from kgitops.workflow.project.selection import Selection, Workspace, open_workspace

Choices = Sequence[tuple[Path, ...]]

SLOW = settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
POLICIES = (
    ("small", "hard", "requested.partitions < 4", ["CreateTopic", "AlterTopic"]),
    ("few", "soft", "cluster.topics + cluster.partitions < 12", ["CreateTopic", "DeleteTopic"]),
    ("calm", "advisory", "cluster.partitions < 9", ["CreateAcl", "DeleteAcl"]),
    ("no-stars", "hard", "requested.principal != 'User:*'", ["CreateAcl"]),
)


ROWS_AT_ONCE = (1_000_000, 2)
CHOICES: Sequence[Sequence[int]] = ((), (0, 1), (2, 3))
"""Few, so that the processes that judge are there already."""


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Sequence[tuple[Path, ...]]:
    """Policies in CEL, some of which ask about the whole cluster."""
    return [_written(tmp_path_factory.mktemp("policies"), chosen) for chosen in CHOICES]


def _written(folder: Path, chosen: Sequence[int]) -> tuple[Path, ...]:
    for number in chosen:
        name, level, expression, requests = POLICIES[number]
        spec = {
            "level": level,
            "description": f"The policy {name}.",
            "match": {"requests": requests},
            "validations": [{"expression": expression}],
        }
        (folder / f"{name}.yaml").write_text(json.dumps(document("Policy", name, spec)))
    return (folder,) if chosen else ()


def agree(
    folder: Path, twin: Twin, project: Path, policies: tuple[Path, ...], *rows_at_once: int
) -> None:
    """The law, for this project on the cluster as it is now."""
    state = snapshot_of(twin.cluster)
    there = Given(project=project, cluster="local", state=state, policies=policies)
    check_a_fleet_agrees(there, folder, rows_at_once or (reduced.ROWS_AT_ONCE,))


def apply(twin: Twin, project: Path) -> None:
    """What stops a plan stops it here, too."""
    workspace = workspace_of(project)
    try:
        sealed = twin.plan(workspace)
    except FindingsError:
        return
    if sealed.plan.changes and not sealed.plan.verdict.stops:
        twin.apply(sealed, workspace)


def virtual_fleets(data: st.DataObject, choices: Choices, count: int = 2) -> None:
    """Projects of virtual clusters: on brokers that know them, and on some that know none."""
    with TemporaryDirectory() as name, twins(Path(name)) as both:
        folder = Path(name)
        settle(both, folder)
        policies = data.draw(st.sampled_from(choices), label="policies")
        for number in range(count):
            write(folder / "fleet", "fleet", data.draw(fleets(3 + number), label="documents"))
            for twin in both:
                agree(folder, twin, folder / "fleet", policies)
                apply(twin, folder / "fleet")
                if number + 1 < count:
                    _mischief(data, twin)
        for twin in both:
            agree(folder, twin, folder / "fleet", policies)
            agree(folder, twin, folder / "foreign", policies)


def _mischief(data: st.DataObject, twin: Twin) -> None:
    for make in data.draw(st.lists(st.sampled_from(MISCHIEF), max_size=3), label="mischief"):
        request = make(twin.cluster.read_state(), data.draw(st.integers(0, 9), label="which"))
        if request:
            twin.ask(request)


def plain_fleets(data: st.DataObject, choices: Choices, count: int = 3) -> None:
    """Two projects on one cluster that others change by hand, again and again."""
    with TemporaryDirectory() as name, embedded(Path(name), "1", brokers=4) as twin:
        folder = Path(name)
        policies = data.draw(st.sampled_from(choices), label="policies")
        declared: dict[str, list[Document]] = {"payments": [], "billing": []}
        for _ in range(count):
            for request in data.draw(foreign_requests(used(twin.cluster)), label="others"):
                twin.ask(request)
            _write_records(twin)
            project = data.draw(st.sampled_from(sorted(declared)), label="project")
            documents = data.draw(plain_projects(declared[project]), label="documents")
            if not documents:
                continue
            declared[project] = documents
            write(folder / project, project, documents)
            for each in sorted(declared):
                if declared[each]:
                    agree(folder, twin, folder / each, policies, *ROWS_AT_ONCE)
            apply(twin, folder / project)
            agree(folder, twin, folder / project, policies, *ROWS_AT_ONCE)


def _write_records(twin: Twin) -> None:
    """What a deletion would lose is part of its plan."""
    assert isinstance(twin.physical, EmbeddedCluster)
    for topic in sorted(twin.physical.read_state().topics)[:2]:
        twin.commit(f"reads {topic}", {(topic, 0): 0})


@pytest.mark.slow
@SLOW
@given(data=st.data())
def test_fleets_of_virtual_clusters_are_planned_alike(
    data: st.DataObject, policies: Choices
) -> None:
    """VC-410, P201-42: the same changes, requests, risks, losses, lowering and verdicts."""
    virtual_fleets(data, policies)


@SLOW
@given(data=st.data())
def test_fleets_without_virtual_clusters_are_planned_alike(
    data: st.DataObject, policies: Choices
) -> None:
    """VC-410, P201-42: also where most objects need no look, and fingerprints say so."""
    plain_fleets(data, policies)


# Without its parts the law is broken


def forget_what_is_settled(patch: pytest.MonkeyPatch) -> None:
    """What is left out on both sides counts for nothing: limits are of what is left."""
    real = planning.narrow_sides
    patch.setattr(planning, "narrow_sides", lambda *sides: replace(real(*sides), unchanged={}))


def show_policies_what_differs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(planning, "lazy_cluster_state", lambda current, *_: current)


@pytest.mark.slow
@pytest.mark.parametrize("mutate", [forget_what_is_settled, show_policies_what_differs])
def test_the_law_catches_a_fleet_that_would(
    mutate: Callable[[pytest.MonkeyPatch], None],
    policies: Choices,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutate(monkeypatch)
    assert_caught(lambda data: plain_fleets(data, policies[1:]))


# What is shipped

PROJECTS = [
    (str(file.parent.relative_to(EXAMPLES)), name)
    for file in sorted(EXAMPLES.rglob("kgitops.yaml"))
    for name in load_project(file, env={}).cluster_names
    if name != "sandbox" and (EXAMPLES / "fleet") not in file.parents
]


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLICKS_APP_PASSWORD", "a password")
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns(".kgitops"))
    return Path("examples")


def check(there: Cluster, project: Path, cluster: str) -> Plan:
    """The law; of policies in Python rows know nothing."""
    python = "class:" in (project / "kgitops.yaml").read_text()
    state = snapshot_of(there)
    asked = Given(project=project, cluster=cluster, state=state, rows=not python)
    plan = check_a_fleet_agrees(asked, Path())
    assert plan is not None
    return plan


def apply_to(there: Cluster, workspace: Workspace) -> None:
    with loaded(workspace) as declared:
        sealed = plan_against(there, declared, workspace)
    Twin(there, lambda *_: None).apply(sealed, workspace)


@pytest.mark.slow
@pytest.mark.parametrize(("example", "cluster"), PROJECTS)
def test_examples_are_planned_alike(example: str, cluster: str, examples: Path) -> None:
    """P201-42: on an empty cluster, one that it was applied to, and one that others changed."""
    project = examples / example
    workspace = open_workspace(Selection(paths=(project,), cluster=cluster))
    with workspace.connected() as there:
        assert check(there, project, cluster).changes
        apply_to(there, workspace)
        assert not check(there, project, cluster).changes
        twin = Twin(there, lambda *_: None)
        stranger = a_binding("User:stranger", "Read", "orders")
        assert twin.ask(CreateAclRequest(binding=stranger))
        for binding in sorted(there.read_state().acls - {stranger})[:1]:
            assert twin.ask(DeleteAclRequest(binding=binding))
        topics = there.read_state().topics
        own = [topic for name, topic in sorted(topics.items()) if not name.startswith("_")]
        # Where a link leads to a topic, brokers keep it.
        any(
            twin.ask(DeleteTopicRequest(topic=topic.name, topic_id=str(topic.topic_id)))
            for topic in own
        )
        plan = check(there, project, cluster)
        assert plan.changes or plan.kept


@pytest.mark.parametrize("cluster", ["local", "today"])
def test_each_stage_of_the_migration_is_planned_alike(cluster: str, examples: Path) -> None:
    """VC-410, P201-42: on the cluster as the stage before left it, and back."""
    stages = sorted(file.parent for file in (examples / "migration").glob("*/kgitops.yaml"))
    for project in (*stages, *reversed(stages[:-1])):
        workspace = open_workspace(Selection(paths=(project,), cluster=cluster))
        with workspace.connected() as there:
            assert check(there, project, cluster).changes
            apply_to(there, workspace)


def test_teams_that_share_a_cluster_are_planned_alike(examples: Path) -> None:
    """P201-42: each keeps what the other owns."""
    teams = [examples / "shared-cluster" / name for name in ("payments", "search")]
    for project in teams:
        workspace = open_workspace(Selection(paths=(project,), cluster="shared"))
        with workspace.connected() as there:
            apply_to(there, workspace)
            plans = [check(there, team, "shared") for team in teams]
    assert all(plan.kept and not plan.changes for plan in plans)
