"""Help starts fast and shows examples that run; shells complete what they can."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import EXAMPLES, Project, topic
from report.fleet.fleets import a_run, a_unit

import kgitops as package
from kgitops.cli.main import COMMANDS, GROUPS
from kgitops.fleet.summary_json import run_to_text

FLEETS = {"pyspark", "pyarrow", "pandas"}
CLIENTS = {"confluent_kafka", "kafka", *FLEETS}
HEAVY = {"sqlite3", "yaml", "jsonschema", "rich", "cel", "jinja2", "deepdiff", *CLIENTS}
SHOWN = (
    *("create", "alter", "list", "describe", "bindings"),
    *("graph", "orphans", "export-acls", "plan-migration", "delete"),
)
FLEET_VERBS = ("plan", "audit", "summary", "snapshot", "compile")
SERVE = "serve"
"""Its example, which runs until it is ended, is in test_serve.py."""
GATEWAY = "gateway"
"""Its example needs a real Kafka: tests/gateway/examples/test_user_way.py."""
IN_ORDER = (
    "init",
    "validate",
    "plan",
    "show",
    "apply",
    "drift",
    "explain",
    "snapshot",
    "diff",
    "export",
    "convert",
    "catalogue",
    "reconcile",
    "schema",
    "acls",
)


def modules_after(*commands: Sequence[str]) -> set[str]:
    """What a process has imported by the time it has run these commands, one after the other."""
    script = """
import json, sys
from kgitops.cli.main import main
codes = [main(words) for words in json.loads(sys.argv[1])]
print(json.dumps([codes, sorted(sys.modules)]), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=True,
    )
    codes, modules = json.loads(done.stderr.splitlines()[-1])
    assert codes == [0] * len(commands), done.stdout
    return set(modules)


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_imports_nothing_heavy(word: str) -> None:
    assert modules_after([word]).isdisjoint({*HEAVY, "pydantic", "pydantic_core"})


def test_help_of_a_command_imports_nothing_of_its_work() -> None:
    """Only the parser's own check of options needs pydantic."""
    words = ("apply", "policy test", "sandbox start", "serve", "reconcile", "fleet")
    fleets = (f"fleet {verb}" for verb in FLEET_VERBS)
    imported = modules_after(*([*each.split(), "--help"] for each in (*words, *fleets)))
    work = {"junitparser", "psutil", "filelock", "asyncio", "prometheus_client"}
    assert imported.isdisjoint({*HEAVY, *work})


def test_a_fleets_summary_needs_neither_spark_nor_arrow(here: Path) -> None:
    """It is read where it was never made: in a workflow, on a laptop."""
    example = here / "fleet-plan"
    example.mkdir()
    (example / "fleet.json").write_text(run_to_text(a_run(a_unit(creates=3))), encoding="utf-8")
    words = ("fleet", "summary", str(example), "--format")
    imported = modules_after(*([*words, form] for form in ("text", "json", "markdown", "html")))
    assert imported.isdisjoint({"sqlite3", "cel", "deepdiff", *CLIENTS})


def test_the_example_of_a_fleets_summary_runs(here: Path, kgitops: Kgitops) -> None:
    shown = kgitops("fleet", "summary", "--help").out
    (example,) = [line for line in shown.splitlines() if "Example: " in line]
    words = shlex.split(example.partition("Example: ")[2])
    (here / words[-1]).mkdir()
    summary = here / words[-1] / "fleet.json"
    summary.write_text(run_to_text(a_run(a_unit())), encoding="utf-8")
    assert kgitops(*words[1:]).code == 0


def test_validating_imports_no_client_and_no_store() -> None:
    imported = modules_after(["validate", str(EXAMPLES / "quickstart")])
    assert imported.isdisjoint({"sqlite3", "rich", *CLIENTS})
    assert imported.isdisjoint({"kgitops.plan.planner", "kgitops.lowering"})
    kinds = {"kinds.virtual_cluster", "kinds.tombstone", "policies.policy"}
    assert imported.isdisjoint({f"kgitops.manifests.{kind}" for kind in kinds}), "it has none"


@pytest.mark.parametrize("command", [*COMMANDS, *GROUPS])
def test_the_list_of_commands_says_what_each_says_itself(command: str, kgitops: Kgitops) -> None:
    _, told = {**COMMANDS, **GROUPS}[command]
    own = kgitops(command, "--help").out.partition("\n\n")[2].partition("\n\n")[0]
    assert " ".join(own.split()) == told


def test_help_imports_no_command() -> None:
    places = {place.partition(":")[0] for place, _ in {**COMMANDS, **GROUPS}.values()}
    assert modules_after(["--help"]).isdisjoint({f"kgitops.cli.{place}" for place in places})


def test_every_command_is_among_those_whose_example_is_run() -> None:
    assert {*IN_ORDER, SERVE, GATEWAY} == set(COMMANDS)


def test_every_example_of_the_help_runs(here: Path, kgitops: Kgitops) -> None:
    """One after the other, as a user would try them out."""
    leave = shutil.ignore_patterns(".kgitops")
    shutil.copytree(EXAMPLES, here / "examples", ignore=leave)
    for command in IN_ORDER:
        shown = kgitops(command, "--help")
        assert shown.code == 0
        (example,) = [line for line in shown.out.splitlines() if "Example: " in line]
        words = shlex.split(example.partition("Example: ")[2])
        assert words[:2] == ["kgitops", command]
        if command == "diff":
            for name in words[2:4]:
                shutil.copy(here / "state.json", here / name)
        ran = kgitops(*words[1:])
        assert ran.code == 0, (example, ran.said)


