"""examples/fleet as a user runs it: nights, with things changed by hand in between."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from fleet.nightly_nights import EXAMPLE
from fleet.spark_archive import DRIVER, java_options

from kgitops.cli.main import main
from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigResource
from kgitops.cluster.embedded.controls.quotas import QuotaAlteration
from kgitops.fleet.output.runs import read_history

MONDAY, TUESDAY = "2026-11-16", "2026-11-17"
PATIENCE_S = 600
ORDERS = ConfigResource(type="topic", name="orders")


class Fleet:
    """A copy of the example, its clusters applied."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".kgitops", "nights"))
        self.folder = folder
        self.nights = folder / "nights"
        for region in ("ap", "eu", "us"):
            for stage in ("prod", "staging"):
                self.apply(f"{region}-{stage}")

    def apply(self, cluster: str) -> None:
        assert main(["apply", str(self.folder), "--cluster", cluster, "--auto-approve"]) == 0

    def store(self, cluster: str) -> Path:
        return self.folder / ".kgitops" / f"{cluster}.db"

    def retention(self, cluster: str, who: str, value: int) -> None:
        """What somebody does with a tool of Kafka's."""
        change = [(ORDERS, [AlterConfig(key="retention.ms", value=str(value))])]
        with closing(self._connect(cluster)) as found:
            admin = EmbeddedAdmin(found.controller, principal=f"User:{who}")
            (result,) = admin.incremental_alter_configs(change).values()
            assert result.ok, result

    def quota(self, cluster: str, who: str, value: float) -> None:
        operations = [("consumer_byte_rate", value)]
        change = QuotaAlteration(entity=(("user", "billing"),), operations=operations)
        with closing(self._connect(cluster)) as found:
            admin = EmbeddedAdmin(found.controller, principal=f"User:{who}")
            (result,) = admin.alter_client_quotas([change]).values()
            assert result.ok, result

    def _connect(self, cluster: str) -> EmbeddedCluster:
        brokers = 3 if cluster.endswith("prod") else 1
        found = connect(f"embedded:{self.store(cluster)}", brokers=brokers, base=self.folder)
        assert isinstance(found, EmbeddedCluster)
        return found

    def night(self, night: str, *more: str) -> subprocess.CompletedProcess[str]:
        spark = ("--master=local[2]", f"--conf={DRIVER}={java_options()}")
        return subprocess.run(
            [sys.executable, "nightly.py", f"--night={night}", *spark, *more],
            cwd=self.folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def page(self, night: str) -> str:
        return (self.nights / "drift" / f"{night}.md").read_text()

    def files(self, folder: str = "") -> dict[str, bytes]:
        """What is left below a folder of the nights, without locks and other hidden files."""
        found = [path for path in (self.nights / folder).rglob("*") if path.is_file()]
        shown = [path for path in found if not path.name.startswith(".")]
        return {str(path.relative_to(self.nights)): path.read_bytes() for path in shown}


@pytest.mark.spark
def test_nights_raise_what_others_changed(tmp_path: Path) -> None:
    """New drift; then a cluster that can't be read; the same night again when it can; no plan."""
    fleet = Fleet(tmp_path / "fleet")
    fleet.retention("us-prod", "alice", 1000)
    fleet.retention("eu-prod", "carol", 2000)
    ran = fleet.night(MONDAY, "--on-drift=sh -c 'cat > raised.md'")
    assert ran.returncode == 2, ran.stderr
    page = fleet.page(MONDAY)
    assert "2 new, 0 changed again, 0 still open, 0 mended." in page
    (alice,) = [line for line in page.splitlines() if "us-prod" in line]
    assert "`configs.retention.ms` | `604800000` | `1000` | `2026-11-16` | `User:alice at " in alice
    assert "`User:carol at " in page
    assert (fleet.folder / "raised.md").read_text() == page
    assert page in ran.stdout
    assert "</html>" in (fleet.nights / "report.html").read_text()
    monday = fleet.files(f"history/night={MONDAY}")
    assert monday

    fleet.apply("us-prod")
    fleet.quota("ap-staging", "bob", 1.0)
    store = fleet.store("eu-prod").read_bytes()
    fleet.store("eu-prod").write_bytes(b"no store of a cluster" * 100)
    ran = fleet.night(TUESDAY)
    assert ran.returncode == 8, ran.stderr
    page = fleet.page(TUESDAY)
    assert "1 new, 0 changed again, 0 still open, 1 mended." in page
    assert "## Nothing is known about these tonight" in page
    (unknown,) = [line for line in page.splitlines() if "eu-prod" in line]
    assert unknown.endswith("| `2026-11-16` |")
    assert "`User:bob at " in page
    run = read_history(fleet.nights / "runs").latest
    (unread,) = [unit for unit in run.units if unit.cluster == "eu-prod"]
    assert (unread.planned, unread.changes, int(unread.exit)) == (False, {}, 8)
    assert "delete" not in run.total("actions")
    assert fleet.files(f"history/night={MONDAY}") == monday

    fleet.store("eu-prod").write_bytes(store)
    ran = fleet.night(TUESDAY)
    assert ran.returncode == 2, ran.stderr
    page = fleet.page(TUESDAY)
    assert "1 new, 0 changed again, 1 still open, 1 mended." in page
    assert "eu-prod" not in page
    assert fleet.files(f"history/night={MONDAY}") == monday
    assert len(read_history(fleet.nights / "runs").runs) == 2

    before = fleet.files()
    (fleet.folder / "kgitops.yaml").write_text("spec: {manifests: [")
    ran = fleet.night("2026-11-18", "--keep=1")
    assert ran.returncode == 1
    assert ran.stderr.endswith(
        "there is no plan of 2026-11-18; the nights before are as they were\n"
    )
    assert "Traceback" not in ran.stderr
    assert fleet.files() == before


@pytest.mark.spark
def test_a_night_says_what_it_takes() -> None:
    """``--help`` starts no Spark."""
    ran = subprocess.run(
        [sys.executable, EXAMPLE / "nightly.py", "--help"],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert "--on-drift COMMAND" in ran.stdout
    assert ran.stderr == ""
