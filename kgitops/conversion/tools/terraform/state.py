"""Terraform's state files: what was applied, without what the next apply would destroy."""

import posixpath
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from kgitops.conversion.objects import SourceObject
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import YamlFile, lost_document
from kgitops.conversion.reading.keys import KeyedFields
from kgitops.conversion.reading.values import Value
from kgitops.conversion.tools.terraform.clusters import ClusterId, Providers
from kgitops.conversion.tools.terraform.keys import STATE
from kgitops.conversion.tools.terraform.lifecycle import Lifecycle
from kgitops.conversion.tools.terraform.resources import is_kafkas, resource_object

_VERSION = 4
_WORKSPACES = "terraform.tfstate.d"
_PROVIDER = re.compile(
    r'(?:module\..*\.)?provider(?:\["[^"]+"\]|\.[\w-]+)(?:\.([\w-]+))?(?:\["?([^"\]]*)"?\])?'
)
"""``provider["registry.terraform.io/mongey/kafka"].dr``, before 0.13 ``provider.kafka.dr``."""
_ADVICE = "apply the change in Terraform first, or declare the object by hand"


class Configuration(Struct):
    """The resources of Kafka that a root module has, by their addresses.

    Attributes:
        instances: the instances that it has.
        unknown: the beginnings of addresses whose instances are not known.
        moved: old addresses, to those that ``moved`` blocks give them.
        removed: addresses in ``removed`` blocks, to whether the objects are destroyed.
        is_complete: False if there are files that can't be read, which may have further resources.
    """

    providers: Providers
    instances: dict[str, Lifecycle] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    moved: dict[str, str] = field(default_factory=dict)
    removed: dict[str, bool] = field(default_factory=dict)
    is_complete: bool = True

    def add(self, address: str, lifecycle: Lifecycle) -> None:
        """Add an instance."""
        self.instances[_plain(address)] = lifecycle

    def find(self, address: str) -> Lifecycle | None:
        """The lifecycle of an instance in a state file; None if the module no longer has it."""
        now = _plain(self._now(address))
        if now in self.instances:
            return self.instances[now]
        if not self.is_complete or any(_is_below(now, _plain(start)) for start in self.unknown):
            return Lifecycle()
        return None

    def fate(self, address: str) -> str:
        """Return what the next apply does with an instance that the module no longer has."""
        destroyed = [
            destroyed for start, destroyed in self.removed.items() if _is_below(address, start)
        ]
        return "destroys it" if all(destroyed) else "forgets it and leaves it on the cluster"

    def _now(self, address: str) -> str:
        """The address after all moves: each block moves an object once."""
        left = dict(self.moved)
        while True:
            moves = (start for start, end in left.items() if _moves(address, start, end))
            start = next(moves, None)
            if start is None:
                return address
            address = left.pop(start) + address.removeprefix(start)


def _plain(address: str) -> str:
    """The address by which Terraform knows an object before and after it gets a ``count``."""
    return address.replace("[0]", "")


def _is_below(address: str, start: str) -> bool:
    rest = address.removeprefix(start)
    return address.startswith(start) and rest[:1] in ("", ".", "[")


def _moves(address: str, start: str, end: str) -> bool:
    """Return whether a move is the object's; one to a key is not that of an object with a key."""
    key = address.removeprefix(start).startswith("[")
    return _is_below(address, start) and not (key and end.endswith("]"))


def configuration_of(path: str, roots: Mapping[str, Configuration]) -> Configuration | None:
    """The root module whose state a file is: that of its folder, or the only one there is."""
    folder = posixpath.dirname(path)
    outer, name = posixpath.split(posixpath.dirname(folder))
    for root in (folder, outer if name == _WORKSPACES else folder):
        if root in roots:
            return roots[root]
    return next(iter(roots.values())) if len(roots) == 1 else None


class StateFile(Struct, frozen=True):
    """The objects of a state file, and the places of other programs' resources."""

    objects: tuple[SourceObject, ...]
    ignored: tuple[str, ...] = ()


