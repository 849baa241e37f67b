"""One request of a client: how it is made, and what its answer says."""

from collections.abc import Callable

from msgspec import Struct
from serve.plain_requests import Fields, error_codes, request_of
from serve.raw_client import RawClient

from kgitops.wire.messages import Message

Producer = tuple[int, int]
"""A producer's id and epoch."""


class Client:
    """A client with one idempotent producer and one with transactions."""

    def __init__(self) -> None:
        self.plain: Producer = (-1, -1)
        self.transactional: Producer = (-1, -1)


class Step(Struct, frozen=True):
    """A request with these fields."""

    api: str
    version: int
    fields: Fields | Callable[[Client], Fields]
    learn: Callable[[Client, Message], None] = lambda _client, _answer: None
    repeats: bool = True
    """True if a client may send it twice, and all is as if it had done so once."""
    when_repeated: int = 0
    """The error that says that it was done already."""

    def take(self, raw: RawClient, client: Client, *, again: bool = False) -> None:
        """Send the request, and see that all of it was done."""
        fields = self.fields(client) if callable(self.fields) else self.fields
        answer = raw.ask(self.api, self.version, request_of(self.api, fields))
        found = error_codes(answer) - ({self.when_repeated} if again else set())
        assert found <= {0}, f"{self.api} is answered with {found}"
        self.learn(client, answer)
