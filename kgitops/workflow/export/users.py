"""Users who log in by SCRAM as documents, whose passwords nobody knows."""

from collections.abc import Mapping

from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredCredential, credentials_of
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import user_address
from kgitops.model.resources.users import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    UNKNOWN_PASSWORD,
    PasswordSource,
    ScramIterations,
    ScramMechanism,
)
from kgitops.workflow.export.files import Inline, Item
from kgitops.workflow.export.scope import ExportNotes, ExportScope, as_document, written_policy

Credentials = Mapping[ScramMechanism, DesiredCredential]


def export_users(state: ClusterState, scope: ExportScope, notes: ExportNotes) -> list[Item]:
    """Every user that the project may declare; what it applied itself is written as it was."""
    items: list[Item] = []
    for name, held in sorted((state.users or {}).items()):
        address = user_address(name)
        if not scope.may_declare(address):
            continue
        last = scope.last_applied(address)
        credentials = _credentials(address, held, credentials_of(last.get("scram", {})), notes)
        if credentials:
            spec = {"scram": credentials, **written_policy(last)}
            at = last.get("virtualCluster")
            items.append(Item(name, [as_document("User", name, spec, at)]))
        elif held:
            notes.lost.add(address)
    return items


def _credentials(
    address: str, held: ScramIterations, last: Credentials, notes: ExportNotes
) -> list[Json]:
    credentials: list[Json] = []
    for mechanism in ScramMechanism:
        if mechanism not in held:
            continue
        iterations = held[mechanism]
        applied = last.get(mechanism)
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            problem = f"{mechanism} has {iterations} iterations, which can't be declared"
            if applied is None:
                notes.add(address, f"{problem}; it is left out and stays as it is")
                continue
            # Without a declaration, it would be taken away.
            iterations = applied.iterations
            notes.add(address, f"{problem}; the {iterations} last applied are written instead")
        password = UNKNOWN_PASSWORD if applied is None else applied.password
        version = None if applied is None else applied.version
        credentials.append(
            {
                "mechanism": mechanism.value,
                "iterations": iterations,
                "password": Inline(_password(password)),
                **({"version": version} if version is not None else {}),
            }
        )
    return credentials


def _password(source: PasswordSource) -> dict[str, Json]:
    """The place of a password as ``desired.users`` reads it back."""
    if source.env is not None:
        return {"env": source.env}
    if source.file is not None:
        return {"file": source.file}
    if source.command is not None:
        return {"command": list(source.command)}
    made = source.generate
    if made is None:
        return {"unknown": True}
    to = {"file": made.file} if made.command is None else {"command": list(made.command)}
    return {"generate": Inline({"length": made.length, "to": Inline(to)})}
