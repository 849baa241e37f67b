"""The values that a profile or a project's defaults give to topics, checked on their own."""

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.desired.configs import ConfigReader, check_min_insync_replicas
from kgitops.desired.findings import Findings
from kgitops.manifests.expanded import ExpandedDocument, Given, Path, Removed
from kgitops.manifests.kinds.topic_profile import ConfigValue, TopicDefaults
from kgitops.manifests.project_file import WrittenDefaults
from kgitops.manifests.value_origin import OriginKind
from kgitops.manifests.yaml.document import Document

_SIZE = (("spec", "partitions"), ("spec", "replicationFactor"))


class Layer(Struct, frozen=True):
    """Values of topics by their paths in a Topic's document, and the place of each.

    ``removed`` are configs of a layer below that one above sets to null.
    """

    values: Mapping[Path, object] = field(default_factory=dict)
    given: Mapping[Path, Given] = field(default_factory=dict)
    removed: Mapping[Path, Removed] = field(default_factory=dict)

    def over(self, below: "Layer") -> "Layer":
        """This layer on top of another: its values win, and a null removes what is below."""
        values = {**below.values, **self.values}
        nulls = [path for path, value in values.items() if value is None]
        removed = {path: it for path, it in below.removed.items() if values.get(path) is None}
        removed |= {
            path: Removed(below.given[path], below.values[path], self.given[path])
            for path in nulls
            if path in below.values
        }
        return Layer(values, {**below.given, **self.given}, removed).without(nulls)

    def without_size(self) -> "Layer":
        """The layer for a topic whose assignments say its size."""
        return self.without(_SIZE)

    def without(self, paths: Sequence[Path]) -> "Layer":
        """The layer less the values under ``paths``."""
        left = {path: value for path, value in self.values.items() if path not in paths}
        return Layer(left, {path: self.given[path] for path in left}, self.removed)


NO_LAYER = Layer()


def profile_layer(
    values: TopicDefaults,
    name: str,
    document: Document,
    defaults: Layer,
    configs: ConfigReader,
    findings: Findings,
) -> Layer:
    """Check a profile, and make it a layer over the defaults."""
    wrong = _wrong(values.configs, document, configs)
    own = _layer(values, OriginKind.PROFILE, name, document, ("spec",), wrong)
    layer = own.over(defaults)
    below = {
        path: Given(it.kind, it.name, it.document, it.path, name)
        for path, it in layer.given.items()
        if path not in own.given
    }
    layer = replace(layer, given={**layer.given, **below})
    _check_together(layer, ExpandedDocument(document, below), configs, findings)
    return layer


def defaults_layer(
    written: Sequence[WrittenDefaults], configs: ConfigReader, findings: Findings
) -> Layer:
    """Check the project's defaults and the cluster's, which win, and make them a layer."""
    merged = NO_LAYER
    for item in written:
        kind = OriginKind.CLUSTER_DEFAULT if item.cluster else OriginKind.PROJECT_DEFAULT
        path: Path = (*item.path, "topic")
        layer = _layer(item.topic, kind, item.cluster or "", item.document, path, set())
        if not item.cluster:
            _refuse_nulls(layer, item.document, path, findings)
        wrong = _wrong(item.topic.configs, _written_at(layer, item.document), configs)
        paths = [("spec", "configs", key) for key in wrong]
        merged = layer.without(paths).over(merged)
    if written:
        # Together once, as they hold: a cluster's may mend the project's, or contradict them.
        document = _written_at(merged, written[-1].document)
        _check_together(merged, document, configs, findings)
    return merged


def _refuse_nulls(layer: Layer, document: Document, path: Path, findings: Findings) -> None:
    for at in (at for at, value in layer.values.items() if value is None):
        findings.error(
            document,
            (*path, *at[1:]),
            f"{at[2]} is null, and nothing is below the defaults of the project",
            "write the value, or remove the key",
        )


def _written_at(layer: Layer, document: Document) -> ExpandedDocument:
    """A document that knows where the values of defaults are written, as its own."""
    own = {path: Given(None, "", given.document, given.path) for path, given in layer.given.items()}
    return ExpandedDocument(document, own)


def _wrong(
    values: Mapping[str, ConfigValue | None], document: Document, configs: ConfigReader
) -> set[str]:
    """Report wrong configs, and return their keys."""
    given = {key: value for key, value in values.items() if value is not None}
    return set(given) - set(configs.read(given, document))


def _check_together(
    layer: Layer, document: Document, configs: ConfigReader, findings: Findings
) -> None:
    """Report values that contradict each other whatever topic they are for."""
    values = {
        str(path[2]): cast("ConfigValue", value)
        for path, value in layer.values.items()
        if path[1] == "configs"
    }
    normal = configs.read(values, document)
    configs.check_together(normal, document, only_certain=True)
    factor = layer.values.get(("spec", "replicationFactor"))
    if isinstance(factor, int):
        check_min_insync_replicas(normal, factor, document, findings)


def _layer(
    written: TopicDefaults,
    kind: OriginKind,
    name: str,
    document: Document,
    prefix: Path,
    wrong: set[str],
) -> Layer:
    single = {
        ("partitions",): written.partitions,
        ("replicationFactor",): written.replication_factor,
        ("configsPolicy",): written.configs_policy,
        ("deletionPolicy",): written.deletion_policy,
    }
    values: dict[Path, object] = {path: it for path, it in single.items() if it is not None}
    values |= {("configs", key): it for key, it in written.configs.items() if key not in wrong}
    return Layer(
        {("spec", *path): value for path, value in values.items()},
        {("spec", *path): Given(kind, name, document, (*prefix, *path)) for path in values},
    )
