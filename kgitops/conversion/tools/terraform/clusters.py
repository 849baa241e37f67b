"""The clusters of Terraform's resources: which provider, with which alias, reaches each."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kgitops.conversion.objects import ConvertedCluster, SourceObject
from kgitops.conversion.reading.hcl.expressions import evaluate, reference, references
from kgitops.conversion.reading.hcl.modules import Instance, Module
from kgitops.conversion.reading.hcl.parsing import Syntax, written
from kgitops.conversion.reading.hcl.scopes import Reference, Scope
from kgitops.conversion.reading.values import TEMPLATE

KINDS = ("kafka", "confluent")
_SOURCES = {"mongey/kafka": "kafka", "confluentinc/confluent": "confluent"}
_BETWEEN = "\x1f"
_DEFAULT = "main"
_INSIDE = "/module."
_REFERENCE = re.compile(r"^\$\{(?:data\.)?(?:confluent_kafka_cluster|var|local)\.([\w-]+).*\}$")
_VARIABLE = re.compile(r"\$\{env:(\w+)\}")


class ClusterId(Struct, frozen=True):
    """A cluster as the source tells it from others, before it has a name.

    ``root`` is the folder of the root module; ``name`` an alias, or the id of Confluent's cluster.
    Both are empty where no provider is written, which is where a caller writes one.
    """

    kind: str
    root: str = ""
    name: str = ""

    def __str__(self) -> str:
        return _BETWEEN.join((self.kind, self.root, self.name))


class Providers(Struct, frozen=True):
    """The providers that the resources of one module may name, by their local names and aliases."""

    root: str
    clusters: Mapping[Reference, ClusterId] = {}
    kinds: Mapping[str, str] = {}
    """The local names of Kafka's providers, to what each is: ``{"msk": "kafka"}``."""

    def of_block(self, instance: Instance, module: Module) -> ClusterId | None:
        """The cluster of a provider's block; None if the provider is of something else."""
        block = instance.block
        kind = self.kinds.get(block.labels[0]) if block.labels else None
        if kind is None:
            return None
        alias = block.attributes.get("alias")
        name = "" if alias is None else str(evaluate(alias, module))
        return ClusterId(
            kind, self.root, name if instance.key is None else f"{name}.{instance.key}"
        )

    def of_id(self, text: str) -> ClusterId:
        """The cluster that Confluent's resources name by its id, or by an expression for it."""
        root, _, _ = self.root.partition(_INSIDE)
        return ClusterId("confluent", root if TEMPLATE.search(text) else "", text)

    def of_resource(self, kind: str, tree: Syntax | None, scope: Scope) -> ClusterId:
        """The cluster of a resource; ``tree`` is its argument ``provider``."""
        provider = kind.partition("_")[0]
        if tree is None:
            return self.named((provider, ()))
        try:
            return self.named(reference(tree, scope), provider)
        except LookupError:
            return ClusterId(provider, self.root, written(tree))

    def named(self, reference: Reference, kind: str = "") -> ClusterId:
        """The cluster that a local name and an alias stand for."""
        local, steps = reference[0], tuple(map(str, reference[1]))
        kind, name = self.kinds.get(local, kind or local), ".".join(steps)
        if (local, steps) in self.clusters:
            return self.clusters[local, steps]
        same = (item for item in self.clusters.values() if (item.kind, item.name) == (kind, name))
        return next(same, ClusterId(kind, self.root if steps else "", name))

    def inside(self, instance: Instance, module: Module) -> "Providers":
        """The providers of a module that ``instance`` calls."""
        tree = instance.block.attributes.get("providers")
        inherited = {named: found for named, found in self.clusters.items() if not named[1]}
        if tree is not None:
            try:
                pairs = references(tree, instance.scope)
            except LookupError:
                text = written(tree)
                pairs, inherited = {}, {(k, ()): ClusterId(k, self.root, text) for k in KINDS}
            for inner, outer in pairs.items():
                inherited[inner[0], tuple(map(str, inner[1]))] = self.named(outer)
        folder = f"{self.root}{_INSIDE}{'.'.join(instance.block.labels)}"
        return _with_blocks(Providers(folder, inherited), module)


def root_providers(module: Module) -> Providers:
    return _with_blocks(Providers(module.path or "."), module)


