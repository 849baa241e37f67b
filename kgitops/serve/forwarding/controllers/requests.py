"""The controllers' side of forwarding: Envelopes, and clients that ask a controller itself."""

import logging
import re

from kgitops.cluster.embedded.options import BROKER_PRINCIPAL, AuthorizerKind
from kgitops.model.errors import KgitopsError, LockedError
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode
from kgitops.serve.forwarding.apis import FORWARDED
from kgitops.serve.forwarding.deciding import Decide, client_of
from kgitops.serve.forwarding.envelope import EnvelopeError, UnpackedEnvelope, answer_frame, unpack
from kgitops.serve.forwarding.options import ForwardingOptions
from kgitops.serve.listening.answering import ClientConnection
from kgitops.serve.nodes import ServedCluster
from kgitops.serve.printable import printable
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import SIZE_BYTES, RequestFrame, response_frame

_BROKER_CLIENT = re.compile(r"broker-(\d+)", re.ASCII)
_log = logging.getLogger("kgitops.serve")


class ControllerRequests:
    """Answers what arrives at controllers."""

    def __init__(self, cluster: ServedCluster, options: ForwardingOptions, decide: Decide) -> None:
        self._cluster = cluster
        self._options = options
        self._decide = decide

    async def answer_client(self, frame: RequestFrame, connection: ClientConnection) -> bytes:
        """Answer a client that sent what is decided to a controller, which is active or not."""
        decision = await self._decide(frame, client_of(connection), connection.node)
        return response_frame(frame.api, frame.version, frame.correlation_id, decision.body)

    async def answer_envelope(self, frame: RequestFrame, connection: ClientConnection) -> bytes:
        """Answer a broker that forwards a client's request.

        Raises:
            MalformedError: it is no Envelope.
        """
        number = frame.correlation_id
        if not self._may_forward(connection):
            _log.warning(
                "%s may not forward requests: that needs ClusterAction",
                printable(connection.principal or "who has not logged in"),
            )
            return answer_frame(number, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        if self._cluster.controllers.active != connection.node.id:
            return answer_frame(number, ErrorCode.NOT_CONTROLLER)
        try:
            inner = self._unpacked(frame)
            code, answer = await self._answer(inner, connection)
        except EnvelopeError as error:
            _log.warning("an Envelope is refused (%s): %s", error.code.name, printable(str(error)))
            return answer_frame(number, error.code)
        return answer_frame(number, code, answer)

    async def _answer(
        self, inner: UnpackedEnvelope, connection: ClientConnection
    ) -> tuple[ErrorCode, bytes | None]:
        frame = inner.frame
        try:
            decision = await self._decide(
                frame,
                inner.client,
                connection.node,
                bypasses_policies=inner.bypasses_policies,
            )
        except MalformedError as error:
            raise EnvelopeError(ErrorCode.UNSUPPORTED_VERSION, str(error)) from error
        except LockedError as error:
            raise EnvelopeError(ErrorCode.REQUEST_TIMED_OUT, str(error)) from error
        except Exception as error:  # other clients' requests share the connection
            if not isinstance(error, KgitopsError):
                _log.exception("a forwarded request could not be answered")
            raise EnvelopeError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from error
        if decision.not_controller:
            # The broker is to ask another controller; its client never sees this (F590-21).
            return ErrorCode.NOT_CONTROLLER, None
        whole = response_frame(frame.api, frame.version, frame.correlation_id, decision.body)
        return ErrorCode.NONE, whole[SIZE_BYTES:]

    def _unpacked(self, frame: RequestFrame) -> UnpackedEnvelope:
        found = _BROKER_CLIENT.fullmatch(frame.client_id or "")
        via = int(found[1]) if found else None
        broker = self._cluster.nodes.get(via) if via is not None else None
        inner = unpack(
            frame.data,
            frame.body,
            self._options.principal_serde,
            listener=broker.listener if broker else "",
            via=via,
        )
        if inner.frame.api.name not in FORWARDED:
            raise EnvelopeError(
                ErrorCode.INVALID_REQUEST, f"{inner.frame.api.name} is not forwarded"
            )
        return inner

    def _may_forward(self, connection: ClientConnection) -> bool:
        """Return whether the sender is a broker; without ACLs only those of this process are."""
        if connection.principal == BROKER_PRINCIPAL and self._options.broker_rights:
            return True
        controller = self._cluster.controller
        return controller.options.authorizer is AuthorizerKind.ACLS and controller.read(
            lambda draft: draft.authorizer.allows_cluster(Operation.CLUSTER_ACTION),
            self._cluster.view(),
            principal=connection.principal or "",
            host=connection.host,
        )
