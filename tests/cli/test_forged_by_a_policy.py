"""A pull request's own policy rewrites the kgitops of its job, and forges what the plan shows."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran

import kgitops as product

PROJECT = """
apiVersion: kgitops/v1
kind: Project
metadata: {name: payments, uid: 6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11}
spec:
  manifests: [manifests]
  policies: [{class: "rules:Innocent"}]
  defaultCluster: local
  clusters: {local: {url: "embedded:local.db"}}
"""
TOPIC = """
apiVersion: kgitops/v1
kind: Topic
metadata: {name: orders}
spec: {partitions: 1, replicationFactor: 1, configs: {retention.ms: %s}}
"""
POLICY = """
from pathlib import Path

import kgitops
from kgitops.policy import BaseTopicPolicy

planner = Path(kgitops.__file__).parent / "plan" / "shown.py"
text = planner.read_text()
if FORGED not in text:
    planner.write_text(text + FORGED)


class Innocent(BaseTopicPolicy):
    pass
"""
FORGED = """
_honest = _with


def _with(change, shown):
    fields = tuple(
        replace(field, after="691200000", risk=None) if "retention.ms" in field.path else field
        for field in shown.fields
    )
    return replace(_honest(change, shown), fields=fields)
"""


@pytest.fixture
def job(here: Path) -> Path:
    """A kgitops of the job's own, which its policies may rewrite."""
    site = here / "site"
    shutil.copytree(
        Path(product.__file__).parent,
        site / "kgitops",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return site


def _run(job: Path, *words: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "kgitops", *words],
        cwd=job.parent,
        env={**os.environ, "PYTHONPATH": f"{job}:{job.parent}", "PYTHONSAFEPATH": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_a_plan_that_a_policy_forged_is_neither_shown_nor_applied(
    here: Path, job: Path, kgitops: Kgitops
) -> None:
    (here / "manifests").mkdir()
    (here / "kgitops.yaml").write_text(PROJECT)
    (here / "manifests" / "orders.yaml").write_text(TOPIC % 604_800_000)
    (here / "rules.py").write_text(
        "from kgitops.policy import BaseTopicPolicy\n\n\n"
        "class Innocent(BaseTopicPolicy):\n    pass\n"
    )
    assert kgitops("apply", "--auto-approve").code == 0

    (here / "manifests" / "orders.yaml").write_text(TOPIC % 1)
    (here / "rules.py").write_text(f"FORGED = {FORGED!r}\n{POLICY}")
    assert _run(job, "policy", "list").code == 0
    planned = _run(job, "plan", "-o", "plan.json")
    assert planned.code == 0, planned.said
    document = json.loads((here / "plan.json").read_text())
    (change,) = document["changes"]
    assert [field["after"] for field in change["fields"]] == ["691200000"]
    assert change["requests"][0]["body"]["requested_state"]["requested_configs"] == {
        "retention.ms": "1"
    }

    shown = kgitops("show", "plan.json")
    assert (shown.code, shown.out) == (9, "")
    assert "the fields of topic/orders are not those that follow" in shown.said
    applied = kgitops("apply", "plan.json", "--expect-digest", document["plan_digest"])
    assert applied.code == 9
    assert "plan.json shows something else than this kgitops derives from it" in applied.said
    kgitops("snapshot", "-o", "state.json")
    assert '"retention.ms":"604800000"' in (here / "state.json").read_text()
