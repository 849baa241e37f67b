"""Each command that connects understands ``sandbox:``, and says how to start it."""

import json
from pathlib import Path

import pytest

from kgitops.cli.main import main
from kgitops.manifests.project_file import load_project
from kgitops.model.errors import FindingsError

PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: shop, uid: 6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11}
spec:
  clusters:
    real:
      url: "URL"
"""
TOPIC = """\
apiVersion: kgitops/v1
kind: Topic
metadata: {name: orders}
spec: {partitions: 1, replicationFactor: 1}
"""
COMMANDS = {
    "plan": ["plan"],
    "drift": ["drift"],
    "apply": ["apply", "--auto-approve"],
    "resume": ["apply", "--resume"],
    "snapshot": ["snapshot", "-o", "state.json"],
    "export": ["export", "-o", "out"],
    "explain": ["explain", "topic/orders", "--last-applied"],
    "registry": ["registry", "check"],
    "vc": ["vc", "list"],
    "acls": ["acls", "--list"],
    "gateway": ["gateway", "--listen", "127.0.0.1:0"],
    "reconcile": ["reconcile", "--once"],
    "audit": ["policy", "audit"],
}


@pytest.fixture
def project(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a topic, on a machine on which no sandbox runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "state"))
    (here / "manifests").mkdir()
    (here / "manifests" / "orders.yaml").write_text(TOPIC)
    return write(here, "sandbox:")


def write(folder: Path, url: str) -> Path:
    (folder / "kgitops.yaml").write_text(PROJECT.replace("URL", url))
    return folder


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_commands_say_how_to_start_a_sandbox_that_does_not_run(
    words: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words]) == 8
    said = "".join(capsys.readouterr())
    assert "the sandbox does not run; start it with kgitops sandbox start" in said


@pytest.mark.parametrize("option", [["-c"], ["--cluster"]])
def test_it_can_be_given_as_a_url(
    option: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *option, "sandbox:mine"]) == 8
    said = capsys.readouterr().err
    assert "the sandbox mine does not run; start it with kgitops sandbox start --name mine" in said


def test_kafkas_name_of_the_option_takes_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["acls", "--list", "--bootstrap-server", "sandbox:"]) == 8
    assert "the sandbox does not run" in capsys.readouterr().err


def test_validate_needs_no_sandbox(project: Path) -> None:
    assert main(["validate"]) == 0


def test_a_name_that_no_sandbox_may_have_is_a_finding(here: Path) -> None:
    file = load_project(write(here, "sandbox:../Mine"), env={})
    with pytest.raises(FindingsError) as raised:
        file.cluster("real", env={})
    (finding,) = raised.value.findings
    assert str(finding.source).endswith("kgitops.yaml:7:12")
    assert "names no sandbox: '../Mine'" in finding.problem
    assert finding.advice == "write up to 40 small letters, digits and -"


def test_a_url_with_such_a_name_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "-c", "sandbox:../Mine"]) == 64
    assert "'../Mine' can't be a sandbox's name" in capsys.readouterr().err


def test_it_is_no_cluster_to_serve(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve"]) == 64
    assert "only an embedded one can be served" in capsys.readouterr().err


def test_a_state_file_without_a_process_is_no_sandbox(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as after a reboot; the command that starts it has the options that it had."""
    home = project / "state" / "kgitops" / "sandbox"
    home.mkdir(parents=True)
    ports = {str(id_): {"SASL_PLAINTEXT": 1 + id_, "CONTROLLER": 4 + id_} for id_ in (1, 2, 3)}
    content = {"ports": ports, "users": {"admin": "x"}, "java": "/java", "libs": "/libs"}
    (home / "sandbox.json").write_text(json.dumps(content))
    assert main(["plan"]) == 8
    said = capsys.readouterr().err
    assert "start it with kgitops sandbox start --brokers 3 --sasl\n" in said
