"""One request of a client: how it is made, and what its answer says."""

from collections.abc import Callable, Iterator
from itertools import chain

from msgspec import Struct
from serve.raw_client import RawClient

from kgitops.wire.messages import Message

Producer = tuple[int, int]
"""A producer's id and epoch."""


class Client:
    """A client with one idempotent producer and one with transactions."""

    def __init__(self) -> None:
        self.plain: Producer = (-1, -1)
        self.transactional: Producer = (-1, -1)


class Step(Struct, frozen=True, kw_only=True):
    """A request, and the error codes in its answer."""

    api: str
    version: int
    request: Callable[[Client], Message]
    codes: Callable[[Message], Iterator[int]]
    learn: Callable[[Client, Message], None] = lambda _client, _answer: None
    repeats: bool = True
    """True if a client may send it twice, and all is as if it had done so once."""
    when_repeated: frozenset[int] = frozenset()
    """The errors that say that it was done already."""

    def take(self, raw: RawClient, client: Client, *, again: bool = False) -> None:
        """Send the request, and see that all of it was done."""
        answer = raw.ask(self.api, self.version, self.request(client))
        found = set(self.codes(answer)) - (self.when_repeated if again else frozenset())
        assert found <= {0}, f"{self.api} is answered with {found}"
        self.learn(client, answer)


def code(answer: Message) -> Iterator[int]:
    return iter([answer.error_code])


def topic_codes(answer: Message) -> Iterator[int]:
    rows = chain.from_iterable(topic.partitions for topic in answer.topics)
    return (row.error_code for row in rows)
