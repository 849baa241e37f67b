"""Where in the manifests the part of an object stands that a policy complains about."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from kgitops.desired.state import DesiredObject
from kgitops.model.source import Located, Source
from kgitops.plan.document.plan import Change

Steps = tuple[str | int, ...]

_SPEC: Steps = ("spec",)
_KEYED = ("configs", "quotas")
"""Below these a key may hold dots."""
_PLURALS: Mapping[str, str] = {"principal": "principals", "operation": "operations"}
"""What a request has one of and a document may list."""


class Places:
    """The declared objects by address, to look places up in."""

    def __init__(self, declared: Sequence[DesiredObject]) -> None:
        self._declared = declared

    @cached_property
    def _located(self) -> Mapping[str, Located]:
        # Made when the first is looked up: where nothing is wrong nobody asks.
        return {item.address: item.located for item in self._declared}

    def of(self, change: Change, field: str | None) -> Source | None:
        """Where ``field`` of the object stands, or the nearest that holds it.

        Without a field, and where the object is not declared, it is the change's own place: of a
        deletion the Tombstone.
        """
        located = self._located.get(change.address)
        if located is None or not field:
            return change.source
        path = _path(field)
        place = located.at(*path)
        plural = _PLURALS.get(field)
        if plural and place == located.at(*_SPEC):
            return located.at(*_SPEC, plural)
        return place


def _path(field: str) -> Steps:
    """``configs.retention.ms`` as steps into the document."""
    if field == "name":
        return "metadata", "name"
    head, _, rest = field.partition(".")
    if not rest:
        return *_SPEC, head
    if head in _KEYED:
        return *_SPEC, head, rest
    steps: Steps = tuple(int(step) if step.isdecimal() else step for step in field.split("."))
    return steps if head == "metadata" else _SPEC + steps
