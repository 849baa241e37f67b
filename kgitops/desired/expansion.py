"""Expands documents: the labels of their folders, and the values of profiles and defaults."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.desired.configs import ConfigReader, check_min_insync_replicas
from kgitops.desired.findings import Findings
from kgitops.manifests.expanded import ExpandedDocument, Given, Path, Removed
from kgitops.manifests.kinds.topic_profile import ConfigValue, TopicDefaults
from kgitops.manifests.load import Manifest
from kgitops.manifests.project_file import WrittenDefaults
from kgitops.manifests.value_origin import OriginKind
from kgitops.manifests.yaml.document import Document
from kgitops.model.json.declared import DesiredObject, Tombstone
from kgitops.model.wording import nearest

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


if TYPE_CHECKING:
    from kgitops.manifests.kinds.folder import Folder


class FolderValues(Struct, frozen=True):
    """The values for documents in a folder: those of the folders above it, and its own."""

    labels: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[Path, Given] = field(default_factory=dict)
    profile: str | None = None


_NOTHING = FolderValues()


class Folders:
    """The Folder documents, by the path of their folder."""

    def __init__(self, manifests: Iterable[Manifest], findings: Findings) -> None:
        self._written: dict[str, tuple[Folder, Document]] = {}
        self._values: dict[str, FolderValues] = {}
        for manifest in manifests:
            declared, document = manifest.declares, manifest.document
            if declared.kind != "Folder":
                continue
            first = self._written.setdefault(manifest.folder, (declared, document))
            if first[1] is not document:
                findings.error(
                    document,
                    ("kind",),
                    f"this folder has a Folder document already at {first[1].source}",
                    "keep one of the two",
                )

    def profiles(self) -> Iterable[tuple[str, Document]]:
        """The profiles that Folder documents name."""
        for folder, document in self._written.values():
            if folder.spec.profile is not None:
                yield folder.spec.profile, document

    def values(self, folder: str) -> FolderValues:
        """The values for documents in ``folder``."""
        if not self._written:
            return _NOTHING
        known = self._values.get(folder)
        if known is None:
            known = self._values[folder] = self._overlaid(folder)
        return known

    def _overlaid(self, folder: str) -> FolderValues:
        parent = os.path.dirname(folder)  # noqa: PTH120 (a name, that stays text)
        above = self.values(parent) if parent != folder else _NOTHING
        written = self._written.get(folder)
        if written is None:
            return above
        declared, document = written
        name = os.path.dirname(document.file.name) or "."  # noqa: PTH120
        own: dict[Path, Given] = {
            ("metadata", "labels", key): Given(
                OriginKind.FOLDER, name, document, ("metadata", "labels", key)
            )
            for key in declared.metadata.labels
        }
        return FolderValues(
            {**above.labels, **declared.metadata.labels},
            {**above.given, **own},
            declared.spec.profile or above.profile,
        )


if TYPE_CHECKING:
    from kgitops.kinds.topics.topic import Topic
    from kgitops.manifests.kind_models import Declaration
    from kgitops.manifests.kinds.parts import TopicMetadata
    from kgitops.manifests.kinds.topic_profile import ConfigValue

Labelled = TypeVar("Labelled", bound=DesiredObject | Tombstone)


class TopicValues(Struct, frozen=True, kw_only=True):
    """The spec of a topic with the values of its profile or the defaults."""

    partitions: int | None
    replication_factor: int | None
    assignments: Mapping[int, list[int]] | None
    configs: Mapping[str, "ConfigValue"]
    configs_policy: str
    delete_records_before: Mapping[int, int]
    deletion_policy: str | None
    share_with: Sequence[str]


class ExpandedTopic(Struct, frozen=True):
    """The document of a topic with these values, and the reader of its configs."""

    metadata: "TopicMetadata"
    spec: TopicValues
    configs: ConfigReader


class Expansion:
    """The profiles, folders and defaults of a project, for the documents of one cluster."""

    def __init__(
        self,
        manifests: Sequence[Manifest],
        defaults: Sequence[WrittenDefaults],
        configs: ConfigReader,
        findings: Findings,
        *,
        wrong_profiles: Collection[str] = (),
        other_clusters: Sequence[Manifest] = (),
    ) -> None:
        self._configs = configs
        self._findings = findings
        self._unusable = set(wrong_profiles)
        self._elsewhere = {
            manifest.declares.metadata.name
            for manifest in other_clusters
            if manifest.declares.kind == "TopicProfile"
        }
        self._defaults = defaults_layer(defaults, configs, findings)
        self._profiles = self._read_profiles(manifests, configs)
        self._folders = Folders(manifests, findings)
        for name, document in self._folders.profiles():
            self._check_profile(name, document)

    def expanded(self, manifest: Manifest) -> "tuple[Declaration | ExpandedTopic, Document]":
        """The declaration with its values, and the document, which knows where they are written."""
        declared = manifest.declares
        if declared.kind != "Topic":
            return declared, self._with_labels(manifest)
        values, document = self._topic(declared, manifest)
        return ExpandedTopic(declared.metadata, values, self._configs), document

    def _topic(self, topic: "Topic", manifest: Manifest) -> tuple[TopicValues, Document]:
        folder = self._folders.values(manifest.folder)
        spec, document = topic.spec, manifest.document
        if spec.profile is not None:
            self._check_profile(spec.profile, document)
        name = spec.profile or folder.profile
        layer = self._defaults if name is None else self._profiles.get(name, self._defaults)
        if spec.assignments is not None:
            layer = layer.without_size()
        written: dict[Any, Any] = {
            ("spec", "partitions"): spec.partitions,
            ("spec", "replicationFactor"): spec.replication_factor,
            ("spec", "configsPolicy"): spec.configs_policy,
            ("spec", "deletionPolicy"): spec.deletion_policy,
        }
        own = {path: value for path, value in written.items() if value is not None}
        own |= {("spec", "configs", key): value for key, value in spec.configs.items()}
        given = layer.without([*own]).given if layer.values else {}
        values = {**layer.values, **own} if layer.values else own
        if name is not None and name not in self._profiles and spec.assignments is None:
            # The profile is reported already: the topic must not be called wrong as well.
            values = {("spec", "partitions"): 1, ("spec", "replicationFactor"): 1, **values}
        expanded = TopicValues(
            partitions=cast("int | None", values.get(("spec", "partitions"))),
            replication_factor=cast("int | None", values.get(("spec", "replicationFactor"))),
            assignments=spec.assignments,
            configs={
                str(path[2]): value
                for path, value in values.items()
                if path[1] == "configs" and value is not None
            },
            configs_policy=values.get(("spec", "configsPolicy"), "Declared"),
            delete_records_before=spec.delete_records_before,
            deletion_policy=values.get(("spec", "deletionPolicy")),
            share_with=spec.share_with,
        )
        labels = _labels_given(folder, topic.metadata.labels)
        both = {**given, **labels}
        removed = self._removed(topic, layer, document)
        if not both and not removed:
            return expanded, document
        return expanded, ExpandedDocument(document, both, removed)

    def _with_labels(self, manifest: Manifest) -> Document:
        folder = self._folders.values(manifest.folder)
        labels = getattr(manifest.declares.metadata, "labels", {})
        given = _labels_given(folder, labels)
        return ExpandedDocument(manifest.document, given) if given else manifest.document

    def labelled(self, built: Labelled, manifest: Manifest) -> Labelled:
        """An object built from a document, with the labels of its folders below its own."""
        given = self._folders.values(manifest.folder).labels
        return replace(built, labels={**given, **built.labels}) if given else built

    def _read_profiles(
        self, manifests: Sequence[Manifest], configs: ConfigReader
    ) -> dict[str, Layer]:
        layers: dict[str, Layer] = {}
        first: dict[str, Document] = {}
        for manifest in manifests:
            profile, document = manifest.declares, manifest.document
            if profile.kind != "TopicProfile":
                continue
            name = profile.metadata.name
            if name in first:
                self._findings.error(
                    document,
                    ("metadata", "name"),
                    f"the profile {name} is written already at {first[name].source}",
                    "rename one of the two, or limit each to clusters with metadata.clusters",
                )
                continue
            first[name] = document
            layers[name] = profile_layer(
                profile.spec, name, document, self._defaults, configs, self._findings
            )
        return layers

    def _check_profile(self, name: str, document: Document) -> None:
        if name in self._profiles or name in self._unusable:
            return
        near = nearest(name, list(self._profiles))
        known = ", ".join(sorted(self._profiles))
        advice = f"did you mean {near}?" if near else f"there are {known}"
        if name in self._elsewhere:
            problem = f"the profile {name} is for other clusters"
            advice = "add this cluster to its metadata.clusters, or name another profile"
        else:
            problem = f"there is no TopicProfile {name}"
            if not known:
                advice = "write one among the manifests, or correct the name"
        self._findings.error(document, ("spec", "profile"), problem, advice)

    def _removed(self, topic: "Topic", layer: Layer, document: Document) -> dict[Path, Removed]:
        """Return the values from elsewhere that null removes; a null of no value is wrong."""
        configs = topic.spec.configs
        removed = {
            path: it for path, it in layer.removed.items() if configs.get(str(path[2])) is None
        }
        for key, value in configs.items():
            if value is not None:
                continue
            path: Path = ("spec", "configs", key)
            if path in layer.values:
                removed[path] = Removed(layer.given[path], layer.values[path])
            elif path not in removed:
                self._findings.error(
                    document,
                    path,
                    f"{key} is null, and no profile or default gives it to this topic",
                    "write the value, or remove the key",
                )
        return {
            path: replace(it, value=self._configs.read(one, document)[key])
            for path, it in removed.items()
            for key, one in ((str(path[2]), {str(path[2]): cast("ConfigValue", it.value)}),)
        }


def _labels_given(folder: FolderValues, own: Mapping[str, str]) -> Mapping[Any, Any]:
    if not folder.given:
        return {}
    return {path: given for path, given in folder.given.items() if path[2] not in own}
