"""kgitops's own manifests, for ``--compact``: topics and ACLs are read, all else is copied."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from kgitops.conversion.acls import enum_member
from kgitops.conversion.compacting.acls import acl_spec
from kgitops.conversion.objects import Conversion, ConvertedFile, DeclaredDocument, SourceObject
from kgitops.conversion.reading.folder import (
    YAML_SUFFIXES,
    FoundFile,
    SourceFolder,
    broken_document,
    converted_file,
    documents_of,
    read_yaml,
    read_yaml_files,
)
from kgitops.conversion.reading.values import Value
from kgitops.conversion.topics import written_config
from kgitops.kinds.exports import Inline
from kgitops.manifests.files import PROJECT_FILE
from kgitops.manifests.kind_models import adapter
from kgitops.model.registry import Json
from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType
from kgitops.model.source import Finding, Source

_NOT_COPIED = "manifests/not-copied.yaml"
_METADATA = {"name", "labels", "clusters"}
_NEEDED = {"permission", "operations", "resource"}
_ACL = {"principal", "principals", "host"} | _NEEDED


def count(folder: SourceFolder) -> int:
    """The number of documents of kgitops."""
    return sum(
        _text(document, "apiVersion").startswith("kgitops/")
        for document in documents_of(read_yaml_files(folder))
    )


def convert(folder: SourceFolder) -> Conversion:
    """Read the manifests; a project's other files are copied."""
    project = next((file for file in folder.files if file.relative == PROJECT_FILE), None)
    manifests, others = _parted(folder, project)
    read = [read_yaml(file) for file in manifests]
    copied = {file: _readable(file) for file in others}
    lost = tuple(_not_copied(file) for file, text in copied.items() if text is None)
    return Conversion(
        tool="kgitops",
        files=(
            *(converted_file(file, map(_object, file.documents)) for file in read),
            *([ConvertedFile(path=_NOT_COPIED, objects=lost)] if lost else []),
        ),
        project=project.path.read_text(encoding="utf-8") if project else "",
        copied={file.relative: text for file, text in copied.items() if text is not None},
    )


def _not_copied(file: FoundFile) -> SourceObject:
    finding = Finding(
        source=Source(file.name, 1, 1),
        problem="it is not UTF-8, or can't be read, so it is not copied",
        advice="copy it to the new project yourself",
    )
    return broken_document(finding, file.name)


def _parted(
    folder: SourceFolder, project: FoundFile | None
) -> tuple[list[FoundFile], list[FoundFile]]:
    """The manifests, and the files that a project has besides."""
    if project is None:
        return list(folder.with_suffix(*YAML_SUFFIXES)), []
    yaml = folder.with_suffix(".yaml", ".yml")
    roots = _manifest_folders(project)
    inside = [file for file in yaml if file != project and _is_below(file.relative, roots)]
    return inside, [file for file in folder.files if file not in inside and file != project]


def _manifest_folders(project: FoundFile) -> list[PurePosixPath]:
    documents = read_yaml(project).documents
    spec = dict(documents[0].entries()).get("spec") if documents else None
    written = dict(spec.entries()).get("manifests") if spec else None
    names = [item.text() for item in written.items()] if written else ["manifests"]
    return [PurePosixPath(name) for name in names if name]


def _is_below(path: str, roots: Iterable[PurePosixPath]) -> bool:
    return any(PurePosixPath(path).is_relative_to(root) for root in roots)


def _readable(file: FoundFile) -> str | None:
    try:
        return file.path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _object(value: Value) -> SourceObject:
    kind = _text(value, "kind")
    metadata = dict(value.entries()).get("metadata")
    name = _text(metadata, "name") if metadata else ""
    document = _read(kind, value)
    source = value.source
    if document is None:
        document = DeclaredDocument(kind=kind, name=name, spec={}, text=value.written_text())
        value.take_inner_comments()
    return SourceObject(
        kind=kind or "document",
        name=name,
        source=source,
        documents=(document,),
        comments=value.take_comments(),
    )


def _read(kind: str, value: Value) -> DeclaredDocument | None:
    """The document as values; None if only its own text says all of it, or what is wrong in it."""
    if kind not in _READ or value.template():
        return None
    content = value.content
    if not adapter(kind).validator.isinstance_python(content):
        return None
    metadata, spec = content["metadata"], _READ[kind](content["spec"])
    if spec is None or set(metadata) - _METADATA:
        return None
    return DeclaredDocument(
        kind=kind,
        name=metadata["name"],
        spec=spec,
        labels=metadata.get("labels", {}),
        clusters=tuple(metadata.get("clusters", ())),
    )


def _topic(spec: Mapping[str, Json]) -> Mapping[str, Json] | None:
    configs = spec.get("configs", {})
    if "profile" in spec or None in configs.values():
        return None
    return {
        **{key: item for key, item in spec.items() if key != "configs"},
        **({"configs": {key: _config(key, item) for key, item in configs.items()}}
           if configs else {}),
    }  # fmt: skip


def _acl(spec: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """The bindings; None if the document is a role, or says more than they do."""
    one_field = ("principal" in spec) != ("principals" in spec)
    if not one_field or set(spec) - _ACL or not set(spec) >= _NEEDED:
        return None
    resource = spec["resource"]
    kind = enum_member(ResourceType, resource["type"])
    pattern = enum_member(PatternType, resource.get("patternType", PatternType.LITERAL))
    permission = enum_member(PermissionType, spec["permission"])
    operations = [enum_member(Operation, item) for item in spec["operations"]]
    if not (kind and pattern and permission and operations and all(operations)):
        return None
    prefixed = {} if pattern is PatternType.LITERAL else {"patternType": pattern.value}
    host = spec.get("host", "*")
    return acl_spec(
        {
            **{key: spec[key] for key in ("principal", "principals") if key in spec},
            **({"host": host} if host != "*" else {}),
            "permission": permission.value,
            "operations": [item.value for item in operations if item],
            "resource": Inline({"type": kind.value, "name": resource["name"], **prefixed}),
        }
    )


_READ = {"Topic": _topic, "Acl": _acl}


def _config(key: str, value: Json) -> Json:
    return value if isinstance(value, list | dict) else written_config(key, value)


def _text(value: Value, key: str) -> str:
    found = dict(value.entries()).get(key)
    return (found.text() if found else None) or ""
