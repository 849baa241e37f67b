"""A plan as objects by address: its changes, and what is said of the plan as a whole."""

from collections.abc import Mapping

import msgspec

from kgitops.comparison.comparing import ComparedState, StateKind, by_partition
from kgitops.model.registry import Json
from kgitops.plan.document.file import SealedPlan, to_text

_WHOLE = ("target", "principal", "partial", "allow_deletes", "verdict", "policies_loaded")
_STATEMENTS = (
    "access_losses",
    "drift",
    "kept",
    "lowering",
    "warnings",
    "findings",
    "refusals",
)
_OF_A_CHANGE = ("actions", "labels", "reason", "risks", "impact", "policies")
_OF_A_REQUEST = ("api", "body")


def plan_objects(sealed: SealedPlan, name: str) -> ComparedState:
    """The changes of a plan; not its digests, nor when it was made and where documents stand."""
    return ComparedState(kind=StateKind.PLAN, name=name, objects=objects_of(sealed))


def objects_of(sealed: SealedPlan) -> dict[str, Json]:
    """The changes by address, and ``plan`` for what is said of all of them."""
    document = msgspec.json.decode(to_text(sealed))
    whole = {key: document[key] for key in _WHOLE if key in document}
    for key in _STATEMENTS:
        whole[key] = [_placeless(row) for row in document.get(key, ())]
    objects: dict[str, Json] = {"plan": whole}
    for change in document["changes"]:
        shown = {key: change[key] for key in _OF_A_CHANGE if key in change}
        for side in ("before", "after"):
            if change[side] is not None:
                shown[side] = by_partition(change[side], "assignments")
        shown["requests"] = [
            {key: request[key] for key in _OF_A_REQUEST} for request in change["requests"]
        ]
        objects[change["address"]] = shown
    return objects


def _placeless(row: Json) -> Json:
    """A statement without the place of what it is about: a line moves with the lines above it."""
    if not isinstance(row, Mapping):
        return row
    return {key: value for key, value in row.items() if key != "source"}
