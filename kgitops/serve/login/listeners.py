"""The listeners that settings ask for: with TLS, with logins, and with the rights behind them."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.options import (
    BROKER_PRINCIPAL,
    SECRET_ENDINGS,
    AuthorizerKind,
    Options,
)
from kgitops.serve.listening.answering import (
    ANONYMOUS,
    Answering,
    ClientConnection,
    CloseConnectionError,
)
from kgitops.serve.listening.open_connections import ClosingLog, OpenConnection, OpenConnections
from kgitops.serve.listening.protocol import Listener
from kgitops.serve.listening.settings import ListenerSettings, TlsSettings
from kgitops.serve.listening.tls import tls_context
from kgitops.serve.login.handshake import FailedLogins, SaslLogin
from kgitops.serve.login.mechanisms import LoginMechanisms
from kgitops.serve.login.principals import UnmappedNameError, certificate_principal
from kgitops.serve.nodes import Node, NodeKind


class ListenerMaker:
    """Makes the listeners of all nodes; those of brokers count their connections together.

    Those of controllers count on their own: clients of brokers can't keep brokers from forwarding.
    """

    def __init__(
        self,
        settings: ListenerSettings,
        answer: Answering,
        image: Callable[[], Image],
        salt_secret: Callable[[], bytes],
    ) -> None:
        """Prepare TLS and the mechanisms.

        Raises:
            KgitopsError: a certificate is not valid, or a package is missing.
        """
        self._settings = settings
        self._answer = answer
        self._tls = tls_context(settings.tls) if settings.tls else None
        self._mechanisms = (
            LoginMechanisms(settings.sasl, image, salt_secret()) if settings.sasl else None
        )
        self._failures = FailedLogins(settings.failure_delay_ms)
        self._log = ClosingLog()
        of_clients = settings.limits
        self._limits = {
            NodeKind.BROKER: of_clients,
            NodeKind.CONTROLLER: of_clients.with_room_for_envelopes(),
        }
        self._open = {kind: OpenConnections(self._limits[kind]) for kind in NodeKind}

    @property
    def open(self) -> Sequence[OpenConnection]:
        """The connections of all nodes."""
        return [connection for kind in self._open.values() for connection in kind]

    def make(self, kind: NodeKind, node: Callable[[], Node]) -> Listener:
        """The listener of a node. That of a controller is plain: it is on loopback alone."""
        for_clients = kind is NodeKind.BROKER
        tls = self._settings.tls if for_clients else None
        return Listener(
            answer=self._answer,
            make_connection=lambda host: self._connection(node(), host),
            limits=self._limits[kind],
            open=self._open[kind],
            log=self._log,
            tls=self._tls if for_clients else None,
            identify=None if tls is None or self._mechanisms else lambda der: _principal(tls, der),
        )

    def _connection(self, node: Node, host: str) -> ClientConnection:
        connection = ClientConnection(node=node, host=host)
        if node.kind is NodeKind.CONTROLLER:
            if self._settings.asks_for_login and self._settings.authorizes is False:
                # Nothing but the login says who may do what, and here only brokers have one.
                connection.principal = None
            return connection
        if self._settings.protocol.tls or self._mechanisms:
            connection.principal = None
        if self._mechanisms:
            connection.login = SaslLogin(self._mechanisms, self._failures, connection)
        return connection


def _principal(tls: TlsSettings, certificate: bytes | None) -> str:
    try:
        principal = certificate_principal(certificate, tls.rules)
    except UnmappedNameError as error:
        raise CloseConnectionError(str(error)) from None
    if principal == BROKER_PRINCIPAL:
        raise CloseConnectionError(f"{principal} is the principal of the brokers themselves")
    return principal or ANONYMOUS


def with_rights(options: Options, settings: ListenerSettings) -> Options:
    """The options of a cluster whose clients log in: ACLs count, and secrets are nobody's to read.

    An empty ``authorizer.class.name`` lets everybody who has logged in do everything.
    """
    authorizer = options.authorizer
    if authorizer is AuthorizerKind.NONE and (
        settings.authorizes or (settings.authorizes is None and settings.asks_for_login)
    ):
        authorizer = AuthorizerKind.ACLS
    return replace(
        options,
        authorizer=authorizer,
        super_users=options.super_users | settings.super_users,
        static_configs={
            key: value
            for key, value in options.static_configs.items()
            if not key.endswith(SECRET_ENDINGS)
        },
    )
