"""``clusterId``: each command that connects refuses another cluster, before it changes anything."""

import html
import json
import shutil
from collections.abc import Iterator
from contextlib import closing, nullcontext
from importlib import import_module
from pathlib import Path
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


def test_the_pinned_cluster_is_no_other(swapped: Swapped, kgitops: Kgitops) -> None:
    project = swapped.project
    pin(project, "embedded:.kgitops/local.db", swapped.found)
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    assert kgitops("plan", project.folder, "--detailed-exitcode").code == 0
    assert kgitops("drift", project.folder, "--detailed-exitcode").code == 0


def test_a_pinned_store_is_not_created(project: Project, kgitops: Kgitops) -> None:
    """A new one would have another id: it is refused, and would hide what is missing."""
    pin(project, "embedded:.kgitops/local.db")
    ran = kgitops("apply", project.folder, "--auto-approve")
    assert (ran.code, project.store.exists()) == (5, False)
    assert f"has no store, and clusterId is {PINNED}" in ran.said


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
    assert {ids["first"], ids[applied_at]} <= set(
        ran.said.replace(";", " ").replace(",", " ").split()
    )


def test_the_message_hides_what_the_environment_holds(
    swapped: Swapped, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE", "embedded:.kgitops/local.db")
    pin(swapped.project, "${env:STORE}")
    ran = kgitops("plan", swapped.project.folder)
    swapped.refused(ran)
    assert "local.db leads" not in ran.said


BLOCKS = f"""\
apiVersion: kgitops/v1
kind: Project
metadata:
  name: payments
  uid: {UID}
spec:
  clusters:
    local:
      url: embedded:.kgitops/local.db
      brokers: 3
"""


def offered(project: Project, *, cluster_id: str) -> str:
    """The end of the note of a plan: where the line goes, and the line."""
    lines = (project.folder / "kgitops.yaml").read_text().splitlines()
    (at,) = [number for number, line in enumerate(lines, start=1) if "url:" in line]
    plain = cluster_id if cluster_id[0].isalpha() else f'"{cluster_id}"'
    return f"payments/kgitops.yaml:{at}: clusterId: {plain}"


def test_a_plan_offers_the_line_that_pins_its_cluster(project: Project, kgitops: Kgitops) -> None:
    project.write(topic())
    (project.folder / "kgitops.yaml").write_text(BLOCKS)
    with closing(project.connect()) as cluster:
        cluster_id = cluster.cluster_id
    note = offered(project, cluster_id=cluster_id)
    for form in ("text", "markdown", "html"):
        ran = kgitops("plan", project.folder, "--format", form)
        assert note in html.unescape(ran.out), form
        assert ran.out.count("is not pinned") == 1
    made = json.loads(kgitops("plan", project.folder, "--format", "json").out)
    assert made["target"]["unpinned"]["file"] == "payments/kgitops.yaml"
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    assert note in kgitops("show", project.plan_file).out
    assert kgitops("apply", project.plan_file).code == 0

    file = project.folder / "kgitops.yaml"
    url = next(line for line in file.read_text().splitlines() if "url:" in line)
    indent = url[: len(url) - len(url.lstrip())]
    pinned = f"{indent}{note.partition(': ')[2]}"
    file.write_text(file.read_text().replace(url, f"{url}\n{pinned}"))
    ran = kgitops("plan", project.folder, "--format", "json")
    assert (ran.code, "unpinned" in ran.out) == (0, False), ran
    assert "is not pinned" not in kgitops("plan", project.folder).out


@pytest.mark.parametrize("url", ["embedded:", "embedded:?brokers=3"])
def test_nothing_is_offered_for_a_cluster_in_memory(
    project: Project, kgitops: Kgitops, url: str
) -> None:
    project.write(topic())
    project.write_file(clusters={"local": {"url": url}})
    assert "is not pinned" not in kgitops("plan", project.folder).out


def test_nothing_is_offered_for_a_url_or_a_snapshot(project: Project, kgitops: Kgitops) -> None:
    project.write(topic())
    state = project.folder / "state.json"
    assert kgitops("snapshot", project.folder, "-o", state).code == 0
    for words in (("-c", f"embedded:{project.store}"), ("--snapshot", state)):
        ran = kgitops("plan", project.folder, *words)
        assert (ran.code, "is not pinned" in ran.out) == (0, False), ran


def test_init_pins_the_embedded_cluster_that_is_there(here: Path, kgitops: Kgitops) -> None:
    """It creates none for that: a store that comes later has an id of its own."""
    assert kgitops("init", "new").code == 0
    assert "clusterId" not in Path("new/kgitops.yaml").read_text()
    assert not Path("new/.kgitops").exists()
    with closing(connect("embedded:.kgitops/local.db", brokers=3, base=here / "old")) as cluster:
        cluster_id = cluster.cluster_id
    assert kgitops("init", "old").code == 0
    assert f'clusterId: "{cluster_id}"' in Path("old/kgitops.yaml").read_text()
    ran = kgitops("plan", "old")
    assert (ran.code, "is not pinned" in ran.out) == (0, False), ran


def test_init_passes_over_a_store_that_can_not_be_read(here: Path, kgitops: Kgitops) -> None:
    (here / "old" / ".kgitops").mkdir(parents=True)
    (here / "old" / ".kgitops" / "local.db").write_text("hello")
    assert kgitops("init", "old").code == 0
    assert "clusterId" not in Path("old/kgitops.yaml").read_text()
