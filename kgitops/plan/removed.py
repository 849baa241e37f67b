"""The change by which an object leaves: deleted by one request, or only forgotten."""

from collections.abc import Mapping

from kgitops.model.registry import Json
from kgitops.model.requests import Request
from kgitops.plan.plan import Action, Change, Kind, Precondition
from kgitops.plan.removal import Fate, Removal
from kgitops.plan.risks import Risk
from kgitops.plan.topic_steps import chain


def removed(
    removal: Removal,
    kind: Kind,
    view: Mapping[str, Json] | None,
    request: Request,
    *,
    deleted: Risk,
    forgotten: Risk,
    fields: Mapping[str, str | None] | None = None,
) -> Change:
    """The change for an object that looks like ``view`` now; None: it is gone already.

    ``fields`` are what must still be so when it is deleted by ``request``.
    """
    there = view is not None
    delete = there and removal.fate is Fate.DELETE
    expects = Precondition(
        object=removal.address, exists=there, owner=removal.owner.project, fields=fields or {}
    )
    gone = "" if there else "; it is already gone from the cluster"
    return Change(
        address=removal.address,
        kind=kind,
        actions=(Action.DELETE if delete else Action.FORGET,),
        risks=(deleted if delete else forgotten,),
        because=f"{removal.because}{gone}",
        source=removal.source,
        before=view,
        after=None if delete else view,
        preconditions=(expects,),
        requests=chain([request], expects) if delete else (),
        owner_before=removal.owner,
        owner_after=removal.owner_after,
    )
