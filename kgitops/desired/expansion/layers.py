"""The values that a profile or a project's defaults give to topics, checked on their own."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from kgitops.desired.configs import ConfigReader, check_min_insync_replicas
from kgitops.desired.findings import Findings
from kgitops.manifests.expanded import ExpandedDocument, Given, Path
from kgitops.manifests.kinds.topic_profile import TopicDefaults
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
    wrong = _check(values, document, configs, findings)
    return _layer(values, OriginKind.PROFILE, name, document, ("spec",), wrong)


def defaults_layer(
    written: Sequence[WrittenDefaults], configs: ConfigReader, findings: Findings
) -> Layer:
    """Check the project's defaults and the cluster's, which win, and make them a layer."""
    merged = NO_LAYER
    for item in written:
        kind = OriginKind.CLUSTER_DEFAULT if item.cluster else OriginKind.PROJECT_DEFAULT
        path: Path = (*item.path, "topic")
        layer = _layer(item.topic, kind, item.cluster or "", item.document, path, set())
        own = {
            field: Given(None, "", given.document, given.path)
            for field, given in layer.given.items()
        }
        located = ExpandedDocument(item.document, own)
        wrong = _check(item.topic, located, configs, findings)
        paths = [("spec", "configs", key) for key in wrong]
        merged = layer.without(paths).over(merged)
    return merged


def _check(
    values: TopicDefaults, document: Document, configs: ConfigReader, findings: Findings
) -> set[str]:
    """Report what is wrong whatever topic the values are for; return the keys of wrong configs."""
    normal = configs.read(values.configs, document)
    configs.check_together(normal, document, only_certain=True)
    if values.replication_factor is not None:
        check_min_insync_replicas(normal, values.replication_factor, document, findings)
    return set(values.configs) - set(normal)


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
