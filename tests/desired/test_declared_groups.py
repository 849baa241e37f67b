"""Groups of the cluster and client metrics: what documents declare, and what is wrong with them."""

from pathlib import Path

import pytest
from manifests.loading import build, declaration, findings, load, write

from kgitops.desired.last_applied import RegistrySource
from kgitops.model.json.declared import (
    DeletionPolicy,
    DesiredBrokerConfig,
    DesiredClientMetrics,
    DesiredGroup,
    DesiredObject,
    OffsetReset,
    declared_object,
    last_applied,
)
from kgitops.model.resources.config_resources import (
    ConfigResourceType,
    known_configs,
    refused_broker_config,
    resource_configs,
)

NOON_MS = 1_793_534_400_000


def group(spec: str = "{}", metadata: str = "{name: billing}") -> str:
    return declaration("ConsumerGroup", metadata, spec)


def metrics(spec: str) -> str:
    return declaration("ClientMetrics", "{name: lag}", spec)


def brokers(spec: str, name: str = "<default>") -> str:
    return declaration("BrokerConfig", f"{{name: '{name}'}}", spec)


def reset(to: str, more: str = "topics: [orders]") -> str:
    return group(f"{{resetOffsets: {{version: '1', to: {to}, {more}}}}}")


def one(folder: Path, text: str) -> DesiredObject:
    write(folder, {"a.yaml": text})
    (built,) = build(load(folder)).objects
    return built


def said(folder: Path, text: str) -> list[str]:
    write(folder, {"a.yaml": text})
    return findings(load(folder))


def test_a_group_has_all_it_declares(tmp_path: Path) -> None:
    spec = "{configs: {consumer.session.timeout.ms: 45000, share.isolation.level: read_committed}}"
    built = one(tmp_path, group(spec))
    assert built == DesiredGroup(
        address="group/billing",
        name="billing",
        configs={
            "consumer.session.timeout.ms": "45000",
            "share.isolation.level": "read_committed",
        },
        located=built.located,
    )
    assert built.deletion_policy is DeletionPolicy.PROTECT


def test_client_metrics_have_all_they_declare(tmp_path: Path) -> None:
    built = one(
        tmp_path, metrics("{configs: {metrics: [b., a., b.], interval.ms: '060000', match: ''}}")
    )
    assert built == DesiredClientMetrics(
        address="client-metrics/lag",
        name="lag",
        configs={"metrics": "a.,b.", "interval.ms": "60000", "match": ""},
        located=built.located,
    )


