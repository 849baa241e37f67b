"""Documents in Kubernetes' manner: their ``apiVersion``, ``kind`` and name."""

import re

from kgitops.conversion.reading.values import Fields, Value

_KNOWN = re.compile(r"v1((alpha|beta)[0-9])?")


def header(document: Value) -> tuple[str, str]:
    """``apiVersion`` and ``kind``; empty where they are not written."""
    fields = dict(document.entries())
    api, kind = fields.get("apiVersion"), fields.get("kind")
    return (api and api.text()) or "", (kind and kind.text()) or ""


def metadata_name(document: Value) -> str:
    """``metadata.name``; empty where it is not written."""
    return Fields(document, []).fields("metadata").text("name") or ""


def is_known_version(api: str) -> bool:
    """Tell if ``kafka.example.org/v1beta2`` is of version 1, or came before it."""
    return _KNOWN.fullmatch(api.rpartition("/")[2]) is not None
