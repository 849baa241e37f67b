"""Logging in once as another user, by the handshake alone: nothing is asked for afterwards."""

from kafka.errors import SaslAuthenticationFailedError, UnsupportedSaslMechanismError

from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.kafka.transport.wire_errors import ConnectionFailedError
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.users import ScramMechanism


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
