"""Users on three real brokers: what Kafka's tools and logins say, and clients that never stop."""

import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kafka_clusters import StartKafka
from msgspec import Struct
from patience import eventually
from real_kafka.logins import await_logins, described_users
from real_kafka.recorded_project import PROJECT
from secret_search import SecretSearch

from kgitops.cli.main import main
from kgitops.sandbox.layout import login_configs
from kgitops.sandbox.sandbox import Sandbox

ADMIN_WORD = "-".join(["the", "administrators", "word"])
FIRST, SECOND = "-".join(["first", "word", "4711"]), "-".join(["second", "word", "0815"])
TOPIC = """\
apiVersion: kgitops/v1
kind: Topic
metadata: {name: work}
spec: {partitions: 1, replicationFactor: 3}
"""
ACL = """\
apiVersion: kgitops/v1
kind: Acl
metadata: {name: writers}
spec:
  principals: [%s]
  permission: Allow
  operations: [Write, Describe]
  resource: {type: topic, name: work}
"""
USER = """\
apiVersion: kgitops/v1
kind: User
metadata: {name: %s}
spec:
  scram: [%s]
  deletionPolicy: Delete
"""
OLD_WAY = "{mechanism: SCRAM-SHA-256, iterations: 4096, password: {env: OLD}}"
NEW_WAY = "{mechanism: SCRAM-SHA-512, password: {env: NEW}}"


@pytest.fixture(scope="module")
def kafka(own_kafka: StartKafka) -> Sandbox:
    return own_kafka(brokers=3, sasl=True, tls=True, users={"admin": ADMIN_WORD})


class Project(Struct, frozen=True):
    """A project for the brokers, as a person keeps one."""

    folder: Path
    kafka: Sandbox
    capsys: pytest.CaptureFixture[str]
    said: list[str]

    def run(self, *words: str) -> int:
        code = main([*words])
        out, err = self.capsys.readouterr()
        self.said.append(f"{out}\n{err}")
        return code

    def declare(self, **documents: str) -> None:
        folder = self.folder / "manifests"
        for file in folder.iterdir():
            file.unlink()
        for name, text in documents.items():
            (folder / f"{name}.yaml").write_text(text)

    def apply(self, **documents: str) -> None:
        self.declare(**documents)
        assert self.run("--log-level", "debug", "apply", "--auto-approve") == 0, self.said[-1]


