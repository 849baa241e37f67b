"""Loads manifest files: the checked manifests that apply to one cluster, with every finding."""

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kgitops.manifests.files import EmptyFolder, ManifestFile, find_files
from kgitops.manifests.kind_models import POLICY_KINDS, SHARED_KINDS
from kgitops.manifests.reading import NO_CACHE, ManifestCache, RawDocument, check
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.parse import Content
from kgitops.manifests.yaml.placeholders import (
    Lookup,
    has_placeholder,
    substitute,
    substitute_where_known,
)
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.addresses import local_topic_address, topic_address
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.source import Finding
from kgitops.model.wording import nearest

if TYPE_CHECKING:
    from kgitops.manifests.kind_models import Declaration


class Manifest(Struct, frozen=True):
    """A checked document: its declaration, the document that holds it, and its file's folder."""

    declares: "Declaration"
    document: Document
    folder: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSet:
    """All manifests, in the order of their files.

    ``other_clusters`` are documents that are for other clusters only. If a placeholder of such a
    document has no value on this cluster, only a topic's address and a policy's name are taken
    (``other_addresses``, ``other_policies``); ``unknown`` are those whose object is not known here.
    ``env_values`` maps each value from the environment to its variable's name: no finding may show
    the value. ``wrong_profiles`` are the names of profiles whose documents are not valid.
    ``empty_folders`` are signs that files are missing.
    """

    manifests: tuple[Manifest, ...] = ()
    other_clusters: tuple[Manifest, ...] = ()
    other_addresses: frozenset[str] = frozenset()
    other_policies: frozenset[str] = frozenset()
    unknown: tuple[Document, ...] = ()
    findings: tuple[Finding, ...] = ()
    env_values: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    wrong_profiles: frozenset[str] = frozenset()
    empty_folders: tuple[EmptyFolder, ...] = ()


def load_manifests(
    paths: Sequence[Path],
    *,
    cluster: str,
    variables: Mapping[str, str],
    env: Mapping[str, str],
    known_clusters: Collection[str] | None = None,
    env_values: Mapping[str, str] | None = None,
    only: Collection[str] = (),
    around: Sequence[Path] = (),
    policies: Sequence[Path] = (),
    may_be_empty: bool = False,
    cache: ManifestCache = NO_CACHE,
) -> ManifestSet:
    """The manifests below ``paths`` for ``cluster``; problems in them are findings, not exceptions.

    Args:
        paths: files and folders.
        cluster: the cluster's name, as ``metadata.clusters`` writes it.
        variables: the values of ``${var:NAME}`` on this cluster.
        env: the values of ``${env:NAME}``.
        known_clusters: the project's clusters, to detect a misspelt name; None if unknown.
        env_values: the values that ``variables`` took from the environment.
        only: kinds to look for: all other documents are skipped, there need not be any, and files
            that can't hold one are not even parsed.
        around: the manifests of the project that ``paths`` are a part of: of the others only the
            profiles and folders are loaded, which give values to the documents in the part.
        policies: the project's folders of policies, which may be empty.
        may_be_empty: ``paths`` need not hold any.
        cache: reads the files; one that keeps them is for loading many clusters.
    """
    lookup = Lookup(variables, env, dict(env_values or {}), by_url=":" in cluster)
    loader = _Loader(cluster, lookup, known_clusters)
    empty_folders: list[EmptyFolder] = []
    files = find_files(
        paths,
        loader.findings,
        may_be_empty=may_be_empty or bool(only),
        empty_folders=None if only else empty_folders,
        policies=policies,
    )
    others = {file.real: file for file in find_files(around, loader.findings, may_be_empty=True)}
    for file in files:
        # In a part of a project a file lies where the whole project has it.
        loader.load(file, others.pop(file.real, file).folder, cache, only)
    for file in others.values():
        loader.load(file, file.folder, cache, SHARED_KINDS)
    return ManifestSet(
        manifests=tuple(loader.manifests),
        other_clusters=tuple(loader.other_clusters),
        other_addresses=frozenset(loader.other_addresses),
        other_policies=frozenset(loader.other_policies),
        unknown=tuple(loader.unknown),
        findings=tuple(dict.fromkeys(loader.findings)),  # those of a list are found for each item
        env_values=loader.lookup.used_env,
        wrong_profiles=frozenset(loader.wrong_profiles),
        empty_folders=tuple(dict.fromkeys(empty_folders)),
    )


