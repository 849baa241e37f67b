"""DescribeUserScramCredentials: the mechanisms of users with their iterations, and no more."""

from collections.abc import Mapping

from kafka.protocol.admin import DescribeUserScramCredentialsRequest

from kgitops.cluster.kafka.answers import is_transient, readable, unreadable_error
from kgitops.cluster.kafka.protocol_values import SCRAM_MECHANISMS
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.users import ScramIterations
from kgitops.model.results import ErrorCode

_WHAT, _RIGHT = "the users who log in by SCRAM", "Describe on the cluster"


def read_users(wire: Wire, users: frozenset[str] | None) -> Mapping[str, ScramIterations]:
    """Read the mechanisms of these users, or of all; one that has none is left out.

    Raises:
        UnreachableError: the principal may not read them, or the brokers could not say.
    """
    if users is not None and not users:
        return {}
    name = DescribeUserScramCredentialsRequest.UserName
    request = DescribeUserScramCredentialsRequest(
        users=None if users is None else [name(name=user) for user in sorted(users)]
    )
    response = readable(wire, request, wire.send(request), what=_WHAT, right=_RIGHT)
    held: dict[str, ScramIterations] = {}
    for row in response.results:
        if row.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        if row.error_code:
            raise _unreadable(row.error_code, row.error_message)
        known = {
            SCRAM_MECHANISMS[info.mechanism]: info.iterations
            for info in row.credential_infos
            if info.mechanism in SCRAM_MECHANISMS
        }
        if known:
            held[row.user] = {key: known[key] for key in sorted(known)}
    return {user: held[user] for user in sorted(held)}


def _unreadable(code: int, message: str | None) -> UnreachableError:
    return unreadable_error(code, _WHAT, _RIGHT, None if is_transient(code) else message)
