"""``kind: BrokerConfig``: dynamic configs of one broker, or of all of them (KIP-226)."""

from collections.abc import Sequence
from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.desired.findings import Findings
from kgitops.kinds.base import Values
from kgitops.kinds.configs import ConfigsKind
from kgitops.kinds.topics.configs import config_risk
from kgitops.manifests.kinds.fields import Amounts, NotNull, manifest
from kgitops.manifests.kinds.parts import Metadata
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.manifests.yaml.document import Document, shown
from kgitops.model.json.declared import DesiredBrokerConfig, Record
from kgitops.model.resources.addresses import config_resource_address
from kgitops.model.resources.config_resources import (
    ALL_BROKERS,
    ConfigResourceType,
    is_set_by_kafka,
    refused_broker_config,
    topic_configs_by_default,
)
from kgitops.model.resources.kinds import is_declarable
from kgitops.model.resources.topics import RATES
from kgitops.model.source import Finding
from kgitops.plan.document import risks
from kgitops.plan.document.risks import Risk, RiskLevel
from kgitops.plan.phases import Phase

_LEAVE = "remove it, and set it in the broker's properties file"
_INSTEAD = dict.fromkeys(
    RATES, "remove it: spec.safety.replicationThrottle says how fast replicas move"
)


@manifest
class BrokerConfigSpec:
    """The configs; others of the brokers are left alone."""

    configs: Annotated[dict[str, ConfigValue], MinLen(1), Amounts()]
    """Kafka's own keys, those that brokers take while they run. Passwords, listeners and
    replication throttles are refused."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete (the default), which makes brokers fall back to
    their properties files, Protect or Orphan."""


@manifest
class BrokerConfig:
    """Dynamic configs of brokers; metadata.name is a broker's id, or <default> for all brokers.

    Example:
        apiVersion: kgitops/v1
        kind: BrokerConfig
        metadata: {name: <default>}
        spec:
          configs:
            log.retention.ms: 7d
            num.io.threads: 16
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["BrokerConfig"]
    """The kind of the document."""
    metadata: Metadata
    """The metadata of the document."""
    spec: BrokerConfigSpec
    """The configs."""


class BrokerConfigKind(ConfigsKind[DesiredBrokerConfig]):
    """The configs of single brokers, and of all; throttles belong to moves of replicas."""

    declares, changed = DesiredBrokerConfig, risks.BROKER_CONFIG_SET
    adopted, removed = risks.BROKER_CONFIG_ADOPT, risks.BROKER_CONFIG_REMOVE
    forgotten = risks.BROKER_CONFIG_FORGET
    noun = "broker config"
    files, phases = "broker-configs", (Phase.QUOTA, Phase.QUOTA_REMOVE)
    lost = "records of topics with default configs may be lost", ""

    @classmethod
    def build(
        cls,
        declared: BrokerConfig,
        document: Document,
        findings: Findings,
    ) -> Sequence[DesiredBrokerConfig]:
        """Return the configs of brokers that a document declares; none if it names no broker."""
        name, spec = declared.metadata.name, declared.spec
        if not is_declarable(config_resource_address(ConfigResourceType.BROKER, name)):
            findings.error(
                document,
                ("metadata", "name"),
                f"{shown(name)} is neither the id of a broker nor {ALL_BROKERS}",
                f'write the id, such as "1", or "{ALL_BROKERS}" for all brokers',
            )
            return ()
        written = dict(spec.configs)
        for key in spec.configs:
            if refused := refused_broker_config(key):
                del written[key]
                path = ("spec", "configs", key)
                advice = _INSTEAD.get(key, _LEAVE)
                findings.error(document, path, f"{key} {refused}", advice, key=True)
        return [cls.configured(declared, written, document, findings)]

    def fits(self, item: DesiredBrokerConfig) -> bool:
        """Return whether the cluster has the broker; else add a finding."""
        ids = sorted(broker.id for broker in self.current.brokers)
        if item.name == ALL_BROKERS or int(item.name) in ids:
            return True
        finding = Finding(
            source=item.located.at("metadata", "name"),
            problem=f"the cluster has no broker {item.name}, only {', '.join(map(str, ids))}",
            advice="correct the id, or name the clusters that have it under metadata.clusters",
        )
        self.context.stop(item.address, finding)
        return False

    def held(self, record: Record) -> Values:
        """Return the dynamic configs, without throttles."""
        held = super().held(record)
        return {key: value for key, value in held.items() if key not in RATES}

    @classmethod
    def risk(cls, key: str, before: str | None, after: str | None) -> Risk:
        """Return whether topics that don't set the config themselves may lose records.

        What the properties files of brokers say is not known: the worse is assumed.
        """
        topic = topic_configs_by_default().get(key)
        if topic is not None:
            for value in (after,) if after is not None else (None, topic.default):
                harm = config_risk(topic.name, before, value, removed=after is None)
                if harm.level is RiskLevel.DATA_LOSS:
                    return risks.BROKER_CONFIG_DATA
        return super().risk(key, before, after)

    def report_drift(self, address: str, declared: Values, last: Values, held: Values) -> None:
        """Report the values that another client changed; what Kafka sets itself is none."""
        own = {*declared, *last}
        found = {k: v for k, v in held.items() if k in own or not is_set_by_kafka(k, v)}
        super().report_drift(address, declared, last, found)

    @classmethod
    def is_kafkas(cls, key: str, value: str) -> bool:
        """Return whether Kafka, or a move of replicas, sets this config by itself."""
        return key in RATES or is_set_by_kafka(key, value)
