"""Kafka Streams with exactly-once, as an application of ``emea.sales`` with the rights of its role.

Its internal topics are declared (``tenants.py``): nobody makes topics through the gateway.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
from gateway.clients.entrance import Entrance
from gateway.clients.java_session import JavaSession
from gateway.clients.tenants import SALES, STREAMS_APP, Tenant
from patience import eventually
from platformdirs import user_cache_path

from kgitops.sandbox.jars import KAFKA, Jar, fetch_jars

pytestmark = [
    pytest.mark.kafka("gateway-clients"),
    pytest.mark.xdist_group("gateway-clients"),
    pytest.mark.slow,
]

STREAMS = Jar(
    group="org.apache.kafka",
    name="kafka-streams",
    version=KAFKA,
    sha256="aa3a70c72cb04c72eabcf6d04762c3a3ca8522e93654eca9180e7877172433c4",
)
LINES = ("to be or not to be", "that is the question", "to be")
NEW_PROTOCOL = {"config.group.protocol": "streams"}
READ_COMMITTED = {"config.isolation.level": "read_committed"}


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaSession]:
    """A JVM with Kafka Streams."""
    home = user_cache_path("kgitops") / f"kafka-streams-{KAFKA}"
    jar = fetch_jars([STREAMS], home, f"Kafka Streams {KAFKA}", lambda _: None) / STREAMS.file
    folder = tmp_path_factory.mktemp("streams") / "java"
    with JavaSession(KAFKA, folder, [jar], ["WordCount"]) as session:
        yield session


def await_state(java: JavaSession, state: str) -> None:
    """Wait until the application is in this state."""
    eventually(
        lambda: (java.ask("WordCount.state")["state"], java.end_of_log()),
        lambda found: found[0] == state,
        what=f"the application's state is {state}",
    )


def test_an_application_counts_exactly_once(
    java: JavaSession,
    entrance: Entrance,
    tenants: Mapping[str, Tenant],
    tmp_path: Path,
) -> None:
    """It is stopped and starts anew without its state, which it then has from its changelog.

    The third time it uses the protocol of KIP-1071, in the same group.
    """
    if not entrance.is_gateway:
        pytest.skip("it makes up the names of its internal topics, so physical ones can't be used")
    app, writer = entrance.login("sales-streams"), entrance.login("sales-app")
    source, target = writer.topic("lines"), writer.topic("counts")

    def written() -> list[str]:
        return java.ask("Records.read", login=writer.file, topic=target, **READ_COMMITTED)

    words: Counter[str] = Counter()
    counts: list[str] = []
    for turn, more in (("first", {}), ("second", {}), ("third", NEW_PROTOCOL)):
        if more:  # Members of the classic protocol do not leave: their sessions have to end.
            asked = {"login": app.file, "group": STREAMS_APP}
            eventually(
                partial(java.ask, "Administration.group", **asked),
                lambda told: told["state"] == "Empty",
                what="the group is empty",
            )
        java.ask(
            "WordCount.start",
            login=app.file,
            application=STREAMS_APP,
            folder=tmp_path / turn,
            to=target,
            **{"from": source},
            **more,
        )
        await_state(java, "RUNNING")
        for line in LINES:
            asked = {"topic": source, "prefix": f"{line} line", "count": 2}
            java.ask("Records.produce", login=writer.file, **asked)
            for word in [*line.split(" "), *line.split(" "), "line0", "line1"]:
                words[word] += 1
                counts.append(f"{word}={words[word]}")
        eventually(written, lambda found: sorted(found) == sorted(counts), what="all is counted")
        assert java.ask("WordCount.state")["problem"] == ""
        if more:
            told = java.ask("Since4.streams group", login=app.file, group=STREAMS_APP)
            internal = {name for name in tenants[SALES].links if name.startswith(STREAMS_APP)}
            assert (told["state"], told["members"]) == ("Stable", 2)
            assert {*told["topics"]} == internal | {source}
        assert java.ask("WordCount.stop")
    direct = entrance.direct()
    of_brokers = java.ask("Administration.topics", login=direct.file)
    # It made none of its own: what it uses is what was declared.
    assert {name for name in of_brokers if STREAMS_APP in name} == {
        physical for local, physical in tenants[SALES].links.items() if STREAMS_APP in local
    }
    types = java.ask("Since4.group types", login=direct.file)
    assert types[tenants[SALES].physical_id(STREAMS_APP)] == "Streams"


@pytest.mark.parametrize(
    ("more", "says"), [({}, "change their manifests"), (NEW_PROTOCOL, "declare them in manifests")]
)
def test_topics_that_are_not_declared_end_an_application(
    java: JavaSession, entrance: Entrance, tmp_path: Path, more: Mapping[str, str], says: str
) -> None:
    """It says why, and where they are declared."""
    if not entrance.is_gateway:
        pytest.skip("brokers let those who have the rights create them")
    login = entrance.login("sales-app")
    java.ask(
        "WordCount.start",
        login=login.file,
        application="undeclared",
        folder=tmp_path,
        to=login.topic("counts"),
        **{"from": login.topic("lines")},
        **more,
    )
    await_state(java, "ERROR")
    problem = java.ask("WordCount.state")["problem"]
    assert "undeclared-by-word-repartition" in problem
    assert says in problem
