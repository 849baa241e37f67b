"""Terraform's state files, which have every resource with the values that were applied."""

from collections.abc import Iterator

from kgitops.conversion.objects import SourceObject
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import YamlFile, lost_document
from kgitops.conversion.reading.values import Fields, Value
from kgitops.conversion.tools.terraform.resources import REFUSED, RESOURCES, resource_object

_VERSION = 4


def read_state(state: YamlFile) -> Iterator[SourceObject]:
    """The resources of Kafka's providers; the others are none of kgitops's."""
    yield from state.broken
    for document in state.documents:
        fields = Fields(document, [])
        version = fields.integer("version")
        if version != _VERSION:
            problem = f"it is no state file of version {_VERSION}"
            yield lost_document(document, problem, "write one with `terraform state pull`")
            continue
        for resource in fields.items("resources"):
            yield from _resource(resource)


def _resource(value: Value) -> Iterator[SourceObject]:
    fields = Fields(value, [])
    kind, name = fields.text("type") or "", fields.text("name") or ""
    known = kind in RESOURCES or kind in REFUSED or kind.startswith(("kafka_", "confluent_"))
    if fields.text("mode") != "managed" or not known:
        return
    module = fields.text("module")
    for instance in fields.items("instances"):
        inner = Fields(instance, [])
        key = inner.text("index_key")
        attributes = inner.take("attributes") or instance
        full = f"{module + '.' if module else ''}{name}{f'[{key}]' if key else ''}"
        yield resource_object(ObjectBuilder(kind, full, attributes))