@pytest.fixture
def project(
    kafka: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Project]:
    (tmp_path / "manifests").mkdir()
    configs = kafka.layout.client_configs("SASL_SSL")
    text = PROJECT.format(
        servers=kafka.layout.servers("SASL_SSL"), authority=configs["ssl.ca.location"]
    )
    (tmp_path / "kgitops.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    for name, value in {"KAFKA_PASSWORD": ADMIN_WORD, "OLD": FIRST, "NEW": SECOND}.items():
        monkeypatch.setenv(name, value)
    made = Project(tmp_path, kafka, capsys, [])
    yield made
    made.apply(topic=TOPIC)  # the users and rights go
    assert described_users(kafka).keys() == {"admin"}


def test_a_user_from_its_first_login_to_its_last(
    project: Project, kafka: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Created, with a second mechanism, rotated, without the first: every step at every broker."""
    project.apply(topic=TOPIC, user=USER % ("sales-app", OLD_WAY))
    assert described_users(kafka)["sales-app"] == {"SCRAM-SHA-256": 4096}
    check_login = partial(await_logins, kafka, "sales-app")
    check_login("SCRAM-SHA-256", FIRST, works=True)
    check_login("SCRAM-SHA-256", SECOND, works=False)
    check_login("SCRAM-SHA-512", SECOND, works=False)

    both = USER % ("sales-app", f"{OLD_WAY}, {NEW_WAY}")
    project.apply(topic=TOPIC, user=both)
    two = {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 8192}
    assert described_users(kafka)["sales-app"] == two
    check_login("SCRAM-SHA-256", FIRST, works=True)
    check_login("SCRAM-SHA-512", SECOND, works=True)
    assert project.run("plan", "--detailed-exitcode") == 0
    assert project.run("drift", "--detailed-exitcode", "--verify-users") == 0

    # Another value of the variable is not another version.
    monkeypatch.setenv("NEW", FIRST)
    assert project.run("plan", "--detailed-exitcode") == 0
    assert project.run("drift", "--detailed-exitcode", "--verify-users") == 2
    assert "SCRAM-SHA-512.password" in project.said[-1]
    assert "SCRAM-SHA-256.password" not in project.said[-1]
    check_login("SCRAM-SHA-512", SECOND, works=True)
    project.apply(topic=TOPIC, user=both.replace("{env: NEW}", "{env: NEW}, version: two"))
    assert described_users(kafka)["sales-app"] == two
    check_login("SCRAM-SHA-512", FIRST, works=True)
    check_login("SCRAM-SHA-512", SECOND, works=False)
    assert project.run("drift", "--detailed-exitcode", "--verify-users") == 0

    project.apply(topic=TOPIC, user=USER % ("sales-app", OLD_WAY))
    assert described_users(kafka)["sales-app"] == {"SCRAM-SHA-256": 4096}
    check_login("SCRAM-SHA-512", FIRST, works=False)
    check_login("SCRAM-SHA-256", FIRST, works=True)
    project.apply(topic=TOPIC)
    check_login("SCRAM-SHA-256", FIRST, works=False)
    assert described_users(kafka).keys() == {"admin"}
    search(project, kafka)


def registry_records(kafka: Sandbox) -> list[bytes]:
    """Every key and value that the registry's topic still holds, the journal among them."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": kafka.layout.servers("SASL_SSL"),
            "group.id": "reader",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            **kafka.layout.client_configs("SASL_SSL"),
        }
    )
    consumer.assign([TopicPartition("__kgitops", 0, OFFSET_BEGINNING)])
    found: list[bytes] = []
    while (message := consumer.poll(30)) is not None and message.error() is None:
        found += [message.key() or b"", message.value() or b""]
    consumer.close()
    return found


def search(project: Project, kafka: Sandbox) -> None:
    """No byte that kgitops wrote, on the brokers too, or that it said, tells of a password.

    The brokers' own metadata log holds the keys that Kafka makes of it: it is left out.
    test_killed_users.py looks for those keys, too, and in more places.
    """
    assert project.run("snapshot", "--users", "-o", "state.json") == 0
    assert project.run("export", "-o", "exported") == 0
    written = [file.read_bytes() for file in project.folder.rglob("*") if file.is_file()]
    registry = registry_records(kafka)
    assert any(b"payments" in content for content in registry)
    assert any(b"AlterUserScramCredentials" in content for content in registry)
    everything = b"\n".join((*written, *registry, "".join(project.said).encode()))
    passwords = SecretSearch()
    for word in (FIRST, SECOND, ADMIN_WORD):
        passwords.add_password(word, word.encode())
    assert passwords.found_in({"what was written or said": everything}) == []


def test_the_login_of_kgitops_is_left_alone(project: Project, kafka: Sandbox) -> None:
    before = described_users(kafka)
    project.declare(topic=TOPIC, user=USER % ("admin", NEW_WAY))
    assert project.run("plan") == 5
    assert "kgitops itself logs in as User:admin" in project.said[-1]
    assert project.run("apply", "--auto-approve") == 5
    assert described_users(kafka) == before


def test_a_generated_password_logs_in(project: Project, kafka: Sandbox) -> None:
    way = "{mechanism: SCRAM-SHA-512, password: {generate: {to: {file: made}}}}"
    project.apply(topic=TOPIC, user=USER % ("sales-app", way))
    word = (project.folder / "made").read_text()
    await_logins(kafka, "sales-app", "SCRAM-SHA-512", word, works=True)
    assert all(word not in text for text in project.said)
    assert project.run("drift", "--detailed-exitcode", "--verify-users") == 0


