"""Command lines that can't be meant: one sentence that says what to do, exit 64, nothing changed.

Each runs where ``payments`` is a project that was applied, ``plan.json`` a plan for it,
``state.json`` a snapshot, ``full`` a folder with something in it and ``notes.txt`` some text.
"""

import shlex
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, acl, quota, topic

from kgitops.cli.main import main

MISTAKES = {
    # Commands and options.
    "": "Usage: kgitops",
    "paln": "no such command 'paln'; did you mean plan?",
    "aply payments": "no such command 'aply'; did you mean apply",
    "plan ''": "an argument is empty",
    # Words of other tools, and words at another place.
    "catalogue payments": "missing option '-o'",
    "explain": "missing argument 'ADDRESS'",
    "explain topic/none payments": "no document declares topic/none",
    "diff plan.json": "missing argument 'NEW'",
    "diff . .": "holds no fleet.json",
    "diff absent.json plan.json": "name a file of kgitops snapshot -o or plan -o",
    "destroy payments": "name what is protected in a Tombstone",
    "delete topic/orders": "remove the document",
    "import topic/orders": "declare what exists and kgitops plan adopts it",
    "refresh": "kgitops plan always reads the cluster again",
    "state list": "there is no state file; kgitops snapshot",
    "status": "kgitops drift shows what others changed",
    "rollback": "revert the commit, and apply that",
    "lint payments": "kgitops validate checks manifests",
    "check payments": "kgitops validate checks manifests",
    "test": "kgitops policy test runs the tests of policies",
    "completion bash": "kgitops --install-completion sets up your shell",
    "get topics": "kgitops export writes manifests of a cluster",
    "topics --list": "topics are declared in YAML",
    "quota": "kgitops vc quota explain shows which one applies",
    "quotas": "quotas are declared in YAML",
    "acl --list": "kgitops acls lists, adds and removes bindings",
    "help nonsense": "no such command 'nonsense'; see kgitops --help",
    "plan payments --debug": "--debug goes before the command; write kgitops --debug plan",
    "apply payments --log-level debug": "write kgitops --log-level debug apply",
    "sandbox status --debug": "write kgitops --debug sandbox status",
    "plan payments --version": "no such option: --version; write kgitops --version",
    "apply payments -y": "no such option: -y; --auto-approve applies without a question",
    "apply payments --yes": "--auto-approve applies without a question",
    "plan -f payments": "no such option: -f; a PATH is given as it is",
    "plan --file payments": "a PATH is given as it is",
    "plan payments -v": "write kgitops --log-level debug before the command",
    "plan payments --verbose": "write kgitops --log-level debug before the command",
    "apply payments --dry-run": "no such option: --dry-run; kgitops plan changes nothing",
    "plan payments --json": "no such option: --json; write --format json",
    # Groups of commands.
    "sandbox": "a command is missing; give one of start, status, stop",
    "policy": "a command is missing; give one of list, ",
    "vc": "a command is missing; give one of create, ",
    "vc quota": "a command is missing; give one of explain",
    "fleet": "a command is missing; give one of ",
    "sandbox restart": "no such command 'restart'; did you mean start or status?",
    "vc diff": "no such command 'diff'; see kgitops vc --help",
    "sandbox start now": "this is too much: now; drop it, see kgitops sandbox start --help",
    "sandbox start --brokers 2": "'2' is not one of '1', '3'",
    "sandbox start --name My_Own": "'My_Own' can't be a sandbox's name; write up to 40",
    "sandbox stop --name ../x": "'../x' can't be a sandbox's name",
    "schema Topic Acl": "this is too much: Acl; drop it",
    "terraform": "no such command 'terraform'; see kgitops --help",
    "--verison": "no such option: --verison; did you mean --version?",
    "plan payments --taget topic/orders": "no such option: --taget; did you mean --target?",
    "plan payments --detailed-exit-code": "did you mean --detailed-exitcode?",
    "plan payments --force": "no such option: --force; deletions past the limits take --allow-del",
    "validate payments --auto-approve": "no such option: --auto-approve",
    "plan payments --target": "option '--target' requires an argument; see kgitops plan --help",
    "plan payments -o": "option '-o' requires an argument",
    "plan payments --full=yes": "option '--full' does not take a value",
    "plan payments --format yaml": "'yaml' is not one of 'text', 'json', 'markdown'",
    "plan payments --format TEXT": "'TEXT' is not one of 'text', 'json', 'markdown'",
    "apply payments --format markdown": "'markdown' is not one of 'text', 'json'",
    "apply payments --auto-approve --parallelism 0": "it must be at least 1",
    "apply payments --auto-approve --parallelism -1": "it must be at least 1",
    "apply payments --auto-approve --parallelism x": "it must be a whole number",
    "show": "missing argument 'PLAN'",
    "show plan.json plan.json": "this is too much: plan.json; drop it",
    "export payments": "missing option '-o'",
    "convert payments": "missing option '-o'",
    "convert -o new": "missing argument 'PATH'",
    "convert nowhere -o new": "nowhere: no such file or directory; give the folder or file",
    "convert --from topictl payments -o new": "there is no such tool; did you mean topicctl?",
    "convert payments -o full": "full is not empty; name a new folder",
    # Paths.
    "plan paymets": "paymets does not exist; did you mean payments?",
    "plan payments/manifests/al.yaml": "did you mean payments/manifests/all.yaml?",
    "validate nowhere/at/all": "nowhere/at/all does not exist; correct the path",
    "plan payments payments/manifests": "is a whole project and can't be mixed",
    "plan payments/manifests other/manifests": "belong to different projects",
    "plan": "there is no kgitops.yaml here and no PATH was given; run kgitops init",
    "apply --auto-approve": "there is no kgitops.yaml here and no PATH was given",
    # Clusters.
    "plan payments -c lcoal": "has no cluster 'lcoal'; did you mean local?",
    "plan payments -c prod": "has no cluster 'prod'; it has local",
    "plan payments/manifests -c http://x": "--cluster http://x is not the URL of a cluster",
    "plan payments -c embedded:x.db?color=red": "'color=red' is not understood",
    "plan payments -c embedded:x.db?brokers=many": "must be a whole number",
    "plan payments/manifests -c embedded:x.db?brokers=0": "at least one broker",
    "plan payments -c embedded:x.db?compat=zookeeper": "compat must be seed or kraft",
    "drift -c prod": "no cluster is named 'prod', because no project file names any",
    "plan payments --snapshot nowhere.json": "--snapshot nowhere.json does not exist; correct",
    "plan payments --snapshot nowhere.parquet": "--snapshot nowhere.parquet does not exist",
    # Objects.
    "plan payments --target topic/ordes": "'topic/ordes'; did you mean topic/orders?",
    "plan payments --exclude topic/nothing-like-it-at-all": "kgitops plan --full shows",
    "plan payments --target topic/orders --exclude topic/orders": "drop one of the two",
    "plan payments --allow-deletes": "option '--allow-deletes' requires an argument",
    "plan payments --allow-deletes 5": "write KIND=N with one of VirtualCluster, Topic",
    "plan payments --allow-deletes Topics=5": "write KIND=N with one of VirtualCluster, Topic",
    "plan payments --allow-deletes Topic=many": "write KIND=N with one of VirtualCluster, Topic",
    "plan payments --allow-deletes Topic=-1": "write KIND=N with one of VirtualCluster, Topic",
    "plan payments --as nobody": "--as 'nobody' is not a principal; write Type:name",
    "apply payments --auto-approve --as :x": "is not a principal; write Type:name",
    # Plans.
    "show nowhere.json": "nowhere.json can't be read: no such file",
    "show payments": "payments can't be read: is a directory",
    "apply plna.json": "plna.json does not exist; did you mean plan.json?",
    "apply plan.json payments": "a saved plan is applied alone",
    "apply plan.json --resume": "--resume takes no PLAN",
    "apply plan.json --target topic/orders": "a saved plan is applied as it is",
    "apply plan.json --as User:x": "a saved plan is applied as it is",
    "apply plan.json --allow-deletes Topic=1": "a saved plan is applied as it is",
    "apply plan.json --expect-digest 9f2c": "--expect-digest '9f2c' is not a digest",
    "apply --resume --target topic/orders": "--resume alone goes on with the plan",
    "apply payments": "there is nobody to ask; pass --auto-approve",
    "apply payments --format json": "--format json asks nobody; pass --auto-approve",
    # Files to write.
    "plan payments -o nowhere/plan.json": "there is no folder nowhere; make it first",
    "plan payments -o full": "-o full is a folder; name a file in it",
    "snapshot payments -o nowhere/state.json": "there is no folder nowhere; make it first",
    "export payments -o full": "full is not empty; name a new folder",
    "export payments -o notes.txt": "not a directory; name a new folder",
    "init payments": "kgitops.yaml exists already; init overwrites nothing",
    "init notes.txt": "notes.txt can't be written",
    # Kinds.
    "schema Topik": "no kind of document is called 'Topik'; did you mean Topic?",
    "schema Deployment": "there are Topic, Acl",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all of them run in, since nothing changes in it."""
    here = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        project = Project(here / "payments").write(topic(), acl())
        assert main(["apply", "payments", "--auto-approve"]) == 0
        project.write(topic(), acl(), quota())
        main(["plan", "payments", "-o", "plan.json"])
        main(["snapshot", "payments", "-o", "state.json"])
    Project(here / "other", name="other", uid="other-1").write(topic())
    (here / "full").mkdir()
    (here / "full" / "something").write_text("")
    (here / "notes.txt").write_text("nothing of interest")
    return here


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_said_in_one_sentence_and_nothing_happens(
    line: str, world: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    project = Project(world / "payments")
    before = project.records(), files_below(world)
    ran = kgitops(*shlex.split(line))
    assert ran.code == 64, ran.said
    assert MISTAKES[line] in ran.said
    assert "Traceback" not in ran.said
    if line:
        assert ran.err.startswith("kgitops: ")
        assert ran.err.count("\n") == 1
        assert "; " in ran.err or " must be " in ran.err, "what to do next"
    assert (project.records(), files_below(world)) == before


def test_there_are_fifty_of_them() -> None:
    assert len(MISTAKES) >= 100


def files_below(folder: Path) -> set[Path]:
    """Every file but those that an open store keeps beside itself."""
    return {path for path in folder.rglob("*") if not path.name.endswith(("-wal", "-shm"))}
