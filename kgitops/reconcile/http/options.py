"""The address to listen on, and who may do what there."""

from collections.abc import Mapping

from msgspec import Struct

from kgitops.model.errors import UsageError
from kgitops.model.resources.names import is_loopback
from kgitops.reconcile.http.hook import TOKEN_VARIABLE, HookToken
from kgitops.serve.http.listener import parse_address


class ListenOptions(Struct, frozen=True, kw_only=True):
    """A listener's address; ``allow_anonymous`` lets other machines look, as nobody logs in.

    Without a ``token`` there is no ``POST /reconcile``.
    """

    host: str
    port: int
    allow_anonymous: bool = False
    token: HookToken | None = None

    @property
    def only_local_names(self) -> bool:
        """True if a browser has to name this machine: a page from elsewhere could else look in."""
        return is_loopback(self.host) and not self.allow_anonymous


def listen_options(
    listen: str, *, allow_anonymous: bool, environ: Mapping[str, str]
) -> ListenOptions:
    """Read ``--listen`` and the token in the environment.

    Raises:
        UsageError: it is no address, it would be open to everybody, or the token is too short.
    """
    host, port = parse_address(listen)
    if not is_loopback(host) and not allow_anonymous:
        raise UsageError(
            f"--listen {listen} would show clusters, drift and plans to everybody who can reach "
            "it; listen on 127.0.0.1, or give --allow-anonymous"
        )
    text = environ.get(TOKEN_VARIABLE)
    return ListenOptions(
        host=host,
        port=port,
        allow_anonymous=allow_anonymous,
        token=None if text is None else HookToken.checked(text),
    )