class NeverStops:
    """A client that logs in and writes a record, again and again, as it is configured just then."""

    def __init__(self, kafka: Sandbox, **login: str) -> None:
        self._kafka = kafka
        self._login = login
        self._stop = threading.Event()
        self.failures: list[str] = []
        self.done: list[str] = []
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> "NeverStops":
        self._thread.start()
        self.goes_on()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def switch(self, **login: str) -> None:
        """Restart with another login, and see that it works."""
        self._login = login
        self.goes_on()

    def goes_on(self) -> None:
        """Wait until two more records were written by the present login."""
        wanted = self._login["sasl.username"] + self._login["sasl.mechanism"]
        seen = len(self.done)

        def written() -> int:
            assert self.failures == []
            return self.done[seen:].count(wanted)

        eventually(written, lambda records: records >= 2, what="two more records are written")

    def _work(self) -> None:
        from confluent_kafka import Producer

        base = self._kafka.layout.client_configs("SASL_SSL")
        while not self._stop.is_set():
            login = self._login
            configs: dict[str, Any] = {
                "bootstrap.servers": self._kafka.layout.servers("SASL_SSL"),
                "log_level": 0,
                "message.timeout.ms": 20_000,
                **{key: value for key, value in base.items() if "sasl" not in key},
                **login,
            }
            producer = Producer(configs)
            producer.produce("work", b"record", on_delivery=self._delivered)
            if producer.flush(25):
                self.failures.append("a record was not delivered")
            self.done.append(login["sasl.username"] + login["sasl.mechanism"])

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self.failures.append(str(error))


def test_a_mechanism_swing_renews_a_password_without_a_pause(
    project: Project, kafka: Sandbox
) -> None:
    """docs/guides/users.md: the other mechanism gets the new password, clients switch, it goes."""
    acl = ACL % "User:sales-app"
    project.apply(topic=TOPIC, acl=acl, user=USER % ("sales-app", OLD_WAY))
    with NeverStops(kafka, **login_configs("sales-app", FIRST, "SCRAM-SHA-256")) as client:
        project.apply(topic=TOPIC, acl=acl, user=USER % ("sales-app", f"{OLD_WAY}, {NEW_WAY}"))
        client.goes_on()
        client.switch(**login_configs("sales-app", SECOND, "SCRAM-SHA-512"))
        project.apply(topic=TOPIC, acl=acl, user=USER % ("sales-app", NEW_WAY))
        client.goes_on()
    assert client.failures == []
    await_logins(kafka, "sales-app", "SCRAM-SHA-256", FIRST, works=False)


def test_a_user_swing_renews_a_password_without_a_pause(project: Project, kafka: Sandbox) -> None:
    """docs/guides/users.md: a second user with the same rights, clients switch, the first goes."""
    first, second = USER % ("sales-app", NEW_WAY), USER % ("sales-app-b", NEW_WAY)
    only, both, last = (
        ACL % names
        for names in ("User:sales-app", "User:sales-app, User:sales-app-b", "User:sales-app-b")
    )
    os.environ["NEW"] = FIRST
    project.apply(topic=TOPIC, acl=only, user=first)
    with NeverStops(kafka, **login_configs("sales-app", FIRST, "SCRAM-SHA-512")) as client:
        os.environ["NEW"] = SECOND
        project.apply(topic=TOPIC, acl=both, user=first, second=second)
        client.goes_on()
        client.switch(**login_configs("sales-app-b", SECOND, "SCRAM-SHA-512"))
        project.apply(topic=TOPIC, acl=last, second=second)
        client.goes_on()
    assert client.failures == []
    await_logins(kafka, "sales-app", "SCRAM-SHA-512", FIRST, works=False)
