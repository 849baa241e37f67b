"""Documents in Kubernetes' manner: their ``apiVersion``, ``kind`` and name."""

import re

from kgitops.conversion.reading.values import Value

_KNOWN = re.compile(r"v1((alpha|beta)[0-9])?")


def header(document: Value) -> tuple[str, str]:
    """``apiVersion`` and ``kind``; empty where they are not written."""
    return document.text_at("apiVersion") or "", document.text_at("kind") or ""


def metadata_name(document: Value) -> str:
    """``metadata.name``; empty where it is not written."""
    return document.text_at("metadata", "name") or ""


def is_known_version(api: str) -> bool:
    """Return whether ``kafka.example.org/v1beta2`` is of version 1, or came before it."""
    return _KNOWN.fullmatch(api.rpartition("/")[2]) is not None