def _with_blocks(outer: Providers, module: Module) -> Providers:
    clusters = dict(outer.clusters)
    providers = Providers(outer.root, clusters, _local_names(module))
    for file, block in module.blocks():
        instances = module.instances(file, block) if block.type == "provider" else []
        for instance in instances if isinstance(instances, list) else ():
            found = providers.of_block(instance, module)
            if found is not None:
                clusters[block.labels[0], tuple(filter(None, found.name.split(".", 1)))] = found
    return providers


def _local_names(module: Module) -> dict[str, str]:
    names = {kind: kind for kind in KINDS}
    for _, block in module.blocks():
        for inner in block.blocks if block.type == "terraform" else ():
            if inner.type != "required_providers":
                continue
            for name, tree in inner.attributes.items():
                value = evaluate(tree, module)
                source = value.get("source") if isinstance(value, dict) else None
                kind = _SOURCES.get("/".join(str(source).lower().split("/")[-2:]))
                if kind is not None:
                    names[name] = kind
    return names


def name_clusters(
    objects: Iterable[SourceObject], found: Mapping[ClusterId, ConvertedCluster]
) -> tuple[dict[str, tuple[str, ...]], tuple[ConvertedCluster, ...]]:
    """The names of the clusters that objects are for, and the clusters by these names.

    Where there is only one cluster, documents name none.
    """
    used = {
        name: ClusterId(*name.split(_BETWEEN))
        for item in objects
        for document in item.documents
        for name in document.clusters
    }
    ids = list(dict.fromkeys([*found, *used.values()]))
    same = dict(_same(ids, found))
    distinct = list(dict.fromkeys(same.values()))
    names = _names(distinct)
    clusters = [
        replace(cluster, name=names[item]) for item, cluster in found.items() if same[item] == item
    ]
    only = len(distinct) == 1
    named: dict[str, tuple[str, ...]] = {
        name: () if only else (names[same[item]],) for name, item in used.items()
    }
    return named, tuple(_with_own_variables(clusters))


def _same(
    ids: list[ClusterId], found: Mapping[ClusterId, ConvertedCluster]
) -> Iterator[tuple[ClusterId, ClusterId]]:
    """Each cluster with the one that it is: the first with its address and its login."""
    first: dict[tuple[str, tuple[tuple[str, str], ...]], ClusterId] = {}
    for item in ids:
        if item in found:
            cluster = found[item]
            key = (cluster.bootstrap_servers, tuple(sorted(cluster.configs.items())))
            yield item, first.setdefault(key, item)
        elif item.root or item.name:
            yield item, item
        else:  # a module without a provider, whose caller is not among the files
            others = [other for other in ids if other.kind == item.kind and other in found]
            defaults = [other for other in others if not other.name]
            (only,) = others if len(others) == 1 else defaults if len(defaults) == 1 else [item]
            yield item, only


def _names(ids: list[ClusterId]) -> dict[ClusterId, str]:
    """A name for each, as short as it can be: its alias, its folder with it, its path with it."""
    names: dict[ClusterId, str] = {}
    left = ids
    for folder_of in (None, posixpath.basename, str):
        candidates = {item: _name(item, folder_of(item.root) if folder_of else "") for item in left}
        counts = Counter(candidates.values())
        for item, name in candidates.items():
            if counts[name] == 1 and name not in names.values():
                names[item] = name
        left = [item for item in left if item not in names]
    for item in left:
        number = 2
        while f"{_name(item, '')}-{number}" in names.values():
            number += 1
        names[item] = f"{_name(item, '')}-{number}"
    return names


def _name(item: ClusterId, folder: str) -> str:
    own = _REFERENCE.sub(r"\1", item.name)
    words = (re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") for text in (folder, own))
    return "-".join(filter(None, words)) or _DEFAULT


def _with_own_variables(clusters: Iterable[ConvertedCluster]) -> Iterator[ConvertedCluster]:
    """The clusters with variables for secrets that no two have."""
    taken: set[str] = set()
    for cluster in clusters:
        variables = {name for text in cluster.configs.values() for name in _VARIABLE.findall(text)}
        if variables & taken:
            word = re.sub(r"\W", "_", cluster.name).upper()
            configs = {
                key: _VARIABLE.sub(rf"${{env:{word}_\1}}", text)
                for key, text in cluster.configs.items()
            }
            yield replace(cluster, configs=configs)
        else:
            yield cluster
        taken |= variables
