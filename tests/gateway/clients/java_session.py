"""A JVM with one release of Kafka's client, told what to do by tests (``java/Session.java``)."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Self

import pytest
from gateway.clients.tenants import PER_RELEASE, RELEASES
from java_classes import compile_java
from msgspec import Struct
from patience import eventually
from serve.clients.downloads import java_client

from kgitops.sandbox.jars import KAFKA, fetch_libs
from kgitops.sandbox.jvm import LOG4J2, find_java, java_version

JAVA = Path(__file__).parent / "java"
_EVERY = ("Session", "Records", "Members", "Administration")
PARTS: Mapping[str, Sequence[str]] = {
    "2.8.2": _EVERY,
    "3.9.1": (*_EVERY, "Since3"),
    "4.3.0": (*_EVERY, "Since3", "Since4", "Shares"),
}
"""The classes that a release of the client can be compiled with."""
_WITH_OLDER_JAVA, _WITHOUT_SUBJECTS = frozenset({"2.8.2"}), 24
"""Its SASL asks for the subject of the thread, which Java 24 no longer knows."""
_ANSWER_S = 90


class Refused(Exception):  # noqa: N818
    """An error of the Java client: its class and its message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


class Login(Struct, frozen=True):
    """A properties file of one user, and how this user calls topics, groups and ids."""

    file: Path
    topic: Callable[[str], str]
    group: Callable[[str], str]


class JavaSession:
    """One JVM; ``ask`` waits for each answer, members of groups work meanwhile."""

    def __init__(
        self, version: str, folder: Path, jars: Sequence[Path] = (), parts: Sequence[str] = ()
    ) -> None:
        self.version = version
        java = find_java()
        if version in _WITH_OLDER_JAVA and java_version(java) >= _WITHOUT_SUBJECTS:
            pytest.fail(
                f"Kafka's client {version} can't log in on Java {_WITHOUT_SUBJECTS} or newer; let "
                "JAVA_HOME name an older one",
                pytrace=False,
            )
        libs = fetch_libs(lambda _: None)
        jar = next(libs.glob("kafka-clients-*.jar")) if version == KAFKA else java_client(version)
        jars = [jar, *libs.glob("slf4j-api-*.jar"), *jars]
        names = (*PARTS[version], *parts)
        sources = {name: (JAVA / f"{name}.java").read_text("utf-8") for name in names}
        folder.mkdir(parents=True)
        classes = compile_java(sources, folder, jars)
        log4j2 = folder / "log4j2.properties"
        log4j2.write_text(LOG4J2)
        path = [*jars, *libs.glob("log4j-*.jar"), classes]
        self.log = folder / "java.log"
        self._log = self.log.open("wb")
        self._process = subprocess.Popen(
            [
                java,
                *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"),
                f"-Dlog4j2.configurationFile={log4j2}",
                *("-cp", os.pathsep.join(map(str, path))),
                "Session",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def ask(self, what: str, /, **arguments: object) -> Any:  # noqa: ANN401 (JSON)
        """Run ``Class.verb``; what it returns.

        Raises:
            Refused: the client raised an error.
        """
        words = [*what.split(".", 1), *(f"{name}={value}" for name, value in arguments.items())]
        assert self._process.stdin
        assert self._process.stdout
        timer = threading.Timer(_ANSWER_S, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write("\t".join(words) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        assert line, f"Java {self.version} gave no answer to {what}: {self.end_of_log()}"
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"], answer["message"])
        return answer["found"]

    def end_of_log(self) -> str:
        """For messages."""
        return self.log.read_text("utf-8", "replace")[-3000:]


class Member:
    """A member of a group, who reads and commits until he is stopped."""

    def __init__(self, java: JavaSession, login: Login, name: str, group: str, **more: str) -> None:
        self._java = java
        self.name = name
        self._login = login
        topics = [login.topic(topic) for topic in more.pop("topics", "").split(",") if topic]
        if "config.group.protocol" not in more:
            more["config.heartbeat.interval.ms"] = "300"
        java.ask(
            "Members.start",
            member=name,
            login=login.file,
            **({"topics": ",".join(topics)} if topics else {}),
            **{"config.group.id": login.group(group)},
            **more,
        )
        self._runs = True

    def state(self) -> Mapping[str, Any]:
        """What he owns and has read."""
        state = self._java.ask("Members.state", member=self.name)
        assert not state["problem"], state["problem"]
        return state

    def await_owned(self, places: Sequence[str]) -> None:
        """Wait until he owns these partitions, and no others."""
        eventually(
            lambda: self.state()["owned"],
            lambda owned: owned == places,
            what=f"{self.name} owns {places}",
        )

    def await_read(self, values: AbstractSet[str]) -> None:
        """Wait until he has read all of them."""
        eventually(
            lambda: values - {*self.state()["read"]},
            lambda unread: not unread,
            what=f"{self.name} has read all",
        )

    def stop(self) -> Mapping[str, Any]:
        """Close the consumer; what he owned and had read at the end."""
        self._runs = False
        return self._java.ask("Members.stop", member=self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._runs:
            self.stop()


class Sharer:
    """A member of a share group, who accepts each record until he is stopped."""

    def __init__(
        self,
        java: JavaSession,
        login: Login,
        name: str,
        group: str,
        topics: Sequence[str],
        **more: str,
    ) -> None:
        self._java, self._name = java, name
        asked = {"member": name, "login": login.file, "topics": ",".join(topics)}
        java.ask("Shares.start", **asked, **{"config.group.id": login.group(group)}, **more)

    def state(self) -> Mapping[str, list[str]]:
        """What he has accepted and given back."""
        state: Mapping[str, Any] = self._java.ask("Shares.state", member=self._name)
        assert not state["problem"], state["problem"]
        return state

    def accepted(self) -> set[str]:
        """The values with their topics."""
        return set(self.state()["accepted"])

    def await_accepted(self, values: AbstractSet[str]) -> None:
        """Wait until he has accepted all of them."""
        eventually(
            lambda: values - self.accepted(),
            lambda missing: not missing,
            what=f"{self._name} has accepted all",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._java.ask("Shares.stop", member=self._name)


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
