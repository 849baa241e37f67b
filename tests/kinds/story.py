"""The life of a project with every kind on one cluster, told once; the tests look at each kind.

A chapter is a property: it is told after those that it needs, and tests only read it.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, redirect_stderr, redirect_stdout, suppress
from functools import wraps
from html import unescape
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import pytest
from apply.forging import resealed
from cli.conftest import Ran
from cli.policed import InThisProcess
from cli.projects import Document, Project, as_yaml, document, tombstone, topic
from fleet.both_ways import Given, check_a_fleet_agrees, snapshot_of
from kinds.others import change_behind
from kinds.samples import ADDRESSES, DEFAULTS, DOCUMENTS, NOT_IN_SNAPSHOTS, WORD, stages
from msgspec import Struct
from msgspec.structs import replace
from plan.plan_json import plan_from_json
from used import used

from kgitops.apply.journal.importing import _digest, kind_of_record
from kgitops.cli.main import main
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UnreachableError
from kgitops.model.registry import Json
from kgitops.model.requests import Request, api_name, request_address
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.kinds import RESOURCE_OF
from kgitops.plan.document.documents import plan_to_json
from kgitops.policy import evaluator
from kgitops.policy.evaluate.bundle import RequestRulings
from kgitops.workflow import policies
from kgitops.workflow.loading import declared_objects, loaded
from kgitops.workflow.project.selection import Selection, open_workspace
from kgitops.workflow.reading import with_all_objects

Changes = Mapping[str, Mapping[str, Json]]
"""The changes of a plan as JSON, by address."""

Asked = set[tuple[str, str]]
"""What policies were asked about: the API and the address."""

UNREAD = [
    it for kind in RESOURCE_OF for it in DOCUMENTS[kind] if "virtualCluster" not in it["metadata"]
]
"""The documents of what no snapshot holds."""

TRUE = (
    "request.name != '' && request.address.contains(request.name) "
    "&& request.virtualCluster != 'none'"
)
"""True of each request: it has a name, and is in a virtual cluster or in none."""

ALLOWED = ("--auto-approve", "--allow-secret-commands", "--allow-plaintext-secrets")
EVERY_ADDRESS = [address for addresses in ADDRESSES.values() for address in addresses]


T = TypeVar("T")


class Failed(Struct, frozen=True):
    """What a chapter failed with, and where: each time that it is raised, that grows."""

    error: Exception
    where: TracebackType | None


def chapter(tell_it: Callable[["Story"], T]) -> "property":
    """A property that is made once, and that fails again as it failed."""
    name = tell_it.__name__

    @wraps(tell_it)
    def read(story: "Story") -> T:
        if name not in story.told:
            try:
                story.told[name] = tell_it(story)
            except Exception as error:  # noqa: BLE001 (the tests that ask for it raise it)
                story.told[name] = Failed(error, error.__traceback__)
        found = story.told[name]
        if isinstance(found, Failed):
            raise found.error.with_traceback(found.where)
        return found

    return property(read)


class Place(Struct, frozen=True):
    """The cluster of a story: how a project names it, and how to connect to it.

    ``strange`` begins the addresses of objects that no broker of kgitops knows by that name: it
    can't ask policies about them, nor tell who changed them.
    """

    cluster: Mapping[str, Json]
    connect: Callable[[Path], AbstractContextManager[Cluster]]
    strange: str | tuple[str, ...] = ""

    def knows(self, address: str) -> bool:
        return not address.startswith(self.strange)


class Story:
    """A project in ``folder``, the working directory, whose cluster is at ``place``."""

    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.project = Project(folder / "payments")
        self.told: dict[str, Any] = {}
        self._folder = folder
        self._by_plans: Asked = set()
        self._by_brokers: Asked = set()

    def run(self, *words: object) -> Ran:
        """Run a command in this process, and see what it prints."""
        out, err = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in "12")
        with redirect_stdout(out), redirect_stderr(err):
            code = main([str(word) for word in words])
        said, told = (str(it.buffer.getvalue(), "utf-8") for it in (out, err))  # type: ignore[attr-defined]
        return Ran(code, said, told)

    def plan(self, *words: object) -> Changes:
        """The changes of a plan, whatever comes of it."""
        ran = self.run("plan", self.project.folder, "--format", "json", *words)
        assert ran.out, ran.err
        return by_address(json.loads(ran.out)["changes"])

    def write(self, *documents: Document, **spec: Json) -> None:
        """Let the project consist of these documents."""
        self.project.write(*documents)
        self.project.write_file(cluster=self.place.cluster, defaults=DEFAULTS, **spec)
        (self.project.folder / "word.txt").write_text("another password")

    @chapter
    def planned(self) -> Changes:
        """Each object of the documents as it was planned; then it is applied, as it was planned."""
        planned: dict[str, Mapping[str, Json]] = {}
        for documents in stages():
            self.write(*documents, policies=["policies"])
            self._write_policy(TRUE)
            planned = {**self.plan("-o", "plan.json"), **planned}  # as it was created
            self.whole = plan_from_json(json.loads(Path("plan.json").read_text()))
            ran = self.run("apply", "plan.json", *ALLOWED)
            assert ran.code == 0, ran.said
        self.asked = tuple(map(frozenset, (self._by_plans, self._by_brokers)))
        return planned

    @chapter
    def desired(self) -> DesiredState:
        """The documents of the whole project."""
        assert self.planned
        with loaded(open_workspace(Selection(paths=(self.project.folder,)))) as found:
            return found.desired

    @chapter
    def counted(self) -> Mapping[str, int]:
        """How many of each kind ``validate`` counts."""
        assert self.planned
        ran = self.run("validate", self.project.folder, "--format", "json")
        (counts,) = json.loads(ran.out)["clusters"].values()
        return counts

    @chapter
    def planned_again(self) -> Ran:
        """What is left to do after the apply."""
        assert self.planned
        return self.run("plan", self.project.folder, "--detailed-exitcode")

    @chapter
    def explained(self) -> Mapping[str, Ran]:
        """What is said of each object."""
        assert self.planned
        return {
            address: self.run("explain", address, self.project.folder) for address in EVERY_ADDRESS
        }

    @chapter
    def exported(self) -> tuple[frozenset[str], Changes, Sequence[Ran]]:
        """What an export declares, what a plan of it would change, and what its apply leaves."""
        assert self.planned
        copy, told = self._exported("exported")
        assert "0 to adopt, nothing to change." in told.said
        changes = self._planned(copy)
        self._registry("export", "-o", "registry.json")
        applied = self.run("apply", copy, "--auto-approve")
        left = [self.run(command, copy, "--detailed-exitcode") for command in ("plan", "drift")]
        self._registry("import", "registry.json", "--replace", "--auto-approve")
        return declared_in(copy), changes, (applied, *left)

    @chapter
    def audited(self) -> frozenset[str]:
        """The addresses that an audit finds against a policy that denies all."""
        assert self.planned
        self._write_policy("false")
        ran = self.run("policy", "audit", self.project.folder, "--format", "json")
        self._write_policy(TRUE)
        assert ran.code == 3, ran.said
        return frozenset(row["address"] for row in json.loads(ran.out)["objects"])

    @chapter
    def unowned(self) -> tuple[Changes, frozenset[str], Changes]:
        """The plan when nothing has a record of its owner, what an export declares then, and the
        plan of that.
        """
        assert self.planned_again
        assert self.exported
        saved = json.loads(Path("registry.json").read_text())
        saved["records"] = [it for it in saved["records"] if kind_of_record(it["key"]) != "own"]
        del saved["counts"]["own"]
        saved["digest"] = _digest(saved)
        Path("unowned.json").write_text(json.dumps(saved))
        self._registry("import", "unowned.json", "--replace", "--auto-approve")
        copy, _ = self._exported("unowned", "--compact")
        found = self.plan(), declared_in(copy), self._planned(copy)
        self._registry("import", "registry.json", "--replace", "--auto-approve")
        return found

    @chapter
    def changed(self) -> tuple[str, ...]:
        """What others changed."""
        # Each of these looks at the cluster as it was applied.
        assert self.planned_again
        assert self.exported
        assert self.audited
        assert self.unowned
        with self.place.connect(self.project.folder) as cluster:
            before = self._state_of(cluster)
            changed = change_behind(cluster)
            self.states = before, self._state_of(cluster)
            return changed

    @chapter
    def drift(self) -> Changes:
        """What others changed, as ``kgitops drift`` shows it."""
        assert self.changed
        ran = self.run("drift", self.project.folder, "--format", "json")
        assert ran.code == 0, ran.said
        return by_address(json.loads(ran.out)["drift"])

    @chapter
    def exported_without(self) -> Ran:
        """An export where others took away what the project manages."""
        assert self.changed
        return self.run("export", self.project.folder, "-o", "without")

    @chapter
    def repairing(self) -> Changes:
        """What a plan would undo of it."""
        assert self.changed
        return self.plan()

    @chapter
    def planned_offline(self) -> Changes:
        """The same plan against a saved snapshot."""
        assert self.changed
        ran = self.run("snapshot", self.project.folder, "--users", "-o", "state.json")
        assert ran.code == 0, ran.said
        without = [w for it in EVERY_ADDRESS if not in_snapshots(it) for w in ("--exclude", it)]
        return self.plan("--snapshot", "state.json", *without)

    @chapter
    def refused_offline(self) -> Mapping[str, Ran]:
        """What is said of objects that no snapshot holds."""
        assert self.planned_offline
        return {
            address: self.run(
                "plan", self.project.folder, "--snapshot", "state.json", "--target", address
            )
            for address in EVERY_ADDRESS
            if not in_snapshots(address)
        }

    @chapter
    def planned_by_a_fleet(self) -> Changes:
        """The same plan of a fleet, from JSON and from rows."""
        assert self.changed
        with self.place.connect(self.project.folder) as cluster:
            state = snapshot_of(cluster)
        folder = self._folder / "fleet"
        folder.mkdir()
        assert state.registry is not None
        owners = {it: owner for it, owner in state.registry.owners.items() if in_snapshots(it)}
        copy = Project(folder / "payments")
        copy.write(*(it for it in stages()[-1] if it not in UNREAD))
        copy.write_file(cluster=self.place.cluster, defaults=DEFAULTS)
        given = Given(project=copy.folder, cluster="local", state=state)
        with pytest.raises(UnreachableError, match="a snapshot does not hold the"):
            check_a_fleet_agrees(given, folder)
        without = replace(state, registry=replace(state.registry, owners=owners))
        plan = check_a_fleet_agrees(replace(given, state=without), folder)
        assert plan is not None
        return by_address(plan_to_json(plan)["changes"])

    @chapter
    def removing(self) -> tuple[Changes, frozenset[str]]:
        """The plan when the documents are gone: its changes, and what it keeps."""
        assert self.repairing
        assert self.drift
        assert self.planned_offline
        assert self.planned_by_a_fleet
        self.write(topic("stays"))
        ran = self.run("plan", self.project.folder, "--format", "json")
        content = json.loads(ran.out)
        return by_address(content["changes"]), frozenset(it["address"] for it in content["kept"])

    @chapter
    def buried(self) -> tuple[Changes, Mapping[str, Ran], frozenset[str]]:
        """The plan of a Tombstone for each object, what came of forging it, and what was left."""
        assert self.removing
        graves = [buried(address, number) for number, address in enumerate(EVERY_ADDRESS)]
        self.write(topic("stays"), *graves, safety={"maxDeletes": 100, "maxDeletePercent": 100})
        changes = self.plan("-o", "plan.json")
        forged = {
            address: self._apply_forged(address)
            for address, change in changes.items()
            if change["requests"]
        }
        ran = self.run("apply", "plan.json", *ALLOWED)
        assert ran.code == 0, ran.said
        self.write(topic("stays"))
        left = self.run("export", self.project.folder, "-o", "left")
        assert left.code == 0, left.said
        return changes, forged, declared_in(Path("left"))

    @chapter
    def shown(self) -> Mapping[str, str]:
        """The plan of the Tombstones in each form for people."""
        assert self.buried
        return {
            form: unescape(self.run("show", "plan.json", "--format", form).out)
            for form in ("text", "markdown", "html")
        }

    def _apply_forged(self, address: str) -> Ran:
        """Apply the plan with a change that says that it is about another object."""
        content = json.loads(Path("plan.json").read_text())
        (change,) = (it for it in content["changes"] if it["address"] == address)
        change["address"] = "topic/stays"
        change["preconditions"] = []
        Path("forged.json").write_text(resealed(content))
        return self.run("apply", "forged.json", *ALLOWED)

    def _registry(self, command: str, *words: object) -> None:
        ran = self.run("registry", command, *words, self.project.folder)
        assert ran.code == 0, ran.said

    def _state_of(self, cluster: Cluster) -> ClusterState:
        """All that can be read, with the groups and client metrics that have configs."""
        project = open_workspace(Selection(paths=(self.project.folder,))).project
        return with_all_objects(cluster, used(cluster), project)[0]

    def _exported(self, name: str, *options: str) -> tuple[Path, Ran]:
        """A copy of the project that has the same cluster, and declares what an export found."""
        copy = shutil.copytree(self.project.folder, self._folder / name / "payments")
        shutil.rmtree(copy / "manifests")
        ran = self.run("export", self.project.folder, "-o", copy / "manifests", *options)
        assert ran.code == 0, ran.said
        return copy, ran

    def _planned(self, folder: Path) -> Changes:
        ran = self.run("plan", folder, "--format", "json")
        assert ran.code == 0, ran.said
        return by_address(json.loads(ran.out)["changes"])

    def _write_policy(self, expression: str) -> None:
        folder = self.project.folder / "policies"
        folder.mkdir(exist_ok=True)
        judged = document("Policy", "all", level="hard", validations=[{"expression": expression}])
        (folder / "all.yaml").write_text(as_yaml([judged]))


def asked_as(request: Request) -> str:
    """The API of a request; configs of brokers have the one that brokers ask about themselves."""
    kind = getattr(request, "resource_type", None)
    return "AlterBroker" if kind is ConfigResourceType.BROKER else api_name(request)


def _remembering(asked: Asked) -> type[InThisProcess]:
    class Remembering(InThisProcess):
        def judge(self, request: Request, **more: object) -> RequestRulings:
            asked.add((asked_as(request), request_address(request)))
            return super().judge(request, **more)  # type: ignore[arg-type]

    return Remembering


def by_address(changes: Sequence[Mapping[str, Json]]) -> Changes:
    return {str(change["address"]): change for change in changes}


def in_snapshots(address: str) -> bool:
    return not address.startswith(tuple(NOT_IN_SNAPSHOTS))


def declared_in(folder: Path) -> frozenset[str]:
    """What the project's documents declare."""
    workspace = open_workspace(Selection(paths=(folder,)))
    return frozenset(item.address for item in declared_objects(workspace))


def buried(address: str, number: int) -> Document:
    """A Tombstone of the object."""
    made = tombstone(address)
    made["metadata"]["name"] = f"grave-{number}"
    return made


def tell(place: Place, folder: Path) -> Story:
    """The whole story, in ``folder``; a chapter that fails is told to the tests that ask for it."""
    story = Story(place, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
            patch.delenv(name, raising=False)
        patch.setenv(WORD, "a password of some length")
        patch.setattr(policies, "open_evaluator", _remembering(story._by_plans))
        patch.setattr(evaluator, "open_evaluator", _remembering(story._by_brokers))
        for name, one in vars(Story).items():
            if isinstance(one, property):
                with suppress(Exception):
                    getattr(story, name)
    return story
