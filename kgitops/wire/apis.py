"""Kafka's requests by their keys: names, versions, and who listens to them."""

from functools import cache

from msgspec import Struct

from kgitops.wire.definitions import definition, names, private_names, version_range


class Api(Struct, frozen=True):
    """One kind of request, with the response to it."""

    key: int
    name: str
    versions: range
    """Those that Kafka 4.3 announces."""
    readable: range
    """Those whose fields are known; they may begin before Kafka's own (KIP-4)."""
    flexible: range
    listeners: tuple[str, ...]
    """``broker``, ``controller``; nobody listens to some."""

    @property
    def request(self) -> str:
        """The name of the request's message."""
        return f"{self.name}Request"

    @property
    def response(self) -> str:
        """The name of the response's message."""
        return f"{self.name}Response"


@cache
def apis() -> dict[int, Api]:
    """All APIs by their keys: Kafka's, and those of virtual clusters from 10001 on."""
    requests = [name for name in (*names(), *private_names()) if name.endswith("Request")]
    found = map(definition, requests)
    made = [
        Api(
            key=message.key,
            name=message.api,
            versions=_stable(message.versions, unstable=message.unstable),
            readable=message.readable,
            flexible=version_range(message.flexible),
            listeners=message.listeners,
        )
        for message in found
        if message.key is not None
    ]
    return {api.key: api for api in sorted(made, key=lambda api: api.key)}


@cache
def keys() -> dict[str, int]:
    """The key of each API by its name."""
    return {api.name: key for key, api in apis().items()}


def _stable(versions: str, *, unstable: bool) -> range:
    found = version_range(versions)
    return found[:-1] if unstable else found
