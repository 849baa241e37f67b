"""The kgitops command on a cluster that holds up every change until it is told to go on.

Usage: paused_apply.py GATE WORD... Beside GATE there is then GATE.reached as soon as a change
request has done its work and its answer is held back; it is given once there is GATE.open.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from apply.faults import FaultyCluster
from patience import eventually

from kgitops.cli.main import run
from kgitops.cluster.connect import connect
from kgitops.cluster.port import Cluster
from kgitops.model.requests import Request
from kgitops.model.results import RequestResult


class PausedCluster(FaultyCluster):
    """A fake for faults only: the cluster behind it is real."""

    gate = Path()

    def execute(
        self,
        requests: Sequence[Request],
        *,
        validate_only: bool,
        principal: str,
        until_ms: int | None = None,
    ) -> Sequence[RequestResult]:
        answers = super().execute(
            requests, validate_only=validate_only, principal=principal, until_ms=until_ms
        )
        if not validate_only:
            self.gate.with_suffix(".reached").touch()
            opened = self.gate.with_suffix(".open")
            eventually(opened.exists, what=f"the test makes {opened}")
        return answers


def paused(url: str, **options: Any) -> Cluster:  # noqa: ANN401 (of connect)
    return PausedCluster(connect(url, **options))


if __name__ == "__main__":
    PausedCluster.gate = Path(sys.argv.pop(1))
    with patch("kgitops.workflow.project.clusters.connect", paused):
        run()
