"""The user that kgitops itself logs in with: a plan that touches it could shut kgitops out."""

from collections.abc import Iterable, Iterator

from kgitops.model.cluster_state import Client
from kgitops.model.requests import AlterUserScramCredentialsRequest
from kgitops.model.resources.users import user_principal
from kgitops.model.resources.virtual_clusters import user_name
from kgitops.plan.document.plan import Change


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
