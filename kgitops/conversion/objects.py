"""A conversion as values: each object of the source, and the documents and losses it became."""

from collections.abc import Mapping

from msgspec import Struct, field

from kgitops.model.registry import Json
from kgitops.model.source import Finding, Source


class Loss(Struct, frozen=True, kw_only=True):
    """A part of the source that has no counterpart; it stops a conversion unless it is allowed.

    ``problem`` and ``advice`` are halves of a sentence, as in a ``Finding``, and show no secret.
    """

    source: Source
    problem: str
    advice: str

    def finding(self) -> Finding:
        """The finding that reports it."""
        return Finding(source=self.source, problem=self.problem, advice=self.advice)


class DeclaredDocument(Struct, frozen=True, kw_only=True):
    """A document of kgitops: ``spec`` as it is written, in the order in which it is to be read.

    ``text`` is the whole document, if it is copied as it stands.
    """

    kind: str
    name: str
    spec: Mapping[str, Json]
    labels: Mapping[str, str] = field(default_factory=dict)
    clusters: tuple[str, ...] = ()
    text: str = ""


class SourceObject(Struct, frozen=True, kw_only=True):
    """One object of the source, with all it became: at least one of the last four is not empty.

    Attributes:
        kind: the source's word: ``KafkaTopic``, ``consumer``, ``kafka_acl``.
        name: its name there, as findings show it.
        source: its beginning.
        documents: its declarations.
        losses: each part that has no counterpart, or the whole object.
        settings: it is part of the project file or of a profile: ``spec.clusters.prod``.
        same_as: another object of the source declares the same.
        comments: the source's comments above and inside the object, without ``#``.
    """

    kind: str
    name: str
    source: Source
    documents: tuple[DeclaredDocument, ...] = ()
    losses: tuple[Loss, ...] = ()
    settings: str = ""
    same_as: Source | None = None
    comments: tuple[str, ...] = ()


class ConvertedCluster(Struct, frozen=True, kw_only=True):
    """A cluster that the source names; ``configs`` are librdkafka's, secrets as placeholders.

    ``cluster_id`` is Kafka's own id of it, which the project pins.
    """

    name: str
    bootstrap_servers: str
    cluster_id: str | None = None
    configs: Mapping[str, str] = field(default_factory=dict)


class ConvertedFile(Struct, frozen=True, kw_only=True):
    """The objects of one file of the source, in its order.

    ``path`` is relative to the converted folder, with ``/``; ``comments`` are those at no object.
    """

    path: str
    objects: tuple[SourceObject, ...]
    comments: tuple[str, ...] = ()


class Conversion(Struct, frozen=True, kw_only=True):
    """A whole conversion.

    Attributes:
        tool: the tool's name.
        files: the objects, by the files of the source.
        clusters: the clusters that the source names.
        profiles: profiles that kgitops made of what topics repeat.
        topic_defaults: ``spec.defaults.topic`` of the project.
        ignored: files, and documents with their places, that are none of the tool's.
        offered: objects of the folder that another run converts, with their places.
        project: the project file, if the source has one; the paths of ``files`` are its own then.
        copied: further files of the project by their paths, copied as they are.
    """

    tool: str
    files: tuple[ConvertedFile, ...]
    clusters: tuple[ConvertedCluster, ...] = ()
    profiles: tuple[DeclaredDocument, ...] = ()
    topic_defaults: Mapping[str, Json] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    project: str = ""
    copied: Mapping[str, str] = field(default_factory=dict)

    @property
    def objects(self) -> tuple[SourceObject, ...]:
        return tuple(item for file in self.files for item in file.objects)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """All losses, in the order of the source."""
        return tuple(loss for item in self.objects for loss in item.losses)
