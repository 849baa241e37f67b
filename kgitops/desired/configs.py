"""Reads declared topic configs into Kafka's normal form, and reports what Kafka would refuse."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct, field

from kgitops.desired.findings import Findings, counted
from kgitops.manifests.expanded import ExpandedDocument
from kgitops.manifests.kinds.fields import amount, meant
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.manifests.yaml.document import Document, scalar_text, shown
from kgitops.model.resources.config_resources import ConfigResourceType, known_configs
from kgitops.model.resources.topic_configs import (
    ConfigType,
    config_problem,
    configs_problems,
    is_throttle,
    nearest_config,
    normal_value,
    removed_config,
    topic_configs,
)

_PATH = ("spec", "configs")
_EXACT_FLOAT = 2**53
_WHOLE = (ConfigType.INT, ConfigType.LONG)
# Rules between configs apply only if one of these is set: most topics can skip the check.
START_A_RULE = ("min.compaction.lag.ms", "max.compaction.lag.ms", "remote.storage.enable")
_OF_BROKERS = (
    *("auto.", "broker.", "controller.", "group.", "leader.", "listener", "log.", "metadata."),
    *("metric", "node.", "num.", "offsets.", "process.", "queued.", "replica.", "sasl."),
    *("security.", "socket.", "ssl.", "transaction.", "zookeeper."),
)
_DOTTED_NAME = re.compile(r"[a-z]+(?:\.[a-z]+)+")


class ConfigReader(Struct):
    """Reads the configs of many topics; each key and value is checked once."""

    allowed: Sequence[str]
    findings: Findings
    _known: dict[tuple[str, type, object], str] = field(default_factory=dict)

    def read(self, configs: Mapping[str, ConfigValue], document: Document) -> dict[str, str]:
        """Return the configs in Kafka's normal form, without the values that are wrong."""
        result = {}
        for key, value in configs.items():
            identity = (key, value.__class__, str(value) if isinstance(value, list) else value)
            text = self._known.get(identity)
            if text is None:
                text = self._normal(key, value, document)
                if text is None:
                    continue
                if key in topic_configs():
                    self._known[identity] = text
            result[key] = text
        return result

    def check_together(
        self, configs: Mapping[str, str], document: Document, *, only_certain: bool = False
    ) -> None:
        """Report configs that contradict each other.

        ``only_certain``: a topic may add others, which count instead of Kafka's defaults.
        """
        if configs.keys().isdisjoint(START_A_RULE):
            return
        for key, problem in configs_problems(configs):
            named = {name for name in _DOTTED_NAME.findall(problem) if name in topic_configs()}
            involved = [(*_PATH, name) for name in sorted({key, *named} & configs.keys())]
            if named <= configs.keys():
                if not _is_checked(document, *involved):
                    advice = "change one of them"
                    self.findings.error(document, (*_PATH, key), problem, advice, also=involved)
            elif not only_certain:
                advice = "declare both, unless the cluster's defaults make it right"
                self.findings.warning(
                    document,
                    (*_PATH, key),
                    f"with Kafka's defaults {problem}",
                    advice,
                    also=involved,
                )

    def _normal(self, key: str, value: ConfigValue, document: Document) -> str | None:
        path = (*_PATH, key)
        if is_throttle(key):
            self.findings.error(
                document,
                path,
                f"{key} is set and removed while replicas are moved, so it can't be declared",
                "remove it, as kgitops throttles its own moves (spec.safety.replicationThrottle)",
                key=True,
            )
            return None
        config = topic_configs().get(key)
        if config is None and not any(fnmatchcase(key, pattern) for pattern in self.allowed):
            return self._unknown(key, value, document)
        if isinstance(value, list) and config is not None and config.type is not ConfigType.LIST:
            self.findings.error(
                document, path, f"{key} takes one value, not a list", "write the value alone"
            )
            return None
        text = config_text(value, whole=config is not None and config.type in _WHOLE)
        if problem := config_problem(key, text):
            problem += as_written(document, path, text)
            self.findings.error(document, path, problem, meant(key, text) or "correct the value")
            return None
        return normal_value(key, text)

    def _unknown(self, key: str, value: ConfigValue, document: Document) -> str | None:
        """Return the text of a config that the brokers may know, though kgitops does not."""
        path, text = (*_PATH, key), config_text(value, whole=False)
        if (instead := removed_config(key)) is not None:
            problem = f"Kafka 4 has no topic config {key} any more"
            self.findings.error(document, path, problem, instead, key=True)
            return None
        known_to_brokers = key in known_configs(ConfigResourceType.BROKER)
        nearest = nearest_config(key, misspelt=not known_to_brokers)
        problem, advice = f"Kafka has no topic config {shown(key)}", f"did you mean {nearest}?"
        of_brokers = nearest is None and (known_to_brokers or key.startswith(_OF_BROKERS))
        if of_brokers:
            problem, advice = f"{shown(key)} is a config of brokers, not of topics", "remove it"
        elif nearest is None:
            advice = "remove it, or let it through with spec.allowConfigs in the project file"
        self.findings.unknown_config(
            document,
            path,
            problem,
            advice,
            kind=None,
            text=text,
            listed=isinstance(value, list),
            doubt=None if of_brokers or nearest else f"kgitops knows no topic config {shown(key)}",
        )
        return text


def check_min_insync_replicas(
    configs: Mapping[str, str], replication_factor: int, document: Document, findings: Findings
) -> None:
    """Report a topic that can't be written to with acks=all."""
    least = configs.get("min.insync.replicas")
    if least is None or int(least) <= replication_factor:
        return
    path, size = (*_PATH, "min.insync.replicas"), ("spec", "replicationFactor")
    if _is_checked(document, path, size):
        return
    replicas = counted(replication_factor, "replica")
    findings.warning(
        document,
        path,
        f"min.insync.replicas is {least} but each partition has {replicas}, "
        "so no producer with acks=all can write",
        "lower it, or raise replicationFactor",
        also=[size],
    )


def _is_checked(document: Document, *paths: tuple[str, ...]) -> bool:
    """Return whether the values are of one profile, which is reported itself."""
    return isinstance(document, ExpandedDocument) and document.is_given_together(*paths)


def config_text(value: ConfigValue, *, whole: bool) -> str:
    """Return the text of a config's value; a ``whole`` number may be written as 1.0."""
    match value:
        case list():
            return ",".join(config_text(item, whole=whole) for item in value)
        case float() if whole and value.is_integer() and abs(value) < _EXACT_FLOAT:
            return str(int(value))
        case _:
            return scalar_text(value)


def as_written(document: Document, path: tuple[str, ...], text: str) -> str:
    """The number as it is written with a unit, for the end of a sentence: `` (10GiB)``."""
    written = document.written(*path)
    return f" ({written})" if written and str(amount(path[-1], written)) == text else ""
