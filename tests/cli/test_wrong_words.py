"""Command lines that can't be meant: one sentence that says what to do, exit 64, nothing changed.

Each runs where ``payments`` is a project that was applied, ``plan.json`` a plan for it,
``state.json`` a snapshot, ``full`` a folder with something in it and ``notes.txt`` some text.
"""

import shlex
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, acl, quota, topic

MISTAKES = {
    # Commands and options.
    "": "Usage: kgitops",
    "paln": "no such command 'paln'; did you mean plan?",
    "aply payments": "no such command 'aply'; did you mean apply",
    "plan ''": "an argument is empty",
    "terraform": "no such command 'terraform'; see kgitops --help",
    "--verison": "no such option: --verison; did you mean --version?",
    "plan payments --taget topic/orders": "no such option: --taget; did you mean --target?",
    "plan payments --detailed-exit-code": "did you mean --detailed-exitcode?",
    "plan payments --force": "no such option: --force",
    "validate payments --auto-approve": "no such option: --auto-approve",
    "plan payments --target": "option '--target' requires an argument",
    "plan payments -o": "option '-o' requires an argument",
    "plan payments --full=yes": "option '--full' does not take a value",
    "plan payments --format yaml": "'yaml' is not one of 'text', 'json', 'markdown'",
    "plan payments --format TEXT": "'TEXT' is not one of 'text', 'json', 'markdown'",
    "apply payments --format markdown": "'markdown' is not one of 'text', 'json'",
    "apply payments --auto-approve --parallelism 0": "it must be at least 1",
    "apply payments --auto-approve --parallelism -1": "it must be at least 1",
    "apply payments --auto-approve --parallelism x": "it must be a whole number",
    "show": "missing argument 'PLAN'",
    "show plan.json plan.json": "unexpected extra argument",
    "export payments": "missing option '-o'",
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
    # Objects.
    "plan payments --target topic/ordes": "'topic/ordes'; did you mean topic/orders?",
    "plan payments --exclude topic/nothing-like-it-at-all": "kgitops plan --full shows",
    "plan payments --target topic/orders --exclude topic/orders": "drop one of the two",
    "plan payments --allow-deletes": "option '--allow-deletes' requires an argument",
    "plan payments --allow-deletes 5": "write KIND=N with one of Topic, Acl, ClientQuota",
    "plan payments --allow-deletes Topics=5": "write KIND=N with one of Topic, Acl, ClientQuota",
    "plan payments --allow-deletes Topic=many": "write KIND=N with one of Topic, Acl, ClientQuota",
    "plan payments --allow-deletes Topic=-1": "write KIND=N with one of Topic, Acl, ClientQuota",
    "plan payments --as nobody": "--as 'nobody' is no principal; write Type:name",
    "apply payments --auto-approve --as :x": "is no principal; write Type:name",
    # Plans.
    "show nowhere.json": "nowhere.json can't be read: no such file",
    "show payments": "payments can't be read: is a directory",
    "apply plna.json": "plna.json does not exist; did you mean plan.json?",
    "apply plan.json payments": "a saved plan is applied alone",
    "apply plan.json --resume": "--resume takes no PLAN",
    "apply plan.json --target topic/orders": "a saved plan is applied as it is",
    "apply plan.json --as User:x": "a saved plan is applied as it is",
    "apply plan.json --allow-deletes Topic=1": "a saved plan is applied as it is",
    "apply plan.json --expect-digest 9f2c": "--expect-digest '9f2c' is no digest",
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


@pytest.fixture
def world(here: Path, project: Project, kgitops: Kgitops) -> Project:
    project.write(topic(), acl())
    assert kgitops("apply", "payments", "--auto-approve").code == 0
    project.write(topic(), acl(), quota())
    kgitops("plan", "payments", "-o", "plan.json")
    kgitops("snapshot", "payments", "-o", "state.json")
    Project(here / "other", name="other", uid="other-1").write(topic())
    (here / "full").mkdir()
    (here / "full" / "something").write_text("")
    (here / "notes.txt").write_text("nothing of interest")
    return project


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_said_in_one_sentence_and_nothing_happens(
    line: str, world: Project, kgitops: Kgitops, here: Path
) -> None:
    before = world.records(), files_below(here)
    ran = kgitops(*shlex.split(line))
    assert ran.code == 64, ran.said
    assert MISTAKES[line] in ran.said
    assert "Traceback" not in ran.said
    if line:
        assert ran.err.startswith("kgitops: ")
        assert ran.err.count("\n") == 1
        assert "; " in ran.err or " must be " in ran.err, "what to do next"
    assert (world.records(), files_below(here)) == before


def test_there_are_fifty_of_them() -> None:
    assert len(MISTAKES) >= 50


def files_below(folder: Path) -> set[Path]:
    """Every file but those that an open store keeps beside itself."""
    return {path for path in folder.rglob("*") if not path.name.endswith(("-wal", "-shm"))}
