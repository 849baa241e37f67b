"""The tools that can be converted from, and which of them a folder's files are of."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Protocol

from kgitops.conversion.objects import Conversion, Loss
from kgitops.conversion.reading.folder import SourceFolder, read_yaml_files
from kgitops.conversion.reading.resources import unread_documents
from kgitops.model.errors import FindingsError, UsageError

TOOLS: Mapping[str, str] = {
    "jikkou": "jikkou",
    "julie": "julie",
    "kafka-gitops": "kafka_gitops",
    "kdef": "kdef",
    "kgitops": "kgitops",
    "ns4kafka": "ns4kafka",
    "topicctl": "topicctl",
    "strimzi": "strimzi",
    "terraform": "terraform.files",
}
"""A tool's name for ``--from``, to its module."""

AUTO = "auto"


class Tool(Protocol):
    """A tool's module."""

    count: Callable[[SourceFolder], int]
    """The number of documents, or files, that can only be this tool's."""
    convert: Callable[[SourceFolder], Conversion]
    """Read all files of the folder."""


def tool_module(name: str) -> Tool:
    """The module of a tool."""
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


def _first_unread(folder: SourceFolder) -> str:
    """The first document that can't be read, if there is any: it may be why no tool is known."""
    broken = [item for file in read_yaml_files(folder) for item in file.broken]
    if not broken:
        return ""
    first = broken[0]
    return f" (some can't be read, the first at {first.source}: {first.losses[0].problem})"
