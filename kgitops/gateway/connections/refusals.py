"""Refusals of connections: their reasons, and the access log, a JSON line each."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum

import msgspec
from msgspec import Struct

from kgitops.serve.printable import printable_json

_LINES = 200
_SECONDS = 10.0
_LONGEST = 400


class RefusalReason(StrEnum):
    """A few words of our own, which metrics can count by, beside those of the rewriting."""

    MALFORMED = "malformed"
    """Bytes that are no frame of Kafka's protocol."""
    LOGIN = "login"
    """A login that can't be followed, or none in time."""
    CERTIFICATE = "certificate"
    """A client's certificate that no credential is for."""
    VIRTUAL_CLUSTER = "virtual-cluster"
    """A client of another virtual cluster than its connection or its listener is for."""
    TLS = "tls"
    PROXY = "proxy"
    """A PROXY header that is missing, or can't be read."""
    SNI = "sni"
    """A host name that is none of the gateway's."""
    CONNECTIONS = "connections"
    """There are too many."""
    STALE = "stale"
    """The names are older than allowed."""
    IDLE = "idle"
    BROKER = "broker"
    """The broker can't be reached, or sent a response that matches no request."""
    BUG = "bug"


class RefusedError(Exception):
    """The connection is to be closed; the text is a sentence about it."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason


class AccessLogLine(Struct, frozen=True, kw_only=True):
    """One line of the access log."""

    time: str
    address: str
    principal: str | None
    virtual_cluster: str | None
    api: str | None
    reason: str
    sentence: str


class AccessLog:
    """Writes a line for each refusal, and counts those beyond a rate: nobody can fill the disk."""

    def __init__(
        self, write: Callable[[bytes], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._clock = clock
        self._since = clock()
        self._written = self._left_out = 0

    def tell(
        self,
        reason: str,
        sentence: str,
        *,
        address: str = "",
        principal: str | None = None,
        virtual_cluster: str | None = None,
        api: str | None = None,
    ) -> None:
        """Write about a connection that is closed."""
        now = self._clock()
        if now - self._since >= _SECONDS:
            left_out = self._left_out
            self._since, self._written, self._left_out = now, 0, 0
            if left_out:
                self._line("log", f"{left_out} more refusals had no line", address="")
        if self._written >= _LINES:
            self._left_out += 1
            return
        self._written += 1
        self._line(reason, sentence, address, principal, virtual_cluster, api)

    def _line(
        self,
        reason: str,
        sentence: str,
        address: str,
        principal: str | None = None,
        virtual_cluster: str | None = None,
        api: str | None = None,
    ) -> None:
        refusal = AccessLogLine(
            time=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            address=address,
            principal=principal,
            virtual_cluster=virtual_cluster,
            api=api,
            reason=str(reason),
            sentence=sentence[:_LONGEST],
        )
        self._write(printable_json(msgspec.json.encode(refusal).decode()).encode() + b"\n")
