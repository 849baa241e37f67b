"""Documents → YAML files that read back as the same documents."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from kgitops.model.errors import KgitopsError, UsageError
from kgitops.model.registry import Json

# What reads as a string in every YAML; all else is quoted, for readers differ on the rest.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*(?::[A-Za-z0-9._/-]+)?")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# Formatting and private characters: an editor shows nothing of them, or another order.
_UNSEEN = frozenset({"Cf", "Co", "Cn", "Zl", "Zp"})


class Inline(dict[str, Json]):
    """A mapping that is written on one line: ``{type: topic, name: orders}``."""


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something, before any work is done for it.

    Raises:
        UsageError: it is not empty, or is no folder.
    """
    try:
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name a new folder, nothing is overwritten")
    except OSError as error:
        raise UsageError(f"-o {folder}: {_reason(error)}; name a new folder") from error


def write_manifests(files: Mapping[str, Sequence[Mapping[str, Json]]], folder: Path) -> None:
    """Write all files below ``folder``.

    Raises:
        KgitopsError: they can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, documents in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(to_yaml(documents), encoding="utf-8")
    except OSError as error:
        raise KgitopsError(
            f"{folder} can't be written: {_reason(error)}; name another folder"
        ) from error


def to_yaml(documents: Sequence[Mapping[str, Json]]) -> str:
    """The text of a file with these documents."""
    text = _dump(documents, allow_unicode=True)
    if text.isascii() or _UNSEEN.isdisjoint(map(unicodedata.category, text)):
        return text
    return _dump(documents, allow_unicode=False)


def _dump(documents: Sequence[Mapping[str, Json]], *, allow_unicode: bool) -> str:
    text: str = yaml.dump_all(
        documents,
        Dumper=_Dumper,
        sort_keys=False,
        explicit_start=True,
        default_flow_style=False,
        width=_ONE_LINE,
        allow_unicode=allow_unicode,
    )
    return text


# A line is never broken: a text that goes on in the next line is easily misread.
_ONE_LINE = 2**20


class _Dumper(yaml.CSafeDumper):
    """Quotes every string that some reader of YAML might take for something else."""

    def ignore_aliases(self, data: Json) -> bool:
        del data
        return True


def _string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    # What looks like a placeholder stands for itself.
    text = text.replace("${", "$${")
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


def _list(dumper: _Dumper, items: Sequence[Json]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)


def _inline(dumper: _Dumper, mapping: Inline) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", mapping, flow_style=True)


_Dumper.add_representer(str, _string)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(Inline, _inline)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
