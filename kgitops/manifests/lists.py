"""A list, such as ``kind: TopicList``, as the documents of its items (contract §15)."""

from collections.abc import Iterator

from kgitops.manifests.kind_models import LISTS
from kgitops.manifests.problems import dotted, unknown_field
from kgitops.manifests.yaml.construct import Content
from kgitops.manifests.yaml.document import ITEMS, Document, ListItem, child_of
from kgitops.manifests.yaml.nodes import MappingNode, is_merge
from kgitops.manifests.yaml.parse import ParsedDocument
from kgitops.manifests.yaml.placeholders import has_placeholder
from kgitops.manifests.yaml.text import shown
from kgitops.model.source import Finding
from kgitops.model.wording import nearest

_FIELD = f"spec.{ITEMS}"
_EXAMPLE = f"write {_FIELD}.NAME for each item, with its spec below it"


def documents_of(parsed: ParsedDocument) -> Iterator[ParsedDocument | Finding]:
    """The document itself, or those of the items of a list.

    What a list has besides its items holds for each of them; a mistake there is found for each.
    """
    content, document = parsed.content, parsed.document
    written = content.get("kind") if isinstance(content, dict) else None
    kind = LISTS.get(written) if isinstance(written, str) else None
    if kind is None:
        yield parsed
        return
    node = child_of(parsed.root, "spec", ITEMS)
    yield from _wrong_shape(content, document, f"{kind}List")
    if parsed.root is None or not isinstance(node, MappingNode):
        return
    if any(is_merge(key) for key, _ in node.value):
        yield Finding(
            source=document.at("spec", ITEMS),
            problem=f"{_FIELD} can't have its names from <<",
            advice="write each name, and << below it",
        )
        return
    if not node.value:
        yield Finding(
            source=document.at("spec", ITEMS),
            problem=f"{_FIELD} must not be empty",
            advice="write its items, or remove the document",
        )
    begin = document.start - parsed.root.start_mark.index
    for (key, value), (name, spec) in zip(node.value, content["spec"][ITEMS].items(), strict=True):
        start = begin + key.start_mark.index
        end = max(start + len(name), begin + value.end_mark.index)
        place = Document(document.file, start, end, ListItem(document, name))
        metadata = content.get("metadata", {})
        if isinstance(metadata, dict):
            metadata = {**metadata, "name": name}
        whole = {**content, "kind": kind, "metadata": metadata, "spec": spec}
        yield ParsedDocument(place, whole, parsed.templated and has_placeholder(whole))


def _wrong_shape(content: Content, document: Document, kind: str) -> Iterator[Finding]:
    metadata = content.get("metadata")
    if isinstance(metadata, dict) and "name" in metadata:
        yield Finding(
            source=document.key_at("metadata", "name"),
            problem=f"metadata.name is not a field of {kind}",
            advice=f"remove it: {_FIELD} has the name of each object",
        )
    if "spec" not in content and ITEMS in content:
        yield unknown_field(kind, document, (ITEMS,))
        return
    if "spec" not in content:
        yield Finding(source=document.source, problem="spec is missing", advice=_EXAMPLE)
        return
    spec = content["spec"]
    if not isinstance(spec, dict):
        yield _not_a_mapping(document, ("spec",), spec)
        return
    others = spec.keys() - {ITEMS}
    for field in others:
        yield unknown_field(kind, document, ("spec", field))
    if ITEMS not in spec and not any(nearest(field, [ITEMS]) for field in others):
        yield Finding(source=document.at("spec"), problem=f"{_FIELD} is missing", advice=_EXAMPLE)
    elif ITEMS in spec and not isinstance(items := spec[ITEMS], dict):
        yield _not_a_mapping(document, ("spec", ITEMS), items)


def _not_a_mapping(document: Document, path: tuple[str, ...], value: Content) -> Finding:
    return Finding(
        source=document.at(*path),
        problem=f"{dotted(path)} must be a mapping, not {shown(value)}",
        advice=_EXAMPLE,
    )
