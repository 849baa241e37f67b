"""The gateway's login by SCRAM, against the server's side that brokers of serve have."""

import base64
import hashlib
import hmac
from collections.abc import Callable

import pytest

from kgitops.cluster.embedded.image.image import ScramCredential
from kgitops.gateway.credentials.broker_login import BrokerLogin, BrokerLoginError
from kgitops.gateway.credentials.credential import SaslUser
from kgitops.model.resources.users import ScramMechanism
from kgitops.serve.login.exchange import LoginFailedError
from kgitops.serve.login.scram import ScramExchange
from kgitops.wire import messages
from kgitops.wire.codec import read, write

PASSWORD = "alice-4711"  # noqa: S105 (a test's)
OTHER = "another-4711"
SALT, OTHER_SALT = b"salt" * 4, b"SALT" * 4
HASHES = {ScramMechanism.SHA_256: "sha256", ScramMechanism.SHA_512: "sha512"}
FAILED = 58
_VERSION = 1
_REQUEST_HEADER = 10 + len("kgitops-gateway")


def credential(
    mechanism: ScramMechanism, salt: bytes = SALT, iterations: int = 4096, password: str = PASSWORD
) -> ScramCredential:
    """What a broker keeps of a password (RFC 5802)."""
    name = HASHES[mechanism]
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, iterations)
    stored = hashlib.new(name, hmac.digest(salted, b"Client Key", name)).digest()
    text = [base64.b64encode(each).decode() for each in (salt, stored)]
    server = base64.b64encode(hmac.digest(salted, b"Server Key", name)).decode()
    return ScramCredential(
        salt=text[0], stored_key=text[1], server_key=server, iterations=iterations
    )


def user_of(mechanism: ScramMechanism) -> SaslUser:
    return SaslUser(mechanism=mechanism.value, name="alice", password=PASSWORD)


def log_in(user: SaslUser, known: ScramCredential) -> None:
    """A whole login at a broker that knows the user by this.

    Raises:
        BrokerLoginError: one of the two does not believe the other.
    """
    exchange = ScramExchange(ScramMechanism(user.mechanism), {"alice": known}.get, salt_secret=b"x")
    login = BrokerLogin(user)
    frame = login.first()
    more = login.next(frame[4:8] + bytes(write(messages.SaslHandshakeResponse(), _VERSION)))
    while more is not None:
        request = read(messages.SaslAuthenticateRequest, _VERSION, more, _REQUEST_HEADER)
        try:
            token = exchange.step(bytes(request.auth_bytes)).answer
            answer = messages.SaslAuthenticateResponse(auth_bytes=token)
        except LoginFailedError as error:
            answer = messages.SaslAuthenticateResponse(error_code=FAILED, error_message=str(error))
        more = login.next(more[4:8] + bytes(write(answer, _VERSION)))


@pytest.fixture
def derivations(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, int]]:
    """The salt and iterations of each derivation of the gateway's."""
    made: list[tuple[bytes, int]] = []
    derive: Callable[..., bytes] = hashlib.pbkdf2_hmac

    def counted(name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        made.append((salt, iterations))
        return derive(name, password, salt, iterations)

    monkeypatch.setattr("kgitops.gateway.credentials.broker_login.hashlib.pbkdf2_hmac", counted)
    return made


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_password_that_is_set_again_is_derived_again(
    mechanism: ScramMechanism, derivations: list[tuple[bytes, int]]
) -> None:
    """With another salt, or the same one and other iterations; any login between costs nothing."""
    steps = [(SALT, 4096), (SALT, 8192), (OTHER_SALT, 8192), (SALT, 8192)]
    known = [credential(mechanism, *step) for step in steps]
    derivations.clear()
    user = user_of(mechanism)
    for step, each in zip(steps, known, strict=True):
        for _ in range(3):
            log_in(user, each)
        assert list(user.salted) == [step], "what no broker asks for is forgotten"
    assert derivations == steps


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_password_that_the_broker_does_not_know(mechanism: ScramMechanism) -> None:
    with pytest.raises(BrokerLoginError, match="the broker refuses it: Authentication failed"):
        log_in(user_of(mechanism), credential(mechanism, password=OTHER))


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_broker_that_does_not_know_the_password_is_none(mechanism: ScramMechanism) -> None:
    """It lets everybody in, and signs with a key of its own."""
    known = credential(mechanism)
    forged = credential(mechanism, password=OTHER).server_key
    stranger = ScramCredential(
        salt=known.salt, stored_key=known.stored_key, server_key=forged, iterations=4096
    )
    with pytest.raises(BrokerLoginError, match="the broker's part of SCRAM is wrong"):
        log_in(user_of(mechanism), stranger)