def read_state(state: YamlFile, configuration: Configuration | None) -> StateFile:
    """The resources of Kafka; those that ``configuration`` no longer has are losses."""
    objects = list(state.broken)
    ignored: list[str] = []
    for document in state.documents:
        builder = ObjectBuilder("state", "", document)
        version = document.at("version")
        if version is None or version.integer() != _VERSION:
            problem = f"it is no state file of version {_VERSION}"
            advice = "write one with `terraform state pull`"
            objects.append(lost_document(document, problem, advice))
            continue
        fields = builder.read(STATE)
        fields.take("version")
        for resource in fields.mappings("resources"):
            objects += _resource(resource, configuration, ignored)
        builder.becomes_settings("the objects of its resources")
        read = builder.build([])
        if read.losses:
            objects.append(read)
    return StateFile(tuple(objects), tuple(ignored))


def _resource(
    resource: KeyedFields, configuration: Configuration | None, ignored: list[str]
) -> Iterator[SourceObject]:
    kind, name = resource.text("type") or "", resource.text("name") or ""
    module, mode = resource.text("module"), resource.text("mode")
    provider = resource.text("provider") or ""
    instances = resource.mappings("instances", f"an instance of {kind} {name}")
    whole = resource.value
    for instance in instances:
        if instance.value is None:
            continue
        inner = _Instance(
            kind=kind,
            name=f"{module + '.' if module else ''}{name}",
            address=f"{module + '.' if module else ''}{kind}.{name}",
            provider=provider,
            key=instance.take("index_key"),
            status=instance.text("status") or "",
            deposed=instance.text("deposed") or "",
            attributes=instance.take("attributes"),
            value=instance.value,
        )
        if mode == "managed" and is_kafkas(kind):
            yield inner.read(configuration)
    if mode == "managed" and not is_kafkas(kind) and whole is not None:
        ignored.append(f"{whole.source.file}:{whole.source.line}")


class _Instance(Struct, kw_only=True):
    kind: str
    name: str
    address: str
    provider: str
    key: Value | None
    status: str
    deposed: str
    attributes: Value | None
    value: Value

    def read(self, configuration: Configuration | None) -> SourceObject:
        key = None if self.key is None else self.key.content
        index = "" if key is None else instance_key(key)
        builder = ObjectBuilder(self.kind, f"{self.name}{index}", self.attributes or self.value)
        address = f"{self.address}{index}"
        if self.attributes is None:
            return builder.refuse("the state file has no attributes of it", "declare it by hand")
        if self.deposed:
            problem = "it is deposed, so Terraform's next apply destroys it"
            return builder.refuse(problem, _ADVICE)
        if self.status == "tainted":
            problem = "it is tainted, so Terraform's next apply destroys it and creates it again"
            return builder.refuse(problem, _ADVICE)
        lifecycle: Lifecycle | None = Lifecycle()
        if configuration is not None:
            lifecycle = configuration.find(address)
        if lifecycle is None and configuration is not None:
            fate = configuration.fate(address)
            problem = f"the .tf files no longer have it, so Terraform's next apply {fate}"
            return builder.refuse(problem, _ADVICE)
        cluster = self._cluster(configuration)
        return resource_object(
            builder, (str(cluster),), (lifecycle or Lifecycle()).at(builder.value.source)
        )

    def _cluster(self, configuration: Configuration | None) -> ClusterId:
        providers = configuration.providers if configuration is not None else Providers("")
        if self.attributes is not None and self.kind.startswith("confluent_"):
            named = confluent_id(self.attributes)
            if named:
                return providers.of_id(named)
        found = _PROVIDER.fullmatch(self.provider)
        steps = tuple(filter(None, found.groups() if found else (self.provider,)))
        return providers.named((self.kind.partition("_")[0], steps))


def instance_key(key: object) -> str:
    """The key of an instance as addresses have it: ``[0]`` or ``["a"]``."""
    return f"[{key}]" if isinstance(key, int) else f'["{key}"]'


def confluent_id(value: Value) -> str:
    """The id of the cluster that one of Confluent's resources names; empty if it names none."""
    cluster = value.at("kafka_cluster")
    if cluster is not None and cluster.is_list():
        cluster = next(iter(cluster.items()), None)
    return (cluster.text_at("id") or "") if cluster is not None else ""
