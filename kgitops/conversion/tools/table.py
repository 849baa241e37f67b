"""The tools that can be converted from, and which of them a folder's files are of."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Protocol

from kgitops.conversion.objects import Conversion, Loss
from kgitops.conversion.reading.folder import SourceFolder, read_yaml_files
from kgitops.conversion.reading.resources import unread_documents
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.source import Source

TOOLS: Mapping[str, str] = {
    "compose": "compose",
    "helm": "helm",
    "jikkou": "jikkou",
    "julie": "julie",
    "kafka-gitops": "kafka_gitops",
    "kafka-tools": "kafka_tools",
    "kdef": "kdef",
    "kgitops": "kgitops",
    "ns4kafka": "ns4kafka",
    "topicctl": "topicctl",
    "strimzi": "strimzi",
    "terraform": "terraform.files",
}
"""A tool's name for ``--from``, to its module."""

_BESIDE_OTHERS = ("compose", "helm", "kafka-tools")
"""Files that stand beside those of a tool in many folders, and then are not meant first."""
AUTO = "auto"


class Tool(Protocol):
    """A tool's module."""

    count: Callable[[SourceFolder], int]
    """The number of documents, or files, that can only be this tool's."""
    convert: Callable[[SourceFolder], Conversion]
    """Read all files of the folder."""


class OfferingTool(Tool, Protocol):
    """A tool whose files stand beside those of others."""

    offers: Callable[[SourceFolder], list[tuple[Source, str]]]
    """The places of what it converts, and the words for it."""


def offering_tool(name: str) -> OfferingTool:
    """The module of such a tool."""
    module: OfferingTool = import_module(f"kgitops.conversion.tools.{TOOLS[name]}")
    return module


def tool_module(name: str) -> Tool:
    module: Tool = import_module(f"kgitops.conversion.tools.{TOOLS[name]}")
    return module


def find_tool(folder: SourceFolder) -> str:
    """The one tool whose files these are.

    Raises:
        UsageError: they are of none, or of several.
        FindingsError: they are of none, and some are of tools that kgitops knows and does not read.
    """
    counts = {name: tool_module(name).count(folder) for name in TOOLS}
    found = [name for name, count in counts.items() if count]
    found = [name for name in found if name not in _BESIDE_OTHERS] or found
    if len(found) == 1:
        return found[0]
    if not found:
        known = [loss for item in unread_documents(folder) for loss in item.losses]
        if known:
            raise FindingsError(map(Loss.finding, known))
        unread = _first_unread(folder)
        raise UsageError(
            f"{folder.given} has no files of a tool that kgitops knows{unread}; say which with "
            f"--from ({', '.join(TOOLS)})"
        )
    names = ", ".join(f"{name} ({counts[name]:,})" for name in found)
    raise UsageError(f"{folder.given} has files of several tools: {names}; choose one with --from")


def offered(folder: SourceFolder, chosen: str) -> tuple[str, ...]:
    """The objects beside those of the chosen tool that another run converts."""
    return tuple(
        f"{source.file}:{source.line} {words}: convert with --from {name}"
        for name in _BESIDE_OTHERS
        if name != chosen
        for source, words in offering_tool(name).offers(folder)
    )


def _first_unread(folder: SourceFolder) -> str:
    """The first document that can't be read, if there is any: it may be why no tool is known."""
    broken = [item for file in read_yaml_files(folder) for item in file.broken]
    if not broken:
        return ""
    first = broken[0]
    return f" (some can't be read, the first at {first.source}: {first.losses[0].problem})"
