"""Versions of kinds, as tools in Kubernetes' manner write them."""

import re

_KNOWN = re.compile(r"v1((alpha|beta)[0-9])?")


def is_known_version(api: str) -> bool:
    """Tell if ``kafka.example.org/v1beta2`` is of version 1, or came before it."""
    return _KNOWN.fullmatch(api.rpartition("/")[2]) is not None
