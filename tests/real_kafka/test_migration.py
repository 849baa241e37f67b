"""From prefixes to a virtual cluster on real brokers, while a producer and a consumer are at it.

``examples/migration`` is what is applied; docs/guides/migrating-to-virtual-clusters.md tells of it.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from cli.conftest import Kgitops
from cli.projects import EXAMPLES
from kafka_java_tools import Acl, acls, topics
from real_kafka.migrating_clients import PLACES, TOPICS, Invoicing, Place, Shop, go_on, refused

from kgitops.cluster.kafka.adapter import KafkaCluster, boot
from kgitops.model.registry import Json
from kgitops.sandbox.sandbox import Sandbox

STAGES = EXAMPLES / "migration"
OLD_GROUP, NEW_GROUP = "invoices", "emea.sales:invoices"
PREFIX = "emea.eu.sales."
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


def allowed(kind: str, name: str, user: str, operation: str, pattern: str = "LITERAL") -> Acl:
    return Acl(kind, name, pattern, f"User:{user}", "*", operation, "ALLOW")


OLD = {
    allowed("TOPIC", PREFIX, "shop", "WRITE", "PREFIXED"),
    allowed("TOPIC", PREFIX, "invoicing", "READ", "PREFIXED"),
    allowed("GROUP", OLD_GROUP, "invoicing", "READ"),
}
NEW = {
    *(allowed("TOPIC", topic, "shop", "WRITE") for topic in TOPICS),
    *(allowed("TOPIC", topic, "invoicing", "READ") for topic in TOPICS),
    allowed("GROUP", NEW_GROUP, "invoicing", "READ"),
}


@pytest.fixture(scope="module")
def secured(own_kafka) -> Sandbox:
    """One broker, on which nobody may do anything without an ACL; users log in by SCRAM."""
    return own_kafka(
        sasl=True,
        users={"admin": "admin-secret", "shop": "shop-secret", "invoicing": "i-secret"},
        properties={"allow.everyone.if.no.acl.found": "false"},
    )


def login(secured: Sandbox, user: str) -> dict[str, str]:
    return {"bootstrap.servers": secured.servers, **secured.layout.client_configs(user=user)}


class Migration:
    """A repository, whose commits are the example's stages, of the secured cluster."""

    def __init__(self, folder: Path, secured: Sandbox, kgitops: Kgitops) -> None:
        self.folder = folder
        self._kgitops = kgitops
        project = yaml.safe_load((STAGES / "0-before/kgitops.yaml").read_text())
        configs = {**secured.configs, "sasl.password": "${env:MIGRATION_PASSWORD}"}
        cluster: Json = {"url": f"kafka://{secured.servers}", "configs": configs}
        project["spec"]["clusters"] = {"local": cluster}
        folder.mkdir()
        (folder / "kgitops.yaml").write_text(json.dumps(project))

    def apply(self, stage: str) -> None:
        """Applied, it plans to nothing."""
        manifests = self.folder / "manifests"
        shutil.rmtree(manifests, ignore_errors=True)
        shutil.copytree(STAGES / stage / "manifests", manifests)
        text = (manifests / "topics.yaml").read_text()  # there is one broker
        assert text.count("replicationFactor: 3") == len(TOPICS)
        (manifests / "topics.yaml").write_text(
            text.replace("replicationFactor: 3", "replicationFactor: 1")
        )
        assert self._plan()["changes"]
        applied = self._kgitops("apply", self.folder / "plan.json")
        assert applied.code == 0, applied.said
        again = self._plan()
        assert (again["changes"], again["drift"]) == ([], [])

    def binding_sheet(self, user: str) -> Json:
        """How this user's clients have to be configured."""
        ran = self._kgitops("vc", "bindings", "--user", user, "-c", "local")
        assert ran.code == 0, ran.said
        return yaml.safe_load(ran.out)[f"User:{user}"]

    def _plan(self) -> Json:
        saved = self.folder / "plan.json"
        saved.unlink(missing_ok=True)
        planned = self._kgitops("plan", self.folder, "-o", saved)
        assert planned.code == 0, planned.said
        return json.loads(saved.read_text())


