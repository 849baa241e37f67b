"""Saves a cluster's registry as a file, and brings it back."""

from collections.abc import Callable
from pathlib import Path

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.events import Event
from kgitops.apply.journal.importing import (
    ImportPlan,
    RegistryExport,
    import_registry,
    make_export,
    read_export,
)
from kgitops.apply.lock_claims import Claim, live_claim
from kgitops.cluster.port import Cluster
from kgitops.model import clock as moments
from kgitops.model.clock import SystemClock
from kgitops.model.errors import KgitopsError, UntrustedPlanError, UsageError
from kgitops.workflow.execution import new_id
from kgitops.workflow.project.locking import lock_holder

_NEXT = "name a file that kgitops registry export wrote"


def export_registry(cluster: Cluster) -> tuple[RegistryExport, Claim | None]:
    """Export the registry, and return the claim of a process that holds the lock meanwhile.

    Raises:
        KgitopsError: there is no registry.
        SafetyError: it can't be trusted.
    """
    state = cluster.read_state(frozenset())
    entries = cluster.registry.read()
    if not entries or state.registry is None:
        raise KgitopsError(
            "this cluster has no registry, so there is nothing to export; apply a project first"
        )
    export = make_export(
        entries,
        created=moments.to_text(SystemClock().now()),
        cluster_id=state.cluster_id,
        backend=state.backend,
        topic_id=state.registry.topic_id,
    )
    return export, live_claim(entries, cluster.registry.now_ms())


def load_export(path: Path) -> RegistryExport:
    """Read the export at ``path``.

    Raises:
        UsageError: there is no such file.
        UntrustedPlanError: it is not an export, or one that can't be trusted.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path} can't be read: {reason}; {_NEXT}") from error
    except UnicodeDecodeError as error:
        raise UntrustedPlanError(f"{path} is not UTF-8; {_NEXT}") from error
    return read_export(text, str(path))


def import_export(
    cluster: Cluster,
    export: RegistryExport,
    expected: ImportPlan,
    *,
    file: str,
    may_replace: bool,
    interrupted: Callable[[], int | None],
    on_event: Callable[[Event], None] = lambda _: None,
    lock_timeout_ms: int = 0,
) -> bool:
    """Import exactly as ``expected``, under the lock; False if it was interrupted before.

    Raises:
        KgitopsError: it was refused, or was cut off.
    """
    context = ApplyContext(
        cluster=cluster,
        settings=ApplySettings(lock_timeout_ms=lock_timeout_ms),
        on_event=on_event,
        interrupted=interrupted,
    )
    return import_registry(
        context,
        export,
        expected,
        file=file,
        may_replace=may_replace,
        holder=lock_holder(),
        name=new_id(),
    )
