"""Users who log in by SCRAM as documents, whose passwords nobody knows."""

from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import user_address
from kgitops.model.resources.users import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    ScramIterations,
    ScramMechanism,
)
from kgitops.workflow.export.files import Inline, Item
from kgitops.workflow.export.scope import ExportNotes, ExportScope, as_document, written_policy

_UNKNOWN = {"unknown": True}


def export_users(state: ClusterState, scope: ExportScope, notes: ExportNotes) -> list[Item]:
    """Every user that the project may declare; what it applied itself is written as it was."""
    items: list[Item] = []
    for name, held in sorted((state.users or {}).items()):
        address = user_address(name)
        if not scope.may_declare(address):
            continue
        last = scope.last_applied(address)
        credentials = _credentials(address, held, last.get("scram", {}), notes)
        if credentials:
            spec = {"scram": credentials, **written_policy(last)}
            at = last.get("virtualCluster")
            items.append(Item(name, [as_document("User", name, spec, at)]))
    return items


def _credentials(
    address: str, held: ScramIterations, last: dict[str, Json], notes: ExportNotes
) -> list[Json]:
    credentials: list[Json] = []
    for mechanism in ScramMechanism:
        if mechanism not in held:
            continue
        iterations = held[mechanism]
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            notes.add(address, f"{mechanism} has {iterations} iterations, which can't be declared")
            continue
        applied = last.get(mechanism.value, {})
        password = Inline(applied.get("password") or _UNKNOWN)
        version = applied.get("version")
        credentials.append(
            {
                "mechanism": mechanism.value,
                "iterations": iterations,
                "password": password,
                **({"version": version} if version is not None else {}),
            }
        )
    return credentials
