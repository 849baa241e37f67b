"""The rewriting of one connection's frames, as the connection uses it."""

from typing import Protocol

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.exchange import (
    Addresses,
    Exchange,
    Forward,
    LocalAnswer,
    RequestHeader,
    RewriteState,
)
from kgitops.gateway.rewriting.requests import rewrite_request
from kgitops.gateway.rewriting.responses import rewrite_response
from kgitops.gateway.rewriting.topic_ids import TopicIds
from kgitops.gateway.sockets.memory import KeptMemory
from kgitops.wire.splicing import Chunks


class Rewriter(Protocol):
    """Rewrites the frames of one connection."""

    def logged_in(self) -> None:
        """The broker has let the client in."""
        ...

    def request(
        self,
        frame: bytearray,
        header: RequestHeader,
        table: NameTable | None,
        *,
        at_once: bool = False,
    ) -> Forward | LocalAnswer:
        """Rewrite a request, or answer it.

        Raises:
            RefusedFrameError: the connection is to be closed.
            TooLongError: with ``at_once``, it takes more than a few milliseconds.
        """
        ...

    def response(
        self, frame: bytearray, exchange: Exchange, addresses: Addresses, *, at_once: bool = False
    ) -> Chunks:
        """Rewrite the response to a request.

        Raises:
            RefusedFrameError: the connection is to be closed.
            TooLongError: with ``at_once``, it takes more than a few milliseconds.
        """
        ...

    def close(self) -> None:
        """The connection is gone."""
        ...


class NamesRewriter:
    """Rewrites between the names of virtual clusters and those of the brokers."""

    __slots__ = ("_names",)

    def __init__(self, topic_ids: TopicIds, memory: KeptMemory | None = None) -> None:
        self._names = RewriteState(topic_ids, memory)

    def logged_in(self) -> None:
        """The broker has let the client in."""
        self._names.logged_in = True

    def request(
        self,
        frame: bytearray,
        header: RequestHeader,
        table: NameTable | None,
        *,
        at_once: bool = False,
    ) -> Forward | LocalAnswer:
        """Rewrite a request, or answer it."""
        return rewrite_request(frame, header, table, self._names, at_once=at_once)

    def response(
        self, frame: bytearray, exchange: Exchange, addresses: Addresses, *, at_once: bool = False
    ) -> Chunks:
        """Rewrite the response to a request."""
        return rewrite_response(frame, exchange, self._names, addresses, at_once=at_once)

    def close(self) -> None:
        """The connection is gone: give back the memory of what it kept."""
        self._names.subscriptions.close()
