"""Users who log in by SCRAM: their mechanisms with iterations, and a login that is tried."""

from collections.abc import Sequence

from kafka.errors import SaslAuthenticationFailedError, UnsupportedSaslMechanismError
from kafka.protocol.admin import DescribeUserScramCredentialsRequest

from kgitops.cluster.kafka.answers import is_transient, readable, unreadable_error
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.kafka.transport.wire_errors import ConnectionFailedError
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.protocol_codes import SCRAM_MECHANISMS
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.users import FoundUser, ScramIterations, ScramMechanism
from kgitops.model.results import ErrorCode

_WHAT = "the users who log in by SCRAM"


def read_users(wire: Wire, users: frozenset[str] | None) -> Sequence[FoundUser]:
    """Read the mechanisms of these users, or of all; one that has none is left out.

    Raises:
        UnreachableError: the principal may not read them, or the brokers could not say.
    """
    if users is not None and not users:
        return ()
    name = DescribeUserScramCredentialsRequest.UserName
    request = DescribeUserScramCredentialsRequest(
        users=None if users is None else [name(name=user) for user in sorted(users)]
    )
    response = readable(wire, request, wire.send(request), what=_WHAT)
    held: dict[str, ScramIterations] = {}
    for row in response.results:
        if row.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        if row.error_code:
            message = None if is_transient(row.error_code) else row.error_message
            api = "DescribeUserScramCredentials"
            raise unreadable_error(wire, api, _WHAT, row.error_code, message)
        known = {
            SCRAM_MECHANISMS[info.mechanism]: info.iterations
            for info in row.credential_infos
            if info.mechanism in SCRAM_MECHANISMS
        }
        if known:
            held[row.user] = {key: known[key] for key in sorted(known)}
    return [FoundUser(name=user, held=held[user]) for user in sorted(held)]


def offers_login(wire: Wire) -> bool:
    """Return whether clients log in at the listener that ``wire`` is connected to."""
    return wire.security_protocol.startswith("SASL")


def logs_in(wire: Wire, user: str, mechanism: ScramMechanism, secret: Secret) -> bool:
    """Return whether the cluster takes the password; the connection is closed at once.

    Raises:
        UnreachableError: no server answers, or none offers the mechanism.
    """
    try:
        wire.try_login(user, str(mechanism), secret.reveal().decode())
    except ConnectionFailedError as error:
        if isinstance(error.error, SaslAuthenticationFailedError):
            return False
        if isinstance(error.error, UnsupportedSaslMechanismError):
            raise UnreachableError(
                f"{error.server} does not offer {mechanism}, so the login of {user} can't be "
                "verified; enable it in sasl.enabled.mechanisms, or leave --verify-users out"
            ) from None
        raise UnreachableError(
            f"the login of {user} could not be verified: {error.server} does not answer as it "
            "should; try again"
        ) from None
    return True
