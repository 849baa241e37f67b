"""Applies a saved plan in a process of its own, under a short lease, to be killed while data moves.

python moving_driver.py SERVERS PLAN
"""

import sys
from pathlib import Path

from kgitops.apply.applier import apply_plan
from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.approval import approve
from kgitops.cluster.connect import connect
from kgitops.desired.state import Project
from kgitops.workflow.project.saved_plan import load_plan

SHORT = ApplySettings(timeout_ms=10_000, lease_ms=15_000)


def main(servers: str, plan: str) -> None:
    """Apply the plan; nobody is told of anything."""
    cluster = connect(f"kafka://{servers}", configs={}, base=Path())
    context = ApplyContext(
        cluster=cluster, settings=SHORT, on_event=lambda _: None, interrupted=lambda: None
    )
    approved = approve(load_plan(Path(plan)))
    desired = approved.sealed.plan.desired
    result = apply_plan(
        approved,
        context,
        holder="the one who was killed",
        run_id="killed",
        project=Project(name=desired.project, uid=desired.identity),
    )
    sys.exit(int(result.verdict.exit))


if __name__ == "__main__":
    main(*sys.argv[1:])