class _Loader(Struct):
    cluster: str
    lookup: Lookup
    known_clusters: Collection[str] | None
    manifests: list[Manifest] = field(default_factory=list)
    other_clusters: list[Manifest] = field(default_factory=list)
    other_addresses: set[str] = field(default_factory=set)
    other_policies: set[str] = field(default_factory=set)
    unknown: list[Document] = field(default_factory=list)
    wrong_profiles: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def load(
        self, file: ManifestFile, folder: str, cache: ManifestCache, only: Collection[str]
    ) -> None:
        """Take the documents of a file, all or those of the kinds in ``only``."""
        text = cache.text(file.path, file.name)
        if isinstance(text, Finding):
            self.findings.append(text)
            return
        if only and not _may_hold(text.text, only):
            return
        for item in cache.documents(text):
            if isinstance(item, Finding):
                self.findings.append(item)
            elif not only or item.named in only:
                self._take(item, folder)

    def _take(self, raw: RawDocument, folder: str) -> None:
        kind = raw.kind(self.findings)
        if kind is None:
            return
        clusters = self._clusters(raw)
        here = clusters is None or self.cluster in clusters or self._may_judge(kind)
        model = self._declaration(kind, raw, here=here)
        if model is not None:
            manifest = Manifest(model, raw.document, folder)
            (self.manifests if here else self.other_clusters).append(manifest)
        elif kind == "TopicProfile" and here and (name := raw.document.written("metadata", "name")):
            self.wrong_profiles.add(name)

    def _may_judge(self, kind: str) -> bool:
        """A URL may name the very cluster that a policy is for."""
        return kind == "Policy" and ":" in self.cluster

    def _declaration(self, kind: str, raw: RawDocument, *, here: bool) -> "Declaration | None":
        if not raw.templated:
            return raw.declared(kind, self.findings)
        content, document = raw.content, raw.document
        if here:
            before = len(self.findings)
            content = substitute(content, document, self.lookup, self.findings)
            known = before == len(self.findings)
            return check(kind, content, document, self.findings) if known else None
        return self._elsewhere(kind, substitute_where_known(content, self.lookup), document)

    def _elsewhere(self, kind: str, content: Content, document: Document) -> "Declaration | None":
        """Take a document for other clusters: its object must not count as removed here."""
        if not has_placeholder(content):
            declared = check(kind, content, document, [])
            if declared is not None:
                return declared
        address = _topic_address(content) if kind == "Topic" else None
        if address is not None:
            self.other_addresses.add(address)
        elif kind == "Policy" and (name := document.written("metadata", "name")):
            self.other_policies.add(name)
        elif kind not in (*POLICY_KINDS, *SHARED_KINDS):
            self.unknown.append(document)
        return None

    def _clusters(self, raw: RawDocument) -> list[Content] | None:
        """The clusters that a document is for, if its metadata has them in the right shape."""
        for index, name in enumerate(raw.clusters or ()):
            self._check_cluster(raw.document, index, name)
        return raw.clusters

    def _check_cluster(self, document: Document, index: int, name: Content) -> None:
        if not isinstance(name, str):
            return  # a finding of the model
        if "${" in name:
            problem, advice = "a cluster can't be named by a placeholder", "write its name"
        elif self.known_clusters is not None and name not in self.known_clusters:
            near = nearest(name, list(self.known_clusters))
            known = ", ".join(self.known_clusters)
            problem = f"the project has no cluster {name!r}"
            advice = f"did you mean {near}?" if near else f"it has {known or 'none'}"
        else:
            return
        self.findings.append(
            Finding(
                source=document.at("metadata", "clusters", index),
                problem=problem,
                advice=advice,
            )
        )


def _topic_address(content: Content) -> str | None:
    """The address of a Topic document; None if a placeholder hides it."""
    metadata = content.get("metadata") if isinstance(content, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    scope = metadata.get("virtualCluster", CLUSTER_NAME) if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not isinstance(scope, str) or has_placeholder([name, scope]):
        return None
    return (
        topic_address(name)
        if scope == CLUSTER_NAME
        else local_topic_address(LocalName(scope, name))
    )


def _may_hold(text: str, kinds: Collection[str]) -> bool:
    """True if the text may hold a document of these kinds; escapes can hide a kind's name."""
    return "\\" in text or re.search(rf"\b({'|'.join(kinds)})\b", text) is not None
