"""The virtual cluster of a connection: by who logged in, by its client id, or by its listener."""

from kgitops.gateway.connections.refusals import RefusalReason, RefusedError
from kgitops.gateway.naming.name_table import NameTable, NameTables

_KEPT_CLIENT_ID = 256
"""Bytes: a longer client id, of up to 32 KiB, is looked up with each request."""


class ConnectionBinding:
    """Finds the names for each request, and keeps a connection in one virtual cluster.

    The answer is kept for as long as the client id and the tables are the same ones, so that a
    request costs a comparison.
    """

    __slots__ = ("_client_id", "_table", "_tables", "listener")

    def __init__(self, listener: str | None) -> None:
        self.listener = listener
        """The virtual cluster that the listener is bound to, if it is bound to one."""
        self._client_id: bytes | None = None
        self._tables: NameTables | None = None
        self._table: NameTable | None = None

    @property
    def virtual_cluster(self) -> str | None:
        """The one that the connection is in so far."""
        return self._table.virtual_cluster if self._table else self.listener

    def table(
        self, client_id: bytes | None, tables: NameTables, principal: str
    ) -> NameTable | None:
        """The names for a request; None for a client in no virtual cluster.

        Raises:
            RefusedError: it belongs to another virtual cluster than the connection.
        """
        if tables is not self._tables or client_id != self._client_id:
            self._settle(tables, principal, client_id)
        return self._table

    def check(self, tables: NameTables, principal: str | None) -> None:
        """Look whether the connection still belongs where it is, once there are other tables.

        Raises:
            RefusedError: its member was moved.
        """
        if self._tables is not None and principal is not None and tables is not self._tables:
            self._settle(tables, principal, self._client_id)

    def _settle(self, tables: NameTables, principal: str, client_id: bytes | None) -> None:
        table = self._find(tables, principal, _text(client_id))
        name = table.virtual_cluster if table else None
        before = self._table.virtual_cluster if self._table else None
        if self._tables is not None and name != before:
            raise RefusedError(
                RefusalReason.VIRTUAL_CLUSTER,
                f"its connection was {_place(before)}, and it is {_place(name)} now; "
                "it may connect again",
            )
        kept = client_id is None or len(client_id) <= _KEPT_CLIENT_ID
        self._tables, self._table = tables, table
        self._client_id = client_id if kept else b""

    def _find(self, tables: NameTables, principal: str, client_id: str | None) -> NameTable | None:
        table = tables.bind(principal, client_id)
        listener = self.listener
        if listener is None:
            return table
        if table is not None and table.virtual_cluster != listener:
            raise RefusedError(
                RefusalReason.VIRTUAL_CLUSTER,
                f"it is a member of virtual cluster {table.virtual_cluster}, and its listener is "
                f"for {listener}; use another listener",
            )
        found = tables.by_virtual_cluster.get(listener)
        if found is None:
            raise RefusedError(
                RefusalReason.VIRTUAL_CLUSTER,
                f"its listener is for virtual cluster {listener}, which does not exist",
            )
        return found


def _text(client_id: bytes | None) -> str | None:
    try:
        return None if client_id is None else client_id.decode()
    except UnicodeDecodeError:
        raise RefusedError(RefusalReason.MALFORMED, "its client id is not UTF-8") from None


def _place(virtual_cluster: str | None) -> str:
    return f"in virtual cluster {virtual_cluster}" if virtual_cluster else "in no virtual cluster"