@pytest.mark.parametrize("command", ["list", "explain", "audit", "test"])
def test_every_example_of_policy_commands_runs(command: str, here: Path, kgitops: Kgitops) -> None:
    shutil.copytree(EXAMPLES, here / "examples")
    shown = kgitops("policy", command, "--help").out
    (example,) = [line for line in shown.splitlines() if "Example: " in line]
    words = shlex.split(example.partition("Example: ")[2])
    assert words[:3] == ["kgitops", "policy", command]
    ran = kgitops(*words[1:])
    assert (ran.code, ran.err) == (0, ""), ran.said


def test_every_example_of_vc_commands_runs(here: Path, kgitops: Kgitops) -> None:
    """One after the other; the topics are made before, and the last one deletes."""
    (here / "topics.json").write_text(json.dumps(topic("emea.sales.orders")))
    assert kgitops("apply", "topics.json", "--auto-approve").code == 0
    removed = ("alter", "--virtual-cluster", "emea.sales", "--remove", "--user", "jane-doe")
    for command in [*((verb,) for verb in SHOWN[:-1]), ("quota", "explain"), ("delete",)]:
        if command == ("delete",):
            assert kgitops("vc", *removed).code == 0
        shown = kgitops("vc", *command, "--help").out
        (example,) = [line for line in shown.splitlines() if "Example: " in line]
        words = shlex.split(example.partition("Example: ")[2])
        assert words[: 2 + len(command)] == ["kgitops", "vc", *command]
        ran = kgitops(*words[1:])
        assert ran.code == 0, (example, ran.said)


POLICY = [("policy",), ("policy", "list"), ("policy", "explain"), ("policy", "test")]
VC = [("vc",), ("vc", "quota"), ("vc", "quota", "explain"), *(("vc", verb) for verb in SHOWN)]
FLEET = [("fleet",), *(("fleet", verb) for verb in FLEET_VERBS)]
SANDBOX = [("sandbox",), ("sandbox", "start"), ("sandbox", "status"), ("sandbox", "stop")]


@pytest.mark.parametrize(
    "command", [(), *((command,) for command in COMMANDS), *FLEET, *POLICY, *SANDBOX, *VC]
)
def test_help_fits_into_80_columns(command: tuple[str, ...], kgitops: Kgitops) -> None:
    assert max(map(len, kgitops(*command, "--help").out.splitlines())) <= 80


FIRST = ["create", "alter", "list", "describe", "delete"]


def test_the_list_of_vc_commands_is_in_the_order_of_their_use_and_whole(kgitops: Kgitops) -> None:
    listed = kgitops("vc", "--help").out.partition("Commands:")[2].strip().splitlines()
    assert [line.split()[0] for line in listed[:5]] == FIRST
    assert not any(line.endswith("...") for line in listed)


def test_help_can_be_asked_for_in_short(kgitops: Kgitops) -> None:
    assert kgitops("plan", "-h").out == kgitops("plan", "--help").out


def test_without_a_command_the_help_is_no_result(kgitops: Kgitops) -> None:
    ran = kgitops()
    assert (ran.code, ran.out) == (64, "")
    assert ran.err.strip() == kgitops("--help").out.strip()


def test_the_version_is_the_packages(kgitops: Kgitops) -> None:
    assert kgitops("--version").out == f"kgitops {package.__version__}\n"


def completed(line: str, folder: Path) -> list[str]:
    """What bash would offer where the line ends, by the protocol of the script it was given."""
    words = line.split(" ")
    done = subprocess.run(
        [sys.executable, "-m", "kgitops"],
        cwd=folder,
        env={
            **os.environ,
            "_KGITOPS_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kgitops pl", ["plan"]),
        ("kgitops policy ", ["list", "explain", "audit", "test"]),
        ("kgitops policy test --mu", ["--mutate"]),
        ("kgitops policy test --format ju", ["junit"]),
        ("kgitops s", ["show", "snapshot", "schema", "serve", "sandbox"]),
        ("kgitops plan --det", ["--detailed-exitcode"]),
        ("kgitops plan --format m", ["markdown"]),
        ("kgitops apply --format j", ["json"]),
        ("kgitops plan -c lo", ["local"]),
        ("kgitops drift --cluster emb", ["embedded:"]),
        ("kgitops schema ClientQ", ["ClientQuota", "ClientQuotaList"]),
    ],
)
def test_shells_complete(line: str, offered: list[str], project: Project) -> None:
    project.write(topic())
    assert completed(line, project.folder) == offered


def test_policies_complete_by_their_names(here: Path, kgitops: Kgitops) -> None:
    assert completed("kgitops policy explain re", here) == []
    kgitops("init")
    names = completed("kgitops policy explain re", here)
    assert names == ["replication-factor-range", "retention-range"]


def test_clusters_complete_also_where_there_is_no_project(here: Path) -> None:
    assert completed("kgitops plan -c ", here) == ["embedded:", "sandbox:"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_of_each_shell_asks_this_command(shell: str, here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kgitops"],
        env={**os.environ, "_KGITOPS_COMPLETE": f"source_{shell}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"_KGITOPS_COMPLETE=complete_{shell}" in done.stdout
    assert " kgitops" in done.stdout
