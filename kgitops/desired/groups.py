"""Builds consumer groups, client metrics and broker configs from their documents."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from kgitops.desired.configs import config_text
from kgitops.desired.findings import Findings, Path, scope_of
from kgitops.desired.virtual_clusters.members import build_local_group
from kgitops.manifests.kinds.amounts import meant
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.text import shown
from kgitops.model.json.declared import (
    DeletionPolicy,
    DesiredBrokerConfig,
    DesiredClientMetrics,
    DesiredConfigs,
    DesiredGroup,
    DesiredMember,
    OffsetReset,
    default_policy,
)
from kgitops.model.resources.addresses import config_resource_address
from kgitops.model.resources.config_resources import (
    ALL_BROKERS,
    ConfigResourceType,
    nearest_resource_config,
    normal_resource_value,
    refused_broker_config,
    resource_config_problem,
    resource_configs,
)
from kgitops.model.resources.kinds import is_declarable
from kgitops.model.resources.names import is_internal, text_problem, topic_name_problem
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.resources.topics import RATES

if TYPE_CHECKING:
    from kgitops.manifests.kinds.consumer_group import ConsumerGroup, ResetOffsets

C = TypeVar("C", bound=DesiredConfigs)
_RESET: Path = ("spec", "resetOffsets")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
if TYPE_CHECKING:
    from kgitops.manifests.kinds.broker_config import BrokerConfig
    from kgitops.manifests.kinds.client_metrics import ClientMetrics
_WORDS = {
    ConfigResourceType.GROUP: "group config",
    ConfigResourceType.CLIENT_METRICS: "config of client metrics",
    ConfigResourceType.BROKER: "broker config",
}
_LISTED = 20
_LEAVE = "remove it, and set it in the broker's properties file"
_INSTEAD = dict.fromkeys(RATES, "remove it: --replication-throttle sets how fast replicas move")


def build_group(
    declared: "ConsumerGroup", document: Document, findings: Findings
) -> DesiredGroup | DesiredMember:
    """Build the group that a document declares, of the cluster or of a virtual cluster."""
    scope = scope_of(declared.metadata.virtual_cluster)
    if scope is not None:
        return build_local_group(declared, scope, document, findings)
    name, spec = declared.metadata.name, declared.spec
    check_resource_name(name, document, findings)
    for field, written in (("adopt", spec.adopt), ("copyOffsets", spec.copy_offsets)):
        if written is not None:
            findings.error(
                document,
                ("spec", field),
                f"only a group of a virtual cluster has {field}",
                "remove it, or add metadata.virtualCluster",
                key=True,
            )
    group = _configured(DesiredGroup, declared, spec.configs, document, findings)
    reset = _reset(spec.reset_offsets, document, findings) if spec.reset_offsets else None
    return replace(group, reset=reset)


def _reset(written: "ResetOffsets", document: Document, findings: Findings) -> OffsetReset | None:
    """Return the reset; None if it does not say where to."""
    topics = tuple(sorted(set(written.topics or ())))
    _check_topics(topics, (*_RESET, "topics"), document, findings)
    if isinstance(written.to, str):
        _require_topics(topics, document, findings)
        return OffsetReset(version=written.version, position=written.to, topics=topics)
    at, offsets = written.to.timestamp, written.to.offsets
    if (at is None) == (offsets is None):
        problem = "the target has both a timestamp and offsets" if at else "the target is empty"
        findings.error(document, (*_RESET, "to"), problem, "write exactly one of the two")
        return None
    if offsets is not None:
        if topics:
            problem = "explicit offsets name their topics themselves"
            findings.error(document, (*_RESET, "topics"), problem, "remove topics", key=True)
        _check_topics(tuple(offsets), (*_RESET, "to", "offsets"), document, findings)
        return OffsetReset(version=written.version, offsets=offsets)
    _require_topics(topics, document, findings)
    timestamp_ms = _milliseconds(at or "")
    if timestamp_ms is None:
        findings.error(
            document,
            (*_RESET, "to", "timestamp"),
            f"{shown(at or '')} is not a time with its zone, from 1970 on",
            "write it as 2026-11-01T00:00:00Z, or with an offset such as +01:00",
        )
        return None
    return OffsetReset(version=written.version, timestamp_ms=timestamp_ms, topics=topics)


def _require_topics(topics: tuple[str, ...], document: Document, findings: Findings) -> None:
    if not topics:
        problem = "resetOffsets names no topics"
        findings.error(document, _RESET, problem, "add topics: those whose offsets are reset")


def _check_topics(
    topics: tuple[str, ...], path: Path, document: Document, findings: Findings
) -> None:
    for topic in topics:
        problem: str | None = topic_name_problem(topic)
        if problem is None and is_internal(topic):
            problem = f"the topic {topic} is internal"
        if problem:
            findings.error(document, path, problem, "name topics that the group reads")


def _milliseconds(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None or moment < _EPOCH:
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def build_client_metrics(
    declared: "ClientMetrics", document: Document, findings: Findings
) -> DesiredClientMetrics:
    """Build the subscription that a document declares."""
    check_resource_name(declared.metadata.name, document, findings)
    return _configured(DesiredClientMetrics, declared, declared.spec.configs, document, findings)


def build_broker_config(
    declared: "BrokerConfig", document: Document, findings: Findings
) -> DesiredBrokerConfig | None:
    """Build the configs of brokers that a document declares; None if it names no broker."""
    name, spec = declared.metadata.name, declared.spec
    if not is_declarable(config_resource_address(ConfigResourceType.BROKER, name)):
        findings.error(
            document,
            ("metadata", "name"),
            f"{shown(name)} is neither the id of a broker nor {ALL_BROKERS}",
            f'write the id, such as "1", or "{ALL_BROKERS}" for all brokers',
        )
        return None
    written = dict(spec.configs)
    for key in spec.configs:
        if refused := refused_broker_config(key):
            del written[key]
            path = ("spec", "configs", key)
            findings.error(document, path, f"{key} {refused}", _INSTEAD.get(key, _LEAVE), key=True)
    return _configured(DesiredBrokerConfig, declared, written, document, findings)


def _configured(
    kind: type[C],
    declared: "ConsumerGroup | ClientMetrics | BrokerConfig",
    written: Mapping[str, ConfigValue],
    document: Document,
    findings: Findings,
) -> C:
    name, policy = declared.metadata.name, declared.spec.deletion_policy
    return kind(
        address=config_resource_address(kind.resource, name),
        name=name,
        configs=read_resource_configs(kind.resource, written, document, findings),
        deletion_policy=DeletionPolicy(policy) if policy else default_policy(kind),
        deletion_policy_written=policy is not None,
        labels=declared.metadata.labels,
        located=document,
    )


def check_resource_name(name: str, document: Document, findings: Findings) -> None:
    """Report a name that no group or subscription can have."""
    if problem := text_problem(name):
        findings.error(document, ("metadata", "name"), f"the name {problem}", "shorten it")


def read_resource_configs(
    kind: ConfigResourceType,
    written: Mapping[str, ConfigValue],
    document: Document,
    findings: Findings,
) -> dict[str, str]:
    """Return the configs in normal form, without those that are wrong."""
    configs = {}
    for key, value in written.items():
        path = ("spec", "configs", key)
        reader = resource_configs(kind).get(key)
        if reader is None:
            near = nearest_resource_config(kind, key)
            known = sorted(resource_configs(kind))
            others = f"write one of {', '.join(known)}"
            if len(known) > _LISTED:
                others = "correct the key, or remove it"
            configs[key] = config_text(value, whole=False)
            findings.unknown_config(
                document,
                path,
                f"Kafka has no {_WORDS[kind]} {shown(key)}",
                f"did you mean {near}?" if near else others,
                kind=kind,
                text=configs[key],
                listed=isinstance(value, list),
                doubt=None if near else f"kgitops knows no {_WORDS[kind]} {shown(key)}",
            )
            continue
        if isinstance(value, list) and reader.config.type is not ConfigType.LIST:
            problem = f"{key} takes one value, not a list"
            findings.error(document, path, problem, "write the value alone")
            continue
        text = config_text(value, whole=reader.config.type is ConfigType.INT)
        if wrong := resource_config_problem(kind, key, text):
            findings.error(document, path, wrong, meant(key, text) or "correct the value")
            continue
        configs[key] = normal_resource_value(kind, key, text)
    return configs
