"""The values shown of an object that is taken over from another project."""

from collections.abc import Sequence

from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, FieldChange, Takeover
from kgitops.plan.shown.values import ContradictionError, Shown, owner_after


def shown_takeover(change: Change, takeovers: Sequence[Takeover]) -> Shown:
    """Show that the object's record gets another owner, and nothing else.

    Raises:
        ContradictionError: the change does something else.
    """
    before, after = change.owner_before, owner_after(change)
    takeover = next((it for it in takeovers if before and before.project in it.identities), None)
    if before is None or takeover is None or change.requests or change.before is not None:
        raise ContradictionError("does something else than changing its owner")
    return Shown(
        actions=(Action.ADOPT,),
        after=None,
        fields=(
            FieldChange(
                path="owner",
                before=before.project,
                after=after.project,
                risk=risks.PROJECT_TAKEN_OVER,
                note="registry only",
            ),
        ),
        risks=(risks.PROJECT_TAKEN_OVER,),
        because=f"metadata.{takeover.kind} takes it over from {takeover.label}",
    )
