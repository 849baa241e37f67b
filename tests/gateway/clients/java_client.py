"""A Java client of one release, logged in, with the topics and groups that this release uses."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from gateway.clients.java_session import JavaSession, Login, Member
from gateway.clients.tenants import PER_RELEASE, RELEASES
from patience import eventually


class Client:
    """A session of one release, logged in, with the prefix of its own topics."""

    def __init__(self, java: JavaSession, login: Login) -> None:
        self.java = java
        self.login = login
        self.prefix = RELEASES[java.version]

    def ask(self, what: str, /, **arguments: object) -> Any:  # noqa: ANN401 (JSON)
        return self.java.ask(what, login=self.login.file, **arguments)

    def own(self, topic: str) -> str:
        """The local name of a topic of this release, as brokers or the gateway know it."""
        return self.login.topic(f"{self.prefix}.{topic}")

    def group(self, name: str) -> str:
        return self.login.group(f"{self.prefix}-{name}")

    def places(self, *topics: str) -> list[str]:
        """All partitions."""
        return sorted(
            f"{self.own(topic)}-{partition}"
            for topic in topics
            for partition in range(PER_RELEASE[topic])
        )

    def produce(self, topic: str, prefix: str, count: int = 30, **more: object) -> set[str]:
        """Write records; their values as members tell them."""
        name = self.own(topic)
        self.ask("Records.produce", topic=name, prefix=prefix, count=count, **more)
        return {f"{name}:{prefix}{number}" for number in range(count)}

    def member(self, name: str, group: str, topics: Sequence[str] = (), **more: str) -> Member:
        """Start a member of a group of this release."""
        if topics:
            more["topics"] = ",".join(f"{self.prefix}.{topic}" for topic in topics)
        return Member(self.java, self.login, name, f"{self.prefix}-{group}", **more)


def await_shared(places: Sequence[str], *members: Member) -> None:
    """Wait until they own these partitions together, and none of them owns nothing."""
    eventually(
        lambda: [member.state()["owned"] for member in members],
        lambda owned: all(owned) and sorted(place for own in owned for place in own) == places,
        what=f"{places} are shared",
    )


def await_read(values: AbstractSet[str], *members: Member) -> None:
    """Wait until they have read all of them together."""
    eventually(
        lambda: values.difference(*(member.state()["read"] for member in members)),
        lambda unread: not unread,
        what="all is read",
    )
