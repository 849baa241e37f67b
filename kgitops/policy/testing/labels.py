"""The labels of the document that a request comes from."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from kgitops.policy.api.requests import PolicyRequest

R = TypeVar("R", bound=PolicyRequest)


def labelled(request: R, labels: Mapping[str, str]) -> R:
    """The request as from a document with these ``metadata.labels``."""
    return replace(request, labels=dict(labels))
