"""``examples/reconcile``: what others' tools say of it, and that it is about this kgitops."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kgitops.reconcile.metrics.catalogue import METRICS
from kgitops.serve.http.metric import MetricType

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "reconcile"
MANIFESTS = sorted((EXAMPLE / "kubernetes").glob("*.yaml"))
SERVICE = EXAMPLE / "systemd" / "kgitops-reconcile.service"
ALERTS = yaml.safe_load((EXAMPLE / "prometheus" / "alerts.yaml").read_text())
DASHBOARD = json.loads((EXAMPLE / "grafana-dashboard.json").read_text())
NAME = re.compile(r"\b(?:kgitops|process)_[a-z_]+\b")
PROCESS = {"process_resident_memory_bytes"}
"""Metrics of the process that the Prometheus client exports beside kgitops's own."""


def exported() -> set[str]:
    """The names of all series."""
    names = {metric.name for metric in METRICS}
    for metric in METRICS:
        if metric.type is MetricType.HISTOGRAM:
            names |= {f"{metric.name}_{end}" for end in ("bucket", "sum", "count")}
    return names | PROCESS


def documents() -> list[dict[str, Any]]:
    return [one for file in MANIFESTS for one in yaml.safe_load_all(file.read_text())]


def pods() -> Iterator[dict[str, Any]]:
    for document in documents():
        if document["kind"] == "Deployment":
            yield document["spec"]["template"]["spec"]
        if document["kind"] == "CronJob":
            yield document["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def expressions() -> list[str]:
    alerts = [rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]]
    targets = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return alerts + [expr.replace("$__rate_interval", "5m") for expr in targets]


