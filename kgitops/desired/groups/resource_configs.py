"""Reads the configs of groups and client metrics, and checks their names."""

from collections.abc import Mapping

from kgitops.desired.configs import config_text
from kgitops.desired.findings import Findings
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.text import shown
from kgitops.model.resources.config_resources import (
    ConfigResourceType,
    nearest_resource_config,
    normal_resource_value,
    resource_config_problem,
    resource_configs,
)
from kgitops.model.resources.names import text_problem
from kgitops.model.resources.topic_configs import ConfigType

_WORDS = {
    ConfigResourceType.GROUP: "group config",
    ConfigResourceType.CLIENT_METRICS: "config of client metrics",
}


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
        config = resource_configs(kind).get(key)
        if config is None:
            near = nearest_resource_config(kind, key)
            known = ", ".join(sorted(resource_configs(kind)))
            findings.error(
                document,
                path,
                f"Kafka has no {_WORDS[kind]} {shown(key)}",
                f"did you mean {near}?" if near else f"write one of {known}",
                key=True,
            )
            continue
        if isinstance(value, list) and config.type is not ConfigType.LIST:
            problem = f"{key} takes one value, not a list"
            findings.error(document, path, problem, "write the value alone")
            continue
        text = config_text(value, whole=config.type is ConfigType.INT)
        if wrong := resource_config_problem(kind, key, text):
            findings.error(document, path, wrong, "correct the value")
            continue
        configs[key] = normal_resource_value(kind, key, text)
    return configs
