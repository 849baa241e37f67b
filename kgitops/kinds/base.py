"""The hooks of a kind that is one module: its stages call them."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from kgitops.desired.configs import config_text
from kgitops.desired.findings import Findings
from kgitops.desired.matching.reported_types import reported_problem, reported_text
from kgitops.kinds.exports import Exporting, Item, as_document, written_policy
from kgitops.manifests.kinds.amounts import meant
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.text import shown
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
from kgitops.model.values import overlaid
from kgitops.plan.document.losses import OBJECTS_LOST
from kgitops.plan.document.plan import Change, FieldChange
from kgitops.plan.document.risks import RISK_LEVELS, Risk
from kgitops.plan.engine import NO_VALUES, D, KindPlanner, Requested, Values, ValuesPlanner
from kgitops.plan.normal_form import in_order
from kgitops.plan.order.phases import Phase, either
from kgitops.plan.shown.values import (
    ContradictionError,
    Shown,
    Surroundings,
    altered,
    basis_of,
    created,
    is_adopted,
    last_applied_before,
    owner_after,
    reason_of_removal,
    releases_ownership,
    removed,
    requests_of,
)

_WORDS = {
    ConfigResourceType.GROUP: "group config",
    ConfigResourceType.CLIENT_METRICS: "config of client metrics",
    ConfigResourceType.BROKER: "broker config",
}
_LISTED = 20


class ObjectKind(KindPlanner[D]):
    """A kind: what its documents declare, its plan and its export."""

    lost: ClassVar[tuple[str, str]] = OBJECTS_LOST
    files: ClassVar[str]
    """The name of exported files."""
    phases: ClassVar[tuple[Phase, Phase]]
    """Those of an object that comes or changes, and of one that goes."""
    hooks: ClassVar[tuple[str, ...]] = ("declares", "files", "phases")

    @classmethod
    def missing_hooks(cls) -> Sequence[str]:
        """Return what the kind must have and has not."""
        return sorted((*cls.__abstractmethods__, *(it for it in cls.hooks if not hasattr(cls, it))))

    @classmethod
    @abstractmethod
    def build(
        cls,
        declared: Any,  # noqa: ANN401 (the document, of the class that the kind's module has)
        document: Document,
        findings: Findings,
    ) -> Iterable[DesiredObject]:
        """Return the objects that a document declares, in normal form."""

    @classmethod
    @abstractmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return a document for each object that the project may declare.

        What the project applied itself is written as it was.
        """

    @classmethod
    @abstractmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what a plan shows of a change, which follows from its requests and records."""

    @classmethod
    def defaults_shown(cls, change: Change) -> frozenset[str]:
        """Return the configs whose defaults on the brokers are shown, or that risks rest on."""
        del change
        return frozenset()

    @classmethod
    def phase(cls, change: Change) -> Phase:
        """Return when the change is made: as its removal, or as what comes or changes."""
        return either(change, *cls.phases)


class ValuesKind(ValuesPlanner[D], ObjectKind[D]):
    """A kind whose objects are maps of values."""

    adopted: ClassVar[Risk]
    removed: ClassVar[Risk]
    forgotten: ClassVar[Risk]
    created: ClassVar[tuple[Risk, ...]] = ()
    hooks = (*ObjectKind.hooks, "field", "adopted", "removed", "forgotten")

    @classmethod
    def risk(cls, key: str, before: str | None, after: str | None) -> Risk:
        """Return the risk of a value that changes, for ``shown_values``."""
        raise NotImplementedError

    @classmethod
    def held_before(cls, change: Change) -> Values:
        """Return the values that the object has before the change."""
        return cls.values(change.before) if change.before else NO_VALUES

    @classmethod
    def changed_fields(cls, change: Change, requested: Requested) -> tuple[FieldChange, ...]:
        """Return the fields of the values that are set and removed."""
        held = cls.held_before(change)
        return tuple(
            FieldChange(
                path=cls.path(key),
                before=held.get(key),
                after=value,
                risk=cls.risk(key, held.get(key), value),
            )
            for key, value in requested.items()
        )

    @classmethod
    def shown_values(cls, change: Change, requested: Requested) -> Shown:
        """Return what is shown of a change that sets and removes these values."""
        remaining = overlaid(cls.held_before(change), requested)
        fields = cls.changed_fields(change, requested)
        lost = [field.risk for field in fields if field.risk is not None]
        worst = min((cls.removed, *lost), key=lambda risk: RISK_LEVELS.index(risk.level))
        return cls.shown_as(
            change, remaining, fields, removal=worst if requested else cls.forgotten
        )

    @classmethod
    def shown_as(
        cls, change: Change, remaining: Values, fields: Sequence[FieldChange], *, removal: Risk
    ) -> Shown:
        """Return all that is shown, from the values that remain and the fields that change."""
        if releases_ownership(change):
            last, held = last_applied_before(change), cls.held_before(change)
            is_gone = not (
                change.requests or basis_of(change).in_part or set(last[cls.field]) & set(held)
            )
            return removed(
                change,
                risk=removal,
                because=reason_of_removal(change, gone=is_gone),
                remaining=cls.view(last, remaining) if remaining else None,
                fields=tuple(fields),
            )
        after = cls.view(owner_after(change).last_applied, remaining)
        if change.before is None:
            return created(change, after=after, fields=tuple(fields), risky=cls.created)
        adoption = cls.adopted if is_adopted(change) else None
        return altered(change, after=after, fields=tuple(fields), adoption=adoption)


class ConfigsKind(ValuesKind[D]):
    """A kind whose values are the configs of a resource that Kafka has by type and name.

    Unless it says otherwise, the resource exists as long as it has configs.
    """

    field = "configs"
    changed: ClassVar[Risk]
    hooks = (*ValuesKind.hooks, "changed")

    @classmethod
    def build(
        cls,
        declared: Any,  # noqa: ANN401 (as above)
        document: Document,
        findings: Findings,
    ) -> Iterable[DesiredObject]:
        """Return the resource that a document declares."""
        check_resource_name(declared.metadata.name, document, findings)
        return [cls.configured(declared, declared.spec.configs, document, findings)]

    @classmethod
    def configured(
        cls,
        declared: Any,  # noqa: ANN401 (as above)
        written: Mapping[str, ConfigValue],
        document: Document,
        findings: Findings,
    ) -> D:
        """Return the object that a document declares, with the configs that are ``written``."""
        kind, name, policy = cls.declares, declared.metadata.name, declared.spec.deletion_policy
        item: D = kind(
            address=config_resource_address(kind.resource, name),
            name=name,
            configs=_read(kind.resource, written, document, findings),
            deletion_policy=DeletionPolicy(policy) if policy else default_policy(kind),
            deletion_policy_written=policy is not None,
            labels=declared.metadata.labels,
            located=document,
        )
        return item

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown of a change of the configs."""
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


def _read(
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
