"""Builds what is configs of a resource that Kafka has by type and name."""

from collections.abc import Mapping
from typing import Any, TypeVar

from kgitops.desired.configs import config_text
from kgitops.desired.findings import Findings
from kgitops.manifests.kinds.amounts import meant
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.text import shown
from kgitops.model.json.declared import DeletionPolicy, DesiredConfigs, default_policy
from kgitops.model.resources.addresses import config_resource_address
from kgitops.model.resources.config_resources import (
    ConfigResourceType,
    nearest_resource_config,
    normal_resource_value,
    resource_config_problem,
    resource_configs,
)
from kgitops.model.resources.names import text_problem
from kgitops.model.resources.topic_configs import ConfigType

C = TypeVar("C", bound=DesiredConfigs)
_WORDS = {
    ConfigResourceType.GROUP: "group config",
    ConfigResourceType.CLIENT_METRICS: "config of client metrics",
    ConfigResourceType.BROKER: "broker config",
}
_LISTED = 20


def configured(
    kind: type[C],
    declared: Any,  # noqa: ANN401 (a document with metadata, and spec.deletionPolicy)
    written: Mapping[str, ConfigValue],
    document: Document,
    findings: Findings,
) -> C:
    """The object that a document declares, with the configs that are ``written``."""
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