@pytest.mark.parametrize("name", ["<default>", "0", "12"])
def test_broker_configs_have_all_they_declare(tmp_path: Path, name: str) -> None:
    built = one(tmp_path, brokers("{configs: {log.retention.ms: 1m, num.io.threads: 9}}", name))
    assert built == DesiredBrokerConfig(
        address=f"broker-config/{name}",
        name=name,
        configs={"log.retention.ms": "60000", "num.io.threads": "9"},
        located=built.located,
    )
    assert declared_object(built.address, last_applied(built), built.located) == built


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (reset("earliest"), OffsetReset(version="1", position="earliest", topics=("orders",))),
        (
            reset("latest", "topics: [b, a, b]"),
            OffsetReset(version="1", position="latest", topics=("a", "b")),
        ),
        (
            reset("{timestamp: '2026-11-01T12:00:00Z'}"),
            OffsetReset(version="1", timestamp_ms=NOON_MS, topics=("orders",)),
        ),
        (
            reset("{timestamp: '2026-11-01T13:00:00+01:00'}"),
            OffsetReset(version="1", timestamp_ms=NOON_MS, topics=("orders",)),
        ),
        (
            group("{resetOffsets: {version: '1', to: {offsets: {orders: {0: 1500, 1: 0}}}}}"),
            OffsetReset(version="1", offsets={"orders": {0: 1500, 1: 0}}),
        ),
    ],
    ids=["earliest", "latest", "timestamp", "offset of a zone", "offsets"],
)
def test_a_reset_says_where_to(tmp_path: Path, text: str, expected: OffsetReset) -> None:
    built = one(tmp_path, text)
    assert isinstance(built, DesiredGroup)
    assert built.reset == expected
    # The registry remembers all of it.
    again = declared_object(built.address, last_applied(built), RegistrySource(built.address))
    assert isinstance(again, DesiredGroup)
    assert again.reset == expected


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        (reset("earliest", ""), "4:", "resetOffsets names no topics"),
        (reset("sometime"), "4:", "must be earliest, latest, {timestamp: TIME} or"),
        (reset("{}"), "4:", "the target is empty"),
        (
            reset("{timestamp: '2026-11-01T00:00:00Z', offsets: {orders: {0: 1}}}"),
            "4:",
            "both a timestamp and offsets",
        ),
        (reset("{timestamp: '2026-11-01T00:00:00'}"), "4:", "is not a time with its zone"),
        (reset("{timestamp: '1960-01-01T00:00:00Z'}"), "4:", "is not a time with its zone"),
        (reset("{timestamp: yesterday}"), "4:", "'yesterday' is not a time"),
        (reset("{offsets: {orders: {0: 1}}}"), "4:", "name their topics themselves"),
        (reset("latest", "topics: [__consumer_offsets]"), "4:", "is internal"),
        (reset("latest", "topics: ['a b']"), "4:", "contains ' '"),
        (group("{adopt: old}"), "4:", "only a group of a virtual cluster has adopt"),
        (group("{copyOffsets: true}"), "4:", "only a group of a virtual cluster has copyOffsets"),
        (
            group("{configs: {consumer.session.timeout.ms: 1}}", "{name: g, virtualCluster: emea}"),
            "4:",
            "a group of a virtual cluster can't have configs",
        ),
        (
            group(
                "{resetOffsets: {version: '1', to: latest, topics: [a]}}",
                "{name: g, virtualCluster: emea}",
            ),
            "4:",
            "a group of a virtual cluster can't have resetOffsets",
        ),
        (
            group("{configs: {consumer.session.timout.ms: 1}}"),
            "4:",
            "did you mean consumer.session.timeout.ms?",
        ),
        (
            group("{configs: {consumer.session.timeout.ms: soon}}"),
            "4:",
            "must be a whole number",
        ),
        (group("{configs: {share.delivery.count.limit: [1]}}"), "4:", "takes one value"),
        (group("{configs: {share.isolation.level: any}}"), "4:", "one of read_committed"),
        (metrics("{configs: {retention.ms: 1}}"), "4:", "kgitops knows no config of client"),
        (metrics("{configs: {}}"), "4:", "configs"),
        (brokers("{configs: {log.dirs: /x}}"), "4:", "log.dirs is read when a broker starts"),
        (brokers("{configs: {num.io.thread: 1}}"), "4:", "did you mean num.io.threads?"),
        (brokers("{configs: {ssl.keystore.password: x}}"), "4:", "is a password"),
        (brokers("{configs: {listener.name.x.ssl.client.auth: none}}"), "4:", "to listeners"),
        (brokers("{configs: {num.io.threads: many}}"), "4:", "a whole number"),
        (brokers("{configs: {log.cleanup.policy: shred}}"), "4:", "a list of compact and delete"),
        (brokers("{configs: {num.io.threads: 8}}", "one"), "3:", "neither the id of a broker"),
        (brokers("{configs: {num.io.threads: 8}}", "01"), "3:", "neither the id of a broker"),
        (
            brokers("{configs: {leader.replication.throttled.rate: 1}}"),
            "4:",
            "spec.safety.replicationThrottle says how fast",
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_place(
    tmp_path: Path, text: str, place: str, problem: str
) -> None:
    (finding,) = said(tmp_path, text)
    assert f"a.yaml:{place}" in finding
    assert problem in finding


def test_a_name_is_declared_once_and_may_be_one_of_a_virtual_cluster_too(tmp_path: Path) -> None:
    assert "group/billing" in " ".join(said(tmp_path, f"{group()}---\n{group()}"))
    inside = group("{}", "{name: billing, virtualCluster: emea}")
    write(tmp_path, {"a.yaml": f"{group()}---\n{inside}"})
    addresses = [item.address for item in build(load(tmp_path)).objects]
    assert sorted(addresses) == ["group/billing", "vc/emea/group/billing"]


@pytest.mark.parametrize("kind", ConfigResourceType)
def test_kafkas_own_defaults_can_be_declared(kind: ConfigResourceType) -> None:
    for name, reader in resource_configs(kind).items():
        default = known_configs(kind)[name].default
        assert default is None or reader.legal_value(default) is not None, name


def test_what_documents_cant_declare_of_brokers() -> None:
    declarable = resource_configs(ConfigResourceType.BROKER)
    for name, known in known_configs(ConfigResourceType.BROKER).items():
        refused = refused_broker_config(name)
        assert (name in declarable) is (refused is None)
        if known.read_only or known.sensitive or name.startswith(("ssl.", "sasl.", "listener")):
            assert refused