@pytest.mark.lint
def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    # The package has no program for every machine; elsewhere it has to be on the path.
    hadolint = shutil.which("hadolint") or Path(sys.executable).with_name("hadolint")
    done = subprocess.run(
        [hadolint, "--no-color", EXAMPLE / "Dockerfile"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.lint
def test_kubernetes_takes_the_manifests() -> None:
    import kubernetes_validate

    for document in documents():
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.lint
@pytest.mark.parametrize("expression", expressions())
def test_prometheus_reads_each_expression(expression: str) -> None:
    import promql_parser

    assert promql_parser.parse(expression)


def test_the_image_is_built_from_what_the_build_is_let_see() -> None:
    """What .dockerignore lets in and the first stage copies is all that a wheel needs."""
    text = (EXAMPLE / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    sources = {word for line in copied for word in line.split()}
    let_in = (EXAMPLE / "Dockerfile.dockerignore").read_text().splitlines()
    assert {f"!{source}" for source in sources} == {line for line in let_in if line.startswith("!")}
    project = (ROOT / "pyproject.toml").read_text()
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "kgitops"} == sources
    assert 'license-files = ["LICENSE"]' in project
    assert (ROOT / "kgitops/workflow/pinned/requirements.txt").is_file()


@pytest.mark.slow
def test_the_first_stage_builds_a_kgitops_that_runs(tmp_path: Path) -> None:
    """Its own words, in a folder that holds what it copies; there may be no builder here."""
    text = (EXAMPLE / "Dockerfile").read_text()
    stage = text.split("\nFROM ")[1].replace("\\\n", " ").replace("/opt/kgitops", f"{tmp_path}/opt")
    source = tmp_path / "src"
    source.mkdir()
    leave = shutil.ignore_patterns("__pycache__")
    for words in re.findall(r"^COPY (.+)$", stage, re.MULTILINE):
        for name in words.split()[:-1]:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / name, ignore=leave)
            else:
                shutil.copy(ROOT / name, source / name)
    (command,) = re.findall(r"^RUN (.+)$", stage, re.MULTILINE)
    python = Path(sys._base_executable).parent
    environ = {"PATH": f"{python}:/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    environ |= {name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "SSL_"))}
    subprocess.run(["sh", "-ec", command], cwd=source, env=environ, check=True, timeout=540)
    shutil.rmtree(source)
    project = shutil.copytree(ROOT / "examples" / "quickstart", tmp_path / "quickstart")
    done = subprocess.run(
        [tmp_path / "opt/bin/kgitops", "reconcile", project, "--once"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environ,
    )
    assert "waits: 13 create" in done.stdout


def test_the_image_runs_as_nobody_and_takes_in_orphans() -> None:
    lines = (EXAMPLE / "Dockerfile").read_text().splitlines()
    assert "USER 10001:10001" in lines
    assert 'ENTRYPOINT ["tini", "--", "kgitops"]' in lines
    assert sum(line.startswith("FROM ") for line in lines) == 2


def test_pods_are_restricted() -> None:
    found = list(pods())
    assert len(found) == 2
    for pod in found:
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"]
            secrets = [entry for entry in container["env"] if "value" in entry]
            assert not secrets, "every value comes from a Secret"
            mounts = {mount["name"] for mount in container["volumeMounts"]}
            assert mounts == {volume["name"] for volume in pod["volumes"]}


def test_one_replica_at_a_time_is_probed_where_it_listens() -> None:
    (deployment,) = (one for one in documents() if one["kind"] == "Deployment")
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert "--listen=0.0.0.0:8080" in container["args"]
    assert container["ports"] == [{"name": "http", "containerPort": 8080}]
    probes = [container[f"{kind}Probe"] for kind in ("startup", "liveness", "readiness")]
    assert [probe["httpGet"]["path"] for probe in probes] == ["/healthz", "/healthz", "/readyz"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for document in documents():
        if document["kind"] == "Service":
            assert document["spec"]["selector"] == labels
        if document["kind"] == "NetworkPolicy":
            assert document["spec"]["podSelector"] == {"matchLabels": labels}


def commands() -> list[list[str]]:
    """Every command line of kgitops in the example."""
    found = [container["args"] for pod in pods() for container in pod["containers"]]
    text = SERVICE.read_text().replace("\\\n", " ")
    (start,) = re.findall(r"^ExecStart=(.+)$", text, re.MULTILINE)
    return [*found, shlex.split(start)[1:]]


@pytest.mark.parametrize("words", commands())
def test_every_option_is_one_of_the_command(words: list[str]) -> None:
    import typer.main

    from kgitops.cli.main import app

    command = typer.main.get_command(app)
    reconcile = command.get_command(None, "reconcile")
    assert words[0] == "reconcile"
    # Parsed by the command itself: an unknown option, or one without its value, raises.
    # Below kgitops: a command keeps the names of --help that its first context has.
    above = command.make_context("kgitops", list(words))
    context = reconcile.make_context("reconcile", list(words[1:]), parent=above)
    assert context.params["clusters"]


def test_the_unit_is_what_systemd_reads() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(SERVICE.read_text().replace("\\\n", " "))
    service = unit["Service"]
    assert unit["Install"]["WantedBy"] == "multi-user.target"
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["RestartPreventExitStatus"] == "64"
    assert service["EnvironmentFile"].startswith("/etc/")
    assert "PASSWORD" not in SERVICE.read_text()


@pytest.mark.lint
def test_systemd_verifies_the_unit(tmp_path: Path) -> None:
    """Where there is no systemd, as on a Mac, the test above reads the unit."""
    systemd_analyze = shutil.which("systemd-analyze")
    if systemd_analyze is None:
        return
    copy = tmp_path / SERVICE.name
    # verify looks for the program and for the pages that it names
    copy.write_text(SERVICE.read_text().replace("/opt/kgitops/bin/kgitops", sys.executable))
    done = subprocess.run(
        [systemd_analyze, "verify", "--man=no", copy], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_alerts_and_dashboard_use_what_is_exported() -> None:
    texts = expressions()
    for variable in DASHBOARD["templating"]["list"]:
        texts.append(variable.get("definition", ""))
    used = {name for text in texts for name in NAME.findall(text)}
    assert used <= exported()
    assert len(used) > 15


def test_labels_in_expressions_are_labels_of_the_metrics() -> None:
    labels = {label for metric in METRICS for label in metric.labels}
    labels |= {"instance", "job", "le"}
    for text in expressions():
        for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", text):
            assert {word.strip() for word in group.split(",")} <= labels, text


def test_alerts_cover_what_must_not_go_unseen() -> None:
    rules = {rule["alert"]: rule for group in ALERTS["groups"] for rule in group["rules"]}
    for name, metric in {
        "KgitopsLoopStalled": "kgitops_reconcile_heartbeat_age_seconds",
        "KgitopsPlanWaits": "86400",
        "KgitopsDrift": "kgitops_drifted_objects",
        "KgitopsFight": "kgitops_fought_objects",
        "KgitopsClusterChanged": "kgitops_cluster_changed",
    }.items():
        assert metric in rules[name]["expr"]
    assert all(rule["annotations"]["description"] for rule in rules.values())


def test_panels_of_the_dashboard_do_not_overlap() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        mine = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not mine & cells, panel["title"]
        assert max(x for x, _ in mine) < 24
        cells |= mine
