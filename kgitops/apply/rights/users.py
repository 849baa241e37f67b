"""Checking that requests about a user do exactly what its declaration says, and set no more."""

from collections.abc import Iterator, Mapping, Sequence

from kgitops.kinds.credentials import changed_fields, credentials_after
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredUser, credentials_of
from kgitops.model.registry import Json
from kgitops.model.resources.users import FoundUser, ScramMechanism


def user_problems(
    declared: DesiredUser,
    requests: Sequence[req.Request],
    state: ClusterState,
    applied: Mapping[str, Json],
) -> Iterator[str]:
    """Yield what is wrong with the requests of a user that stays, or is created."""
    user = state.find(FoundUser, declared.address)
    held = user.held if user else {}
    last = credentials_of(applied.get("scram", {}))
    due = {
        mechanism
        for mechanism, credential in declared.credentials.items()
        if changed_fields(mechanism, credential, held, last)
    }
    gone = {key for key in last if key in held and key not in declared.credentials}
    asked: set[ScramMechanism] = set()
    for request in requests:
        if not isinstance(request, req.AlterUserScramCredentialsRequest):
            yield "has a request for something else"
            return
        if request.mechanism in asked:
            yield f"sets {request.mechanism} twice"
        asked.add(request.mechanism)
        if request.virtual_cluster != declared.virtual_cluster:
            yield "is in another virtual cluster than its declaration"
        if request.removes:
            if request.mechanism not in gone or request.password is not None:
                yield f"removes {request.mechanism}, which nobody took out of its declaration"
            continue
        wanted = declared.credentials.get(request.mechanism)
        if wanted is None or (wanted.iterations, wanted.password) != (
            request.iterations,
            request.password,
        ):
            yield f"sets {request.mechanism}, which is not declared so"
        elif request.mechanism not in due or not wanted.password.known:
            yield f"sets the password of {request.mechanism}, which is not to be set again"
    after = credentials_after(held, {key: declared.credentials[key] for key in due}, tuple(gone))
    if asked != due | gone or any(
        after.get(key) != declared.credentials[key].iterations for key in declared.credentials
    ):
        yield "has requests that do not result in its declaration"
