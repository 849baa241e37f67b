"""Reads a file that is to be compared: a snapshot or a saved plan, in JSON."""

from pathlib import Path

from kgitops.cluster.snapshot import read_snapshot
from kgitops.comparison.comparing import ComparedState
from kgitops.comparison.plans import plan_objects
from kgitops.comparison.snapshots import snapshot_objects
from kgitops.model.errors import UsageError
from kgitops.plan.document.file import read_plan
from kgitops.workflow.project.saved_plan import is_plan

_NEXT = "name a file of kgitops snapshot -o or plan -o, or the folder of kgitops fleet plan --out"


def read_file(path: Path) -> ComparedState:
    """The state in a file.

    Raises:
        UsageError: there is no such file, or it can't be read.
        UnreachableError: it is neither a plan nor a snapshot.
        SafetyError: the snapshot can't be trusted.
        UntrustedPlanError: the plan can't be trusted.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path} can't be read: {reason}; {_NEXT}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8; {_NEXT}") from error
    if is_plan(path) and '"kgitops.snapshot"' not in text:
        return plan_objects(read_plan(text, str(path)), str(path))
    return snapshot_objects(read_snapshot(text, str(path)), str(path))
