"""A plan as a comment on a pull request: within the budget, and never hiding what hurts.

When room is short, first what is safe and then what is disruptive goes from full to one row an
object to counts. Deletions, lost data, lost access, refusals and what policies deny or waive keep a
row each whatever happens; if those alone are too many, there are several comments.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model import clock
from kgitops.model.resources.addresses import object_name
from kgitops.model.wording import counted, shortened
from kgitops.plan.document.file import SealedPlan, plan_digest
from kgitops.plan.document.plan import Change, Plan
from kgitops.plan.document.risks import RiskLevel
from kgitops.report.content.policy_rows import PolicyStatus, status_totals, tally, violation_groups
from kgitops.report.content.safe_text import code_span, comment_token, fenced, longest_run
from kgitops.report.content.statements import (
    checked_sentence,
    embedded_note,
    kept_counts,
    notes,
    plan_headline,
    summary_sentence,
    unfinished_run_sentence,
    verdict_sentence,
)
from kgitops.report.markdown.pieces import Piece, Rank, pieces
from kgitops.report.markdown.policies import Depth

GITHUB_BUDGET = 65_536 - 2_048
"""GitHub's limit for a comment, with room for what a workflow adds. Counted in UTF-8 bytes."""

_SHORT = 200


def render_markdown(
    plan: Plan, *, sealed: SealedPlan | None = None, budget: int = GITHUB_BUDGET
) -> str:
    """The comment, or all of them one after the other where one does not suffice."""
    return "\n".join(render_markdown_comments(plan, sealed=sealed, budget=budget))


def render_markdown_comments(
    plan: Plan, *, sealed: SealedPlan | None = None, budget: int = GITHUB_BUDGET
) -> tuple[str, ...]:
    """One comment, or as many as the changes that may not be left out need; each in the budget."""
    frame = _Frame.of(plan, sealed)
    shown = [_Shown(piece, Depth.FULL) for piece in pieces(plan, sealed)]
    for index, depth in _ladder(shown):
        if _size(frame.whole(shown)) <= budget:
            break
        shown[index] = replace(shown[index], depth=depth)
    if _size(frame.whole(shown)) > budget:
        return tuple(frame.comments(shown, budget))
    # What was shortened last may have freed room for more than itself.
    for index, item in enumerate(shown):
        for depth in Depth:
            richer = [*shown[:index], replace(item, depth=depth), *shown[index + 1 :]]
            if depth >= item.depth or _size(frame.whole(richer)) <= budget:
                shown = richer
                break
    return (frame.whole(shown),)


class _Shown(Struct, frozen=True):
    """A piece at the depth it is shown; ``lines`` where only a part of it is in a comment."""

    piece: Piece
    depth: Depth
    part: tuple[str, ...] | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        return self.piece.lines(self.depth) if self.part is None else self.part

    def markdown(self) -> str:
        block = fenced(self.lines, "diff")
        if self.piece.rank is Rank.OPEN or self.piece.unfolded:
            return f"#### {self.piece.title}\n\n{block}\n"
        summary = f"<details><summary>{self.piece.title}</summary>"
        return f"{summary}\n\n{block}\n\n</details>\n"


class _Frame(Struct, frozen=True, kw_only=True):
    """The text around the pieces, the same at every depth."""

    marker: str
    heading: str
    top: str
    bottom: str
    total: int

    @classmethod
    def of(cls, plan: Plan, sealed: SealedPlan | None) -> "_Frame":
        digest = sealed.plan_digest if sealed else plan_digest(plan)
        key = ":".join(
            comment_token(shortened(text, _SHORT))
            for text in (plan.desired.project, plan.target.name, digest.partition(":")[2][:12])
        )
        return cls(
            marker=f"kgitops:{key}",
            heading=f"{_colour(plan)} {plan_headline(plan, _span)}",
            top="\n".join(_top(plan, sealed)),
            bottom="\n".join(_bottom(plan, sealed, digest)),
            total=len(plan.changes),
        )

    def comment(
        self, shown: Sequence[_Shown], number: str = "", *, top: bool = True, elided: str = ""
    ) -> str:
        marker = f"<!-- {self.marker}{f' {number}' if number else ''} -->"
        heading = f"### {self.heading}{f' ({number})' if number else ''}\n"
        body = (item.markdown() for item in shown)
        return "\n".join(
            (marker, heading, *([self.top] if top else ()), *body, elided, self.bottom)
        )

    def whole(self, shown: Sequence[_Shown]) -> str:
        """All of it in one comment."""
        return self.comment(shown, elided=self.elided(shown))

    def comments(self, shown: Sequence[_Shown], budget: int) -> Iterator[str]:
        """Cut between lines; every comment closes what it opens."""
        elided = self.elided(shown)
        frame = self.comment((), "9999/9999", elided=elided)
        pages = list(_pages(shown, budget - _size(frame)))
        for index, page in enumerate(pages, start=1):
            last = index == len(pages)
            number = f"{index}/{len(pages)}"
            yield self.comment(page, number, top=index == 1, elided=elided if last else "")

    def elided(self, shown: Sequence[_Shown]) -> str:
        """The number and kinds of the changes without a row of their own."""
        hidden: list[Change] = []
        brief = 0
        for item in shown:
            if item.depth is Depth.COUNT:
                hidden += item.piece.elided
            if item.depth is not Depth.FULL:
                brief += item.piece.changes
        if not brief:
            return ""
        kinds = Counter(
            (" and ".join(change.actions), object_name(change.address).kind) for change in hidden
        )
        which = ", ".join(f"{count:,} {verb} {kind}" for (verb, kind), count in kinds.items())
        by_name = f"{self.total - len(hidden):,} of {self.total:,} changes by name"
        left_out = f"; elided {len(hidden):,}: {which}" if hidden else ""
        return f"Shown: {by_name}{left_out}. All details: `kgitops show PLAN --full`.\n"


