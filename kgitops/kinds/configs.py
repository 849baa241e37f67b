"""The kinds whose values are configs of a resource that Kafka has by type and name."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from kgitops.desired.configs import config_text
from kgitops.desired.findings import Findings
from kgitops.desired.reported_types import reported_problem, reported_text
from kgitops.kinds.base import NO_VALUES, D, Requested, Values, ValuesKind
from kgitops.kinds.exports import Exporting, Item, as_document, written_policy
from kgitops.manifests.kinds.fields import meant
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.manifests.yaml.document import Document, shown
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredObject, Record, default_policy
from kgitops.model.registry import Json
from kgitops.model.requests import AlterConfigResourceRequest, Request
from kgitops.model.resources.addresses import config_resource_address
from kgitops.model.resources.config_resources import (
    ConfigResourceType,
    FoundConfigs,
    nearest_resource_config,
    normal_resource_configs,
    normal_resource_value,
    resource_config_problem,
    resource_configs,
)
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.names import text_problem
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.resources.topics import RATES
from kgitops.plan.document.plan import Change
from kgitops.plan.document.risks import Risk
from kgitops.plan.normal_form import in_order
from kgitops.plan.shown_values import ContradictionError, Shown, Surroundings, requests_of

_LISTED = 20


class ConfigsKind(ValuesKind[D]):
    """A kind whose values are the configs of a resource that Kafka has by type and name.

    Unless it says otherwise, the resource exists as long as it has configs.
    """

    field = "configs"
    changed: ClassVar[Risk]
    noun: ClassVar[str]
    """A config of it in words: ``broker config``."""
    hooks = (*ValuesKind.hooks, "changed", "noun")

    @classmethod
    def build(
        cls,
        declared: Any,  # noqa: ANN401 (the document, of the class that the kind's module has)
        document: Document,
        findings: Findings,
    ) -> Iterable[DesiredObject]:
        """Return the resource that a document declares."""
        check_resource_name(declared.metadata.name, document, findings)
        return [cls.configured(declared, declared.spec.configs, document, findings)]

    @classmethod
    def configured(
        cls,
        declared: Any,  # noqa: ANN401 (the document, of the class that the kind's module has)
        written: Mapping[str, ConfigValue],
        document: Document,
        findings: Findings,
    ) -> D:
        """Return the object that a document declares, with the configs that are ``written``."""
        kind, name, policy = cls.declares, declared.metadata.name, declared.spec.deletion_policy
        item: D = kind(
            address=config_resource_address(kind.resource, name),
            name=name,
            configs=cls._read(written, document, findings),
            deletion_policy=DeletionPolicy(policy) if policy else default_policy(kind),
            deletion_policy_written=policy is not None,
            labels=declared.metadata.labels,
            located=document,
        )
        return item

    @classmethod
    def _read(
        cls,
        written: Mapping[str, ConfigValue],
        document: Document,
        findings: Findings,
    ) -> dict[str, str]:
        """Return the configs in normal form, without those that are wrong."""
        kind: ConfigResourceType = cls.declares.resource
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
                    f"Kafka has no {cls.noun} {shown(key)}",
                    f"did you mean {near}?" if near else others,
                    kind=kind,
                    text=configs[key],
                    listed=isinstance(value, list),
                    doubt=None if near else f"kgitops knows no {cls.noun} {shown(key)}",
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

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        del around
        requested: dict[str, str | None] = {}
        for request in requests_of(change):
            if not isinstance(request, AlterConfigResourceRequest):
                raise ContradictionError("has a request for something else")
            requested |= request.configs
        return cls.shown_values(change, requested)

    @classmethod
    def view(cls, record: Record, values: Values) -> dict[str, Json]:
        """Return the resource with its configs."""
        return {
            "kind": cls.declares.kind.value,
            "name": record["name"],
            "configs": in_order(values),
        }

    @classmethod
    def risk(cls, key: str, before: str | None, after: str | None) -> Risk:
        """Return whether the config is set or goes."""
        del key, before
        return cls.removed if after is None else cls.changed

    def existing(self) -> Iterable[str]:
        """Return the addresses of all resources that were read."""
        kind = self.declares.resource
        return (
            address
            for address, found in self.current.objects.items()
            if isinstance(found, FoundGroup | FoundConfigs) and found.type is kind
        )

    def held(self, record: Record) -> Values:
        """Return the configs of the resource."""
        kind = self.declares.resource
        found = self.current.objects.get(config_resource_address(kind, record["name"]))
        if not isinstance(found, FoundGroup | FoundConfigs):
            return NO_VALUES
        return normal_resource_configs(kind, found.configs)

    def requests(self, record: Record, requested: Requested) -> Sequence[Request]:
        """Return the request that sets and removes all configs."""
        name, configs = record["name"], dict(requested)
        return [
            AlterConfigResourceRequest(
                resource_type=self.declares.resource, resource_name=name, configs=configs
            )
        ]

    @classmethod
    def audited(cls, current: ClusterState) -> Iterable[Request]:
        """Return a request for each resource with configs, by address."""
        for _, found in sorted(current.objects.items()):
            if isinstance(found, FoundGroup | FoundConfigs) and found.type is cls.declares.resource:
                configs = {key: it for key, it in found.configs.items() if key not in RATES}
                if configs:
                    yield AlterConfigResourceRequest(
                        resource_type=found.type, resource_name=found.name, configs=configs
                    )

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return every resource with configs of its own."""
        items: list[Item] = []
        for address, found in sorted(of.state.objects.items()):
            if not isinstance(found, FoundConfigs) or found.type is not cls.declares.resource:
                continue
            if not of.scope.may_declare(address):
                continue
            last = of.scope.last_applied(address)
            own = last.get("configs", {})
            held = {k: v for k, v in found.configs.items() if k in own or not cls.is_kafkas(k, v)}
            configs = cls.exported_configs(address, held, last, of)
            if configs:
                spec = {"configs": configs, **written_policy(last)}
                document = as_document(cls.declares.kind.value, found.name, spec)
                items.append(Item(found.name, [document]))
            elif held:
                of.notes.lost.add(address)
        return items

    @classmethod
    def is_kafkas(cls, key: str, value: str) -> bool:
        """Return whether Kafka sets this config by itself."""
        del key, value
        return False

    @classmethod
    def exported_configs(
        cls,
        address: str,
        configs: Mapping[str, str],
        last: Mapping[str, Json],
        of: Exporting,
    ) -> dict[str, Json]:
        """Return those that can be declared; of others that were applied, the value of then."""
        kind = cls.declares.resource
        applied: Mapping[str, str] = last.get("configs", {})
        written: dict[str, Json] = {}
        for key, value in sorted(configs.items()):
            type_ = of.reported.get(key)
            if key in resource_configs(kind):
                problem = resource_config_problem(kind, key, value)
            elif type_ is None:
                problem = f"the config {key} is not known to kgitops"
            else:
                problem = reported_problem(key, type_, value)
            if problem is None:
                written[key] = _written(kind, key, value, type_)
            elif key in applied:
                written[key] = _written(kind, key, applied[key], type_)
                of.notes.add(address, f"{problem}; the value last applied is written instead")
            else:
                of.notes.add(address, f"{problem}; it is left out and stays as it is")
        return written


def _written(kind: ConfigResourceType, key: str, value: str, reported: ConfigType | None) -> Json:
    """As a person would write it: numbers, booleans and lists plain, the rest as Kafka does."""
    text = normal_resource_value(kind, key, value)
    text = text if reported is None else reported_text(key, reported, value)
    reader = resource_configs(kind).get(key)
    match reader.config.type if reader else reported:
        case ConfigType.BOOLEAN:
            return text == "true"
        case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
            return int(text)
        case ConfigType.LIST:
            return list(filter(None, text.split(",")))
        case _:
            return text


def check_resource_name(name: str, document: Document, findings: Findings) -> None:
    """Report a name that no group or subscription can have."""
    if problem := text_problem(name):
        findings.error(document, ("metadata", "name"), f"the name {problem}", "shorten it")
