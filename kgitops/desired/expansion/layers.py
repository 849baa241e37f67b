"""The values that a profile or a project's defaults give to topics, checked on their own."""

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct, field

from kgitops.desired.configs import ConfigReader, check_min_insync_replicas
from kgitops.desired.findings import Findings
from kgitops.manifests.expanded import ExpandedDocument, Given, Path
from kgitops.manifests.kinds.topic_profile import ConfigValue, TopicDefaults
from kgitops.manifests.project.values import WrittenDefaults
from kgitops.manifests.value_origin import OriginKind
from kgitops.manifests.yaml.document import Document

_SIZE = (("spec", "partitions"), ("spec", "replicationFactor"))


class Layer(Struct, frozen=True):
    """Values of topics by their paths in a Topic's document, and the place of each."""

    values: Mapping[Path, object] = field(default_factory=dict)
    given: Mapping[Path, Given] = field(default_factory=dict)

    def over(self, below: "Layer") -> "Layer":
        """This layer on top of another: its values win."""
        return Layer({**below.values, **self.values}, {**below.given, **self.given})

    def without_size(self) -> "Layer":
        """The layer for a topic whose assignments say its size."""
        return self.without(_SIZE)

    def without(self, paths: Sequence[Path]) -> "Layer":
        """The layer less the values under ``paths``."""
        left = {path: value for path, value in self.values.items() if path not in paths}
        return Layer(left, {path: self.given[path] for path in left})


NO_LAYER = Layer()


def profile_layer(
    values: TopicDefaults,
    name: str,
    document: Document,
    configs: ConfigReader,
    findings: Findings,
) -> Layer:
    """Check a profile, and make it a layer."""
    wrong = _wrong(values.configs, document, configs)
    layer = _layer(values, OriginKind.PROFILE, name, document, ("spec",), wrong)
    _check_together(layer, document, configs, findings)
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
        wrong = _wrong(item.topic.configs, _written_at(layer, item.document), configs)
        paths = [("spec", "configs", key) for key in wrong]
        merged = layer.without(paths).over(merged)
    if written:
        # Together once, as they hold: a cluster's may mend the project's, or contradict them.
        document = _written_at(merged, written[-1].document)
        _check_together(merged, document, configs, findings)
    return merged


def _written_at(layer: Layer, document: Document) -> ExpandedDocument:
    """A document that knows where the values of defaults are written, as its own."""
    own = {path: Given(None, "", given.document, given.path) for path, given in layer.given.items()}
    return ExpandedDocument(document, own)


def _wrong(
    values: Mapping[str, ConfigValue], document: Document, configs: ConfigReader
) -> set[str]:
    """Report wrong configs, and return their keys."""
    return set(values) - set(configs.read(values, document))


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