def _pages(shown: Sequence[_Shown], room: int) -> Iterator[list[_Shown]]:
    """The pieces on as few pages as it takes, in order; no page takes more than ``room``."""
    page: list[_Shown] = []
    remaining = room
    for item in shown:
        part: list[str] = []
        around = taken = _size(replace(item, part=()).markdown()) + 1
        longest = 0
        for line in item.lines:
            # The fence is as long as the longest run of backticks in it demands, twice.
            longest = max(longest, longest_run(line))
            more = _size(line) + 1
            if taken + more + 2 * longest > remaining and (part or page):
                if part:
                    page.append(replace(item, part=tuple(part)))
                yield page
                page, part, remaining, taken = [], [], room, around
                longest = longest_run(line)
            part.append(line)
            taken += more
        page.append(replace(item, part=tuple(part)))
        remaining -= taken + 2 * longest
    yield page


def _ladder(shown: Sequence[_Shown]) -> Iterator[tuple[int, Depth]]:
    """The next pieces to shorten: safe ones, then disruptive ones, then open ones."""
    last_first = list(reversed(range(len(shown))))
    for rank in Rank:
        for depth in (Depth.ROWS, Depth.COUNT):
            yield from ((n, depth) for n in last_first if shown[n].piece.rank is rank)


def _colour(plan: Plan) -> str:
    """A coloured dot; the words next to it say the same."""
    levels = {change.level for change in plan.changes}
    if plan.verdict.stops or RiskLevel.DATA_LOSS in levels:
        return "🔴"
    look = (
        levels & {RiskLevel.ACCESS_LOSS, RiskLevel.DISRUPTIVE}
        or status_totals(plan)[PolicyStatus.WAIVED]
    )
    return "🟠" if look else "🟢"


def _top(plan: Plan, sealed: SealedPlan | None) -> Iterator[str]:
    yield from (f"Note: {code_span(note)}\n" for note in embedded_note(plan))
    yield f"**{summary_sentence(plan)}**\n"
    sentence = verdict_sentence(plan)
    if sentence:
        yield f"**{sentence}**\n"
    elif plan.changes:
        yield f"{_approval(plan)}\n"
    git = f", git {_span(plan.desired.git_sha[:12])}" if plan.desired.git_sha else ""
    base = sealed.captured_at if sealed and sealed.captured_at else plan.base.digest[:19]
    yield (
        f"Project {_span(plan.desired.project)}{git}, cluster id "
        f"{_span(plan.target.cluster_id)}, base {_span(base)}.\n"
    )
    yield from (f"Note: {code_span(note)}\n" for note in notes(plan))
    if unfinished := unfinished_run_sentence(sealed):
        yield f"Unfinished: {code_span(unfinished)}\n"


def _approval(plan: Plan) -> str:
    target = _span(plan.target.name)
    what = "write only kgitops' own records"
    if plan.requests:
        what = f"send the {counted(len(plan.requests), 'request')} of this plan and no others"
    return (
        f"Approve to let `kgitops apply` {what} to {target}. It stops if one of these objects has "
        "changed since."
    )


def _bottom(plan: Plan, sealed: SealedPlan | None, digest: str) -> Iterator[str]:
    if plan.kept:
        rules = ", ".join(
            f"{count:,} {_span(meaning)}" for meaning, count, _ in kept_counts(plan)[:20]
        )
        yield f"Kept: {rules}.\n"
    checked = checked_sentence(plan)
    if checked:
        yield f"Checked: {checked}.\n"
    if plan.policies_loaded and not violation_groups(plan):
        yield f"Policy: {tally(plan, None)}.\n"
    yield f"Plan {_span(digest)}"
    if sealed:
        yield f"expires {_span(clock.to_text(sealed.expires))}"
    if plan.changes and not plan.verdict.stops:
        yield f"Next: {_span(f'kgitops apply PLAN --expect-digest {digest}')}"


def _span(text: str) -> str:
    return code_span(shortened(text, _SHORT))


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))
