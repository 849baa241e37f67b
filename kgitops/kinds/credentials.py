"""The credentials of a user, compared; and the login of kgitops itself, which nothing changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kgitops.model.cluster_state import Client
from kgitops.model.json.declared import DesiredCredential, credentials_of
from kgitops.model.requests import AlterUserScramCredentialsRequest
from kgitops.model.resources.users import ScramIterations, ScramMechanism, user_principal
from kgitops.model.resources.virtual_clusters import user_name
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change, FieldChange
from kgitops.plan.document.risks import Risk

Credentials = Mapping[ScramMechanism, DesiredCredential]


def changed_fields(
    mechanism: ScramMechanism,
    credential: DesiredCredential,
    held: ScramIterations,
    last: Credentials,
) -> list[FieldChange]:
    """Return the fields because of which the password must be set, none if it stays as it is."""
    before, after = held.get(mechanism), credential.iterations
    source = _password_text(credential)
    if before is None:
        risk = risks.MECHANISM_ADD if held else risks.USER_CREATE
        added = iterations_field(mechanism, held, after, risk)
        return [added, _password(mechanism, None, source, risk)]
    was = last.get(mechanism)
    renewed = is_renewed(credential, was)
    fields = []
    if before != after:
        risk = risks.ITERATIONS_RAISE if after > before else risks.ITERATIONS_LOWER
        fields.append(iterations_field(mechanism, held, after, risk))
    if renewed and was is not None:
        fields.append(_password(mechanism, _password_text(was), source, risks.PASSWORD_RENEW))
    elif fields:
        fields.append(_password(mechanism, _AS_IT_IS, source, fields[0].risk))
    return fields


def is_renewed(credential: DesiredCredential, was: DesiredCredential | None) -> bool:
    """Return whether the password is to be set again, as the document's version says."""
    return was is not None and credential.version not in (None, was.version)


_AS_IT_IS = "as it is"


def last_credentials(last_applied: Mapping[str, object]) -> Credentials:
    """Read the credentials of a record in the registry; nothing without a record."""
    view = last_applied.get("scram", {})
    return credentials_of(view) if isinstance(view, dict) else {}


def credentials_after(
    held: ScramIterations, declared: Credentials, removed: Sequence[ScramMechanism]
) -> dict[ScramMechanism, int]:
    """Return the mechanisms of the user once the plan is applied."""
    merged = {**held, **{key: declared[key].iterations for key in declared}}
    return {key: merged[key] for key in ScramMechanism if key in merged and key not in removed}


def iterations_path(mechanism: ScramMechanism) -> str:
    """``scram.SCRAM-SHA-512.iterations``."""
    return f"scram.{mechanism}.iterations"


def iterations_field(
    mechanism: ScramMechanism, held: ScramIterations, after: int | None, risk: Risk
) -> FieldChange:
    """Return the change of a mechanism's iterations, None where it comes or goes."""
    return FieldChange(
        path=iterations_path(mechanism),
        before=_text(held.get(mechanism)),
        after=_text(after),
        risk=risk,
    )


def _password(
    mechanism: ScramMechanism, before: str | None, after: str, risk: Risk | None
) -> FieldChange:
    return FieldChange(path=f"scram.{mechanism}.password", before=before, after=after, risk=risk)


def _password_text(credential: DesiredCredential) -> str:
    version = "" if credential.version is None else f" (version {credential.version})"
    return f"{credential.password}{version}"


def _text(iterations: int | None) -> str | None:
    return None if iterations is None else str(iterations)


def lockouts(changes: Iterable[Change], client: Client | None, principal: str) -> Iterator[str]:
    """Yield a sentence for each change of the user that kgitops itself logs in with."""
    logs_in = {client.user if client else None, user_name(principal)}
    for change in changes:
        for planned in change.requests:
            request = planned.request
            if isinstance(request, AlterUserScramCredentialsRequest) and request.user in logs_in:
                yield (
                    f"{change.address}: kgitops itself logs in as {user_principal(request.user)}, "
                    "so it refuses to change or remove its credentials; let another principal "
                    "apply that, or declare it in a project of its own"
                )
                break
