"""Messages for failed connections that name the config to set."""

import socket
import ssl
from enum import Enum, auto

from kafka.errors import (
    IllegalSaslStateError,
    IncompatibleBrokerVersion,
    InvalidReceiveError,
    KafkaConnectionError,
    KafkaError,
    KafkaProtocolError,
    KafkaTimeoutError,
    RequestTimedOutError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    UnsupportedVersionError,
)

from kgitops.cluster.kafka.configs.client_configs import WireOptions
from kgitops.cluster.kafka.configs.tokens.cache import TokenError
from kgitops.cluster.kafka.transport.odd_answers import OddAnswerError
from kgitops.cluster.kafka.transport.tls_errors import (
    Server,
    client_certificate_problem,
    tls_problem,
    with_tls,
)


class Stage(Enum):
    """The steps of opening a connection."""

    NAME = auto()
    CONNECT = auto()
    TLS = auto()
    HELLO = auto()
    """ApiVersions and SASL."""
    FIRST_REQUEST = auto()


class ConnectionFailedError(Exception):
    """A connection could not be opened, or broke before it could be used."""

    def __init__(self, server: Server, stage: Stage, error: BaseException) -> None:
        super().__init__(server, stage, error)
        self.server = server
        self.stage = stage
        self.error = _root(error)

    @property
    def is_final(self) -> bool:
        """True if the server was reached and another try would fail in the same way."""
        refusals = (
            ssl.SSLError,
            SaslAuthenticationFailedError,
            UnsupportedSaslMechanismError,
            IllegalSaslStateError,
            IncompatibleBrokerVersion,
            InvalidReceiveError,
            OddAnswerError,
            TokenError,
        )
        return isinstance(self.error, refusals)

    def sentence(
        self, options: WireOptions, *, broker: int | None = None, contact: Server | None = None
    ) -> str:
        """Return an error message with the server, the problem and advice.

        ``broker`` is its id where the address came from the cluster and not from the user, and
        ``contact`` the server that answers for the cluster.
        """
        problem, advice = _problem_and_advice(self, options)
        if broker is None:
            return f"{problem}; {advice}"
        if contact is not None and contact != self.server:
            place = f"{contact} answers, but broker {broker} advertises {self.server}"
            about_it = problem.removeprefix(f"{self.server} ")
            problem = f"{place}, which {about_it}" if about_it != problem else f"{place}: {problem}"
        else:
            problem = f"broker {broker}: {problem}"
        if self.stage is Stage.NAME:
            advice = (
                f"let advertised.listeners of broker {broker} name a host that has an address on "
                f"this machine, or give {self.server.host} one here"
            )
        elif self.stage is Stage.CONNECT:
            advice = (
                f"check that broker {broker} runs, and that the address in its "
                "advertised.listeners can be reached from this machine"
            )
        return f"{problem}; {advice}"


def odd_answer(server: object, api: str, error: OddAnswerError) -> tuple[str, str]:
    """Return the problem of an answer that no broker of Kafka gives, and advice."""
    return (
        f"{server} gives an answer to {api} that no broker of Kafka gives: {error}",
        "see that the address leads to brokers of Kafka, and that nothing between changes answers",
    )


def _root(error: BaseException) -> BaseException:
    """Return the error that kafka-python wrapped."""
    while isinstance(error, KafkaConnectionError) and error.args:
        inner = error.args[0]
        if not isinstance(inner, BaseException):
            break
        error = inner
    return error


def _problem_and_advice(failure: ConnectionFailedError, options: WireOptions) -> tuple[str, str]:
    server, error = failure.server, failure.error
    match failure.stage:
        case Stage.NAME:
            return (
                f"the host {server.host} of {server} has no address: {_cause_text(error)}",
                "correct the host in the cluster's url",
            )
        case Stage.CONNECT:
            if isinstance(error, TimeoutError):
                return (
                    f"{server} does not answer",
                    "check the host and port, and that no firewall stands between",
                )
            return (
                f"{server} can't be reached: {_cause_text(error)}",
                "check the host and port, and that the broker runs",
            )
        case Stage.TLS:
            return tls_problem(server, error, options)
        case Stage.HELLO | Stage.FIRST_REQUEST:
            return _about_hello(failure, options)


