"""A policy in Python during a plan, and the memory and environment of the processes around it."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from policy.worker.judgings import a_policy

from kgitops.policy.evaluate.bundle import Bundle, Level
from kgitops.workflow.policies import open_policies

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="docs/reference/security-model.md says what holds elsewhere"
)
PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4
SECRET = "-".join(["correct", "horse", "battery"])
PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: payments}
spec:
  manifests: [user.yaml]
  policies: [{class: "peeking:Peeking"}]
  clusters: {local: {url: "embedded:local.db", brokers: 3}}
"""
USER = """\
apiVersion: kgitops/v1
kind: User
metadata: {name: sales-app}
spec: {scram: [{mechanism: SCRAM-SHA-512, password: {env: SALES_APP_PASSWORD}, version: "1"}]}
"""
PEEKING = """\
import ctypes
import json
import os
from pathlib import Path

from kgitops.policy import UserManagementPolicy


def readable(process):
    ways = {
        "environ": lambda: (process / "environ").read_bytes(),
        "maps": lambda: (process / "maps").read_bytes(),
        "mem": lambda: (process / "mem").open("rb").close(),
        "fd": lambda: (process / "fd" / "0").readlink(),
        "cwd": lambda: (process / "cwd").readlink(),
    }
    for way, read in ways.items():
        try:
            if read() != b"":
                yield way
        except OSError:
            pass
    libc = ctypes.CDLL(None)
    if libc.ptrace(0x4206, int(process.name), 0, 0) == 0:  # PTRACE_SEIZE
        libc.ptrace(17, int(process.name), 0, 0)
        yield "ptrace"


class Peeking(UserManagementPolicy):
    def validate_alter_user_scram_credentials(self, request, cluster_state):
        Path("moved").mkdir()
        Path("file").touch()
        Path("file").rename("moved/file")
        seen = {
            name: list(readable(Path("/proc") / name))
            for name in Path("around").read_text().split()
        }
        seen["self"] = list(readable(Path("/proc") / str(os.getpid())))
        Path("seen.json").write_text(json.dumps(seen))
"""


def test_a_policy_reads_no_other_process(tmp_path: Path) -> None:
    """Neither kgitops, nor the shell that started it and has the same environment."""
    (tmp_path / "kgitops.yaml").write_text(PROJECT)
    (tmp_path / "user.yaml").write_text(USER)
    (tmp_path / "peeking.py").write_text(PEEKING)
    script = '(exec sh -c \'echo $PPID $$ > around; exec "$@"\' sh "$@"); exit $?'
    ran = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-m", "kgitops", "plan"],
        cwd=tmp_path,
        env={**os.environ, "SALES_APP_PASSWORD": SECRET},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert {"environ", "maps", "mem", "fd", "cwd"} <= set(seen.pop("self"))
    assert len(seen) == 2
    assert seen == {name: [] for name in seen}


def test_without_landlock_kgitops_is_closed_to_processes_of_its_user() -> None:
    """The kernel gives the memory and environment of what is not dumpable to root only."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    policy = a_policy("good:Accepts", level=Level.OFF)
    with open_policies(Bundle(policies=(policy,), hidden_env=frozenset({"SALES_APP_PASSWORD"}))):
        assert libc.prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0
