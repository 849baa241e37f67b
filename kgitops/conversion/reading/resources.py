"""Documents in Kubernetes' manner, and those of tools that kgitops knows and does not read."""

import re
from collections.abc import Iterator

from kgitops.conversion.objects import Loss, SourceObject
from kgitops.conversion.reading.folder import (
    YAML_SUFFIXES,
    FoundFile,
    SourceFolder,
    lost_document,
    read_source,
    read_yaml,
)
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Value
from kgitops.model.source import Finding

_KNOWN = re.compile(r"v1((alpha|beta)[0-9])?")
_ADVICE = "export its objects from the cluster with `kgitops export`, or declare them by hand"
_ADVICE_SCRIPT = "convert what `kafka-topics --describe` and `kafka-acls --list` write"
_TOOLS = {
    r"platform\.confluent\.io/": "Confluent for Kubernetes",
    r"kafka\.banzaicloud\.io/": "Koperator",
    r"cluster\.redpanda\.com/": "the Redpanda operator",
    r"(\w+\.)?kafka\.(m\.)?crossplane\.io/": "Crossplane's provider for Kafka",
    r"aiven\.io/": "the Aiven operator",
    r"kafka\.nais\.io/": "NAIS",
    r"(kafka|gateway|self-serve|self-service|iam|console)/v[0-9]": "Conduktor",
}
"""The beginnings of `apiVersion`, to the tools that have them."""
_ANSIBLE = re.compile(r"(?:[\w-]+\.)*kafka_(?:topics?|acls?|quotas?|users?|lib|stat_lag)")
_MAY_BE = re.compile(
    r"confluent\.io/|banzaicloud|redpanda\.com/|crossplane\.io/|aiven\.io/|nais\.io/|"
    r"\b(?:kafka|gateway|self-serv\w+|iam|console)/v[0-9]|\bkafka_[a-z]+:"
)
"""Only files with such a text are read for it."""
_SCRIPT = re.compile(
    r"^[^#\n]*\bkafka-(?:topics|acls|configs)(?:\.sh)?\b(?:[^\n]|\\\n)*"
    r"--(?:create|add|alter|delete|remove)\b",
    re.MULTILINE,
)
_SCRIPTS = (".sh", ".bash", ".ps1", ".bat")


def header(document: Value) -> tuple[str, str]:
    """``apiVersion`` and ``kind``; empty where they are not written."""
    return document.text_at("apiVersion") or "", document.text_at("kind") or ""


def metadata_name(document: Value) -> str:
    """``metadata.name``; empty where it is not written."""
    return document.text_at("metadata", "name") or ""


def is_known_version(api: str) -> bool:
    """Return whether ``kafka.example.org/v1beta2`` is of version 1, or came before it."""
    return _KNOWN.fullmatch(api.rpartition("/")[2]) is not None


def unread_documents(folder: SourceFolder) -> list[SourceObject]:
    """The documents and scripts of known tools, each as a loss that names the tool."""
    return [item for file in folder.files for item in _unread(file)]


def _unread(file: FoundFile) -> Iterator[SourceObject]:
    is_yaml = file.relative.endswith(YAML_SUFFIXES)
    if not is_yaml and not file.relative.endswith(_SCRIPTS):
        return
    text = read_source(file)
    if isinstance(text, Finding):
        return
    if is_yaml and _MAY_BE.search(text.text):
        for document in read_yaml(file, Dialect.GO).documents:
            tool = _tool(document)
            if tool is not None:
                problem = f"{_shown(document)} is of {tool}, which convert does not read"
                yield lost_document(document, problem, _ADVICE)
    elif not is_yaml and (found := _SCRIPT.search(text.text)):
        command = re.search(r"kafka-(\w+)", found[0])
        assert command is not None  # noqa: S101 (by the pattern)
        place = text.place(found.start())
        problem = f"it is a script that calls kafka-{command[1]}, and convert runs no scripts"
        yield SourceObject(
            kind="script",
            name=file.relative,
            source=place,
            losses=(Loss(source=place, problem=problem, advice=_ADVICE_SCRIPT),),
        )


def _tool(document: Value) -> str | None:
    api, kind = header(document)
    for start, tool in _TOOLS.items():
        if kind and re.match(start, api):
            return tool
    return "Ansible" if _has_task(document) else None


def _has_task(value: Value) -> bool:
    """Return whether a playbook, or a list of tasks, calls a module for Kafka."""
    for item in value.items():
        for key, inner in item.entries():
            if _ANSIBLE.fullmatch(key) and inner.is_mapping():
                return True
            if inner.is_list() and _has_task(inner):
                return True
    return False


def _shown(document: Value) -> str:
    _, kind = header(document)
    name = document.text_at("metadata", "name") or ""
    return f"{kind} {name}".strip() if kind else "a playbook"