def _about_hello(failure: ConnectionFailedError, options: WireOptions) -> tuple[str, str]:
    server, error = failure.server, failure.error
    mechanism = options.get("sasl_mechanism", "")
    match error:
        case TokenError():
            problem, _, advice = str(error).rpartition("; ")
            return problem, advice
        case SaslAuthenticationFailedError() if tokens := options.get("sasl_oauth_token_provider"):
            return f"{server} refuses {tokens.name}", tokens.advice
        case SaslAuthenticationFailedError():
            return (
                f"{server} refuses the user name or password ({mechanism})",
                "check sasl.username, sasl.password and sasl.mechanism",
            )
        case UnsupportedSaslMechanismError():
            return (
                f"{server} does not offer {mechanism}",
                "set sasl.mechanism to one that its listener has enabled",
            )
        case IllegalSaslStateError():
            bare = options.get("security_protocol", "").removeprefix("SASL_").lower()
            bare = "plaintext" if bare == "plaintext" else "ssl"
            return f"{server} takes no credentials", f"set security.protocol={bare}"
        case OddAnswerError():
            return odd_answer(server, "Metadata", error)
        case InvalidReceiveError():
            return _about_garbage(server, error, options)
        case ssl.SSLError() if "ALERT" in (error.reason or ""):
            return client_certificate_problem(server, options)
        case TimeoutError() | KafkaTimeoutError() | RequestTimedOutError():
            return (
                f"{server} accepts connections but does not answer",
                "check that it is the port of a Kafka broker, and that the broker is well",
            )
        case IncompatibleBrokerVersion():
            return (
                f"{server} is a KRaft controller, not a broker",
                "use the port of a broker's listener",
            )
        case UnsupportedVersionError():
            return f"{server} is older than Kafka 3.7", "upgrade the cluster's brokers"
        case OSError() | KafkaConnectionError():
            return _about_hanging_up(failure, options)
        case KafkaError() if not isinstance(error, KafkaProtocolError):
            return (
                f"can't communicate with {server}: {_cause_text(error)}",
                "check that it is the port of a Kafka broker",
            )
        case _:  # kafka-python's own failure, at an answer that it did not expect
            return f"{server} does not speak Kafka's protocol", "check the port"


def _about_garbage(
    server: Server, error: InvalidReceiveError, options: WireOptions
) -> tuple[str, str]:
    """Tell the protocol of the server from four bytes that are not a length."""
    digits = str(error).rpartition(" ")[2]
    first = int(digits) & 0xFFFFFFFF if digits.lstrip("-").isdecimal() else 0
    spelt = first.to_bytes(4, "big")
    if spelt == b"HTTP":
        return f"{server} is an HTTP server, not a Kafka broker", "check the port"
    if spelt[:1] == b"\x15":  # a TLS alert (RFC 8446 §5.1)
        return f"{server} speaks TLS", f"set {with_tls(options)}"
    return f"{server} does not speak Kafka's protocol", "check the port"


def _about_hanging_up(failure: ConnectionFailedError, options: WireOptions) -> tuple[str, str]:
    protocol = options.get("security_protocol", "PLAINTEXT")
    if failure.stage is Stage.FIRST_REQUEST and not protocol.startswith("SASL"):
        return (
            f"{failure.server} closed the connection at the first request and probably wants "
            "credentials",
            f"set security.protocol=sasl_{protocol.lower()}, sasl.mechanism, sasl.username and "
            "sasl.password",
        )
    if protocol.endswith("SSL") and not options.get("has_certificate"):
        return client_certificate_problem(failure.server, options)
    if protocol.endswith("PLAINTEXT"):
        return (
            f"{failure.server} hangs up, as a broker does that expects TLS",
            f"set {with_tls(options)}, or use the port of a {protocol} listener",
        )
    return f"{failure.server} hangs up", "check that it is the port of a Kafka broker"


def _cause_text(error: BaseException) -> str:
    if isinstance(error, socket.gaierror):
        return (error.strerror or str(error)).lower()
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    if isinstance(error, KafkaError):
        return str(error)
    return str(error) or type(error).__name__
