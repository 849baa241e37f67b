"""Builders of the requests for users who log in by SCRAM."""

from collections.abc import Mapping

from kgitops.model import requests as req
from kgitops.model.resources.users import ScramMechanism
from kgitops.policy.api.requests import AlterUserScramCredentialsRequest
from kgitops.policy.building import state_of
from kgitops.policy.testing.verdicts import NOBODY, asked


def alter_user_scram_credentials(
    user: str,
    mechanism: str,
    iterations: int | None,
    *,
    before: Mapping[str, int] | None = None,
    principal: str = NOBODY,
) -> AlterUserScramCredentialsRequest:
    """A mechanism of a user that had ``before`` is set; None as iterations removes it."""
    request = req.AlterUserScramCredentialsRequest(
        user=user, mechanism=ScramMechanism(mechanism), iterations=iterations
    )
    held = {ScramMechanism(name): known for name, known in (before or {}).items()}
    state = state_of(users={user: held} if held else {})
    return asked(AlterUserScramCredentialsRequest, request, principal, state)