@pytest.fixture
def migration(
    secured: Sandbox, here: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> Migration:
    """As it is before, applied."""
    monkeypatch.setenv("MIGRATION_PASSWORD", secured.configs["sasl.password"])
    found = Migration(here / "sales", secured, kgitops)
    monkeypatch.chdir(found.folder)
    found.apply("0-before")
    return found


@pytest.fixture
def brokers(secured: Sandbox) -> Iterator[KafkaCluster]:
    cluster = boot(secured.servers, secured.configs, Path())
    yield cluster
    cluster.close()


@pytest.fixture
def shop(secured: Sandbox, migration: Migration) -> Iterator[Shop]:
    """It is never stopped, whatever is applied."""
    del migration
    with Shop(login(secured, "shop")) as running:
        yield running


def invoicing(secured: Sandbox, group: str, reset: str = "error") -> Invoicing:
    return Invoicing(login(secured, "invoicing"), group, reset)


def committed(brokers: KafkaCluster, group: str) -> dict[Place, int]:
    return dict(brokers.read_group_offsets(frozenset({group})).get(group, {}))


def test_a_producer_and_a_consumer_are_migrated(
    secured: Sandbox, migration: Migration, brokers: KafkaCluster, shop: Shop
) -> None:
    """VC-114, VC-197, VC-347, VC-349: nothing is refused, lost, or read twice but what was told.

    Every consumer after the first fails where its group has committed nothing.
    """
    physical = topics(secured)
    readers = [invoicing(secured, OLD_GROUP, reset="earliest")]

    # 1: links. Nobody notices; it can be taken back and made again.
    with readers[-1] as reader:
        go_on(shop, reader)
        for stage in ("1-links", "0-before", "1-links"):
            migration.apply(stage)
            assert acls(secured) == OLD
            go_on(shop, reader)

        # 2: members. Both go on by their old rights.
        before = committed(brokers, OLD_GROUP)
        migration.apply("2-members")
        after = committed(brokers, OLD_GROUP)
        assert acls(secured) == OLD | NEW
        copied = committed(brokers, NEW_GROUP)
        assert copied.keys() == set(PLACES)
        assert all(before[place] <= copied[place] <= after[place] for place in PLACES)
        go_on(shop, reader)

    # The cut-over: it goes on at the copy, and reads again what was committed since.
    assert migration.binding_sheet("invoicing")["groups"] == {OLD_GROUP: NEW_GROUP}
    readers.append(invoicing(secured, NEW_GROUP))
    with readers[-1] as reader:
        go_on(shop, reader)
    assert readers[-1].first() == copied
    assert all(copied[place] < offset for place, offset in readers[-2].next().items())

    # Back again: the old group is where it was left.
    left = readers[-2].next()
    readers.append(invoicing(secured, OLD_GROUP))
    with readers[-1] as reader:
        go_on(shop, reader)
        migration.apply("1-links")
        assert acls(secured) == OLD
        go_on(shop, reader)
    assert readers[-1].first() == left
    assert committed(brokers, NEW_GROUP) == readers[-2].next()

    # Once more, from a fresh copy: with the consumer stopped nothing is read twice.
    secured.tool(GROUPS, "--delete", "--group", NEW_GROUP)
    migration.apply("2-members")
    copied = committed(brokers, NEW_GROUP)
    assert copied == readers[-1].next()
    readers.append(invoicing(secured, NEW_GROUP))
    with readers[-1] as reader:
        go_on(shop, reader)
        assert reader.first() == copied

        # 3: the old rights go, come back, and go.
        for stage, rights in (("3-no-old-acls", NEW), ("2-members", OLD | NEW)) * 2:
            migration.apply(stage)
            assert acls(secured) == rights
            go_on(shop, reader)
        migration.apply("3-no-old-acls")
        assert refused(login(secured, "invoicing"), OLD_GROUP) == "GROUP_AUTHORIZATION_FAILED"

        # 4: the long names go, which brokers never knew; and back, and again.
        for stage in ("4-short-names", "3-no-old-acls", "4-short-names"):
            migration.apply(stage)
            assert acls(secured) == NEW
            go_on(shop, reader)
    assert topics(secured) == physical

    # Every record was read by somebody, and whoever read it left none out.
    for reader in readers:
        for offsets in reader.read.values():
            assert offsets == list(range(offsets[0], offsets[-1] + 1))
    last = readers[-1].next()
    for place in PLACES:
        read = {offset for reader in readers for offset in reader.read[place]}
        assert read == set(range(last[place]))
    assert not shop.problems
    assert not [problem for reader in readers for problem in reader.problems]
