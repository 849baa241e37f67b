"""``clusterId``: each command that connects refuses another cluster, before it changes anything."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing, nullcontext
from importlib import import_module
from typing import Any

import pytest
import typer.main
from cli.conftest import Kgitops, Ran
from cli.projects import UID, Project, metadata_log, topic
from msgspec import Struct

from kgitops.cli.main import COMMANDS, GROUPS
from kgitops.cluster.connect import connect
from kgitops.fleet import snapshotting
from kgitops.testing import cluster as served_cluster

PINNED = "AAAAAAAAAAAAAAAAAAAAAA"
VIRTUAL_CLUSTER = ("--virtual-cluster", "emea")

CONNECTING: dict[str, tuple[str, ...]] = {
    "plan": ("plan",),
    "plan of a part": ("plan", "--target", "topic/orders"),
    "apply": ("apply", "--auto-approve"),
    "apply in JSON": ("apply", "--auto-approve", "--format", "json"),
    "apply a resumed run": ("apply", "--resume"),
    "drift": ("drift",),
    "drift of users": ("drift", "--verify-users"),
    "explain": ("explain", "topic/orders", "--last-applied"),
    "snapshot": ("snapshot", "-o", "new.json"),
    "export": ("export", "-o", "new"),
    "serve": ("serve",),
    "gateway": ("gateway", "--listen", "127.0.0.1:0"),
    "reconcile": ("reconcile", "--once"),
    "reconcile suspend": ("reconcile", "suspend", "--reason", "why"),
    "reconcile resume": ("reconcile", "resume"),
    "acls list": ("acls", "--list"),
    "acls add": (
        *("acls", "--add", "--allow-principal", "User:a"),
        *("--operation", "Read", "--topic", "orders"),
    ),
    "policy audit": ("policy", "audit"),
    "registry check": ("registry", "check"),
    "registry repair": ("registry", "repair", "--auto-approve"),
    "registry export": ("registry", "export", "-o", "new.json"),
    "registry import": ("registry", "import", "saved.json", "--replace", "--auto-approve"),
    "registry release": ("registry", "release", "--to", UID),
    "vc create": ("vc", "create", *VIRTUAL_CLUSTER),
    "vc alter": ("vc", "alter", *VIRTUAL_CLUSTER, "--add", "--user", "a"),
    "vc delete": ("vc", "delete", *VIRTUAL_CLUSTER),
    "vc list": ("vc", "list"),
    "vc describe": ("vc", "describe", "--all"),
    "vc graph": ("vc", "graph"),
    "vc bindings": ("vc", "bindings", "--user", "User:a"),
    "vc orphans": ("vc", "orphans"),
    "vc plan-migration": ("vc", "plan-migration", "--prefix", "a.", *VIRTUAL_CLUSTER),
    "vc export-acls": ("vc", "export-acls", *VIRTUAL_CLUSTER),
    "vc export": ("vc", "export"),
    "vc quota explain": ("vc", "quota", "explain", "--user", "a"),
    "fleet snapshot": ("fleet", "snapshot", "-o", "states"),
}
"""Each command that connects to a cluster, once for each way in which it does."""
OFFLINE = {
    *("init", "validate", "show", "diff", "convert", "catalogue", "schema"),
    *("policy list", "policy test", "policy explain"),
    *("fleet plan", "fleet audit", "fleet summary", "fleet compile"),
    *("sandbox start", "sandbox stop", "sandbox status", "sandbox tool"),
}
"""The commands that connect to no cluster of a project."""


class Swapped(Struct, frozen=True):
    """A project whose cluster ``prod`` is pinned, and at whose address another one is."""

    project: Project
    found: str

    def refused(self, ran: Ran, code: int = 5) -> None:
        assert ran.code == code, ran
        assert PINNED in ran.said
        assert self.found in ran.said
        assert "kgitops.yaml:" in ran.said
        assert "the cluster prod" in ran.said


def pin(project: Project, url: str, cluster_id: str = PINNED) -> None:
    """Let the project have the cluster ``prod`` at this address."""
    clusters = {"prod": {"url": url, "clusterId": cluster_id}}
    project.write(topic("orders"))
    project.write_file(clusters=clusters)


@pytest.fixture
def swapped(project: Project) -> Swapped:
    with closing(project.connect()) as cluster:
        cluster.registry.append([("suspend", None)])
        found = cluster.cluster_id
    pin(project, "embedded:.kgitops/local.db")
    return Swapped(project, found)


def leaves(command: Any, words: tuple[str, ...]) -> Iterator[str]:  # noqa: ANN401 (typer has no type)
    if not hasattr(command, "commands"):
        yield " ".join(words)
        return
    for name, below in command.commands.items():
        yield from leaves(below, (*words, name))


def all_commands() -> set[str]:
    found = set(COMMANDS)
    for group, (place, _) in GROUPS.items():
        module, _, name = place.partition(":")
        app = getattr(import_module(f"kgitops.cli.{module}"), name)
        found.update(leaves(typer.main.get_command(app), (group,)))
    return found


def test_every_command_is_known_to_connect_or_not_to() -> None:
    """A new command belongs into one of the two: CONNECTING is tried below."""
    connecting = {name for name in all_commands() if any(_is(name, w) for w in CONNECTING.values())}
    assert connecting | OFFLINE == all_commands()
    assert connecting & OFFLINE == set()


def _is(command: str, words: tuple[str, ...]) -> bool:
    parts = tuple(command.split())
    return words[: len(parts)] == parts


@pytest.mark.parametrize("case", CONNECTING)
def test_a_command_refuses_another_cluster_and_changes_nothing(
    swapped: Swapped, kgitops: Kgitops, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, words = swapped.project, CONNECTING[case]
    before = (metadata_log(project.store), registry_of(project))
    monkeypatch.chdir(project.folder)
    if case == "gateway":
        # It stands before Kafka: the same cluster by its protocol.
        with served_cluster(project.folder, url="embedded:.kgitops/local.db") as served:
            pin(project, served.url)
            swapped.refused(kgitops(*words, "-c", "prod"))
        return
    if case == "fleet snapshot":
        # Where its tasks run makes no difference to what they refuse.
        monkeypatch.setattr(snapshotting, "session", lambda *_, **__: nullcontext())
        monkeypatch.setattr(snapshotting, "run_tasks", lambda _, specs, work, __: map(work, specs))
    if case == "registry import":
        url = "embedded:.kgitops/local.db"
        assert kgitops("registry", "export", "-o", "saved.json", "-c", url).code == 0
    ran = kgitops(*words, *(() if words[0] == "fleet" else ("-c", "prod")))
    swapped.refused(ran)
    assert (metadata_log(project.store), registry_of(project)) == before


def registry_of(project: Project) -> object:
    with closing(project.connect()) as cluster:
        return cluster.registry.read()


@pytest.mark.parametrize("case", ["plan", "apply", "drift", "snapshot", "reconcile resume"])
def test_a_served_cluster_is_refused_by_its_protocol(
    swapped: Swapped, kgitops: Kgitops, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(swapped.project.folder)
    with served_cluster(swapped.project.folder, url="embedded:.kgitops/local.db") as served:
        pin(swapped.project, served.url)
        swapped.refused(kgitops(*CONNECTING[case], "-c", "prod"))
        pin(swapped.project, served.url, swapped.found)
        assert kgitops("plan", "-c", "prod").code == 0


def test_a_snapshot_of_another_cluster_is_refused(swapped: Swapped, kgitops: Kgitops) -> None:
    project = swapped.project
    state = project.folder / "state.json"
    assert kgitops("snapshot", "-c", f"embedded:{project.store}", "-o", state).code == 0
    ran = kgitops("plan", project.folder, "--snapshot", state)
    swapped.refused(ran)
    assert "the snapshot is of" in ran.said
    pin(project, "embedded:.kgitops/local.db", swapped.found)
    assert kgitops("plan", project.folder, "--snapshot", state).code == 0


def test_a_cluster_named_by_its_url_has_no_pin(swapped: Swapped, kgitops: Kgitops) -> None:
    """Who writes the address means this cluster; the pin belongs to the name."""
    folder = swapped.project.folder
    url = f"embedded:{swapped.project.store}"
    assert kgitops("plan", folder, "-c", url).code == 0
    assert kgitops("plan", folder, "-c", url, "--variables-of", "prod").code == 0


@pytest.mark.parametrize(
    ("planned_at", "applied_at", "code"),
    [("first", "second", 9), ("second", "second", 5), ("second", "first", 9)],
)
def test_a_saved_plan_says_both_where_both_are_true(
    project: Project, kgitops: Kgitops, planned_at: str, applied_at: str, code: int
) -> None:
    """Contract §4: 9 comes before 5, and all reasons are listed. ``first`` is the pinned one."""
    ids = {}
    stores = {name: project.folder / f"{name}.db" for name in ("first", "second")}
    for name, store in stores.items():
        with closing(connect(f"embedded:{store}", brokers=3, base=project.folder)) as cluster:
            ids[name] = cluster.cluster_id

    def lead_to(name: str) -> None:
        project.store.parent.mkdir(exist_ok=True)
        shutil.copy(stores[name], project.store)

    lead_to(planned_at)
    pin(project, "embedded:.kgitops/local.db", ids[planned_at])
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    pin(project, "embedded:.kgitops/local.db", ids["first"])
    lead_to(applied_at)
    before = metadata_log(project.store)
    ran = kgitops("apply", project.plan_file, "--auto-approve", "--format", "json")
    assert (ran.code, metadata_log(project.store)) == (code, before)
    verdict = json.loads(ran.out.splitlines()[-1])["verdict"]
    exits = {reason["exit"] for reason in verdict["reasons"]}
    assert exits == {5} if code == 5 else 9 in exits
    assert (5 in exits) == (applied_at == "second")
    assert {ids["first"], ids[applied_at]} <= set(re.findall(r"[\w-]+", ran.said))


def test_the_message_hides_what_the_environment_holds(
    swapped: Swapped, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE", "embedded:.kgitops/local.db")
    pin(swapped.project, "${env:STORE}")
    ran = kgitops("plan", swapped.project.folder)
    swapped.refused(ran)
    assert "local.db leads" not in ran.said
