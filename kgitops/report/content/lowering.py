"""The lowering report in few lines: losses on a Kafka without virtual clusters, by reason."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.resources.addresses import is_address, object_name, split_scoped_address
from kgitops.plan.document.plan import Plan

WORST_FIRST = (
    Grade.REFUSE,
    Grade.NONE,
    Grade.APPROX,
    Grade.CLIENT,
    Grade.SNAPSHOT,
    Grade.EXACT,
    None,
)
_SUBJECTS_SHOWN = 5
_REASONS_SHOWN = 3


class LoweringGroup(Struct, frozen=True, kw_only=True):
    """Lines of one code, grade, reason and remedy; ``subjects`` with their virtual clusters."""

    code: str
    grade: Grade | None
    reason: str
    remedy: str
    subjects: tuple[str, ...]

    @property
    def head(self) -> str:
        """``L-GROUP (CLIENT, 2)``."""
        count = f"{len(self.subjects):,}" if len(self.subjects) > 1 else ""
        notes = ", ".join(part for part in (self.grade, count) if part)
        return f"{self.code} ({notes})" if notes else self.code

    @property
    def text(self) -> str:
        """The reason and the remedy."""
        return f"{self.reason}; {self.remedy}" if self.remedy else self.reason


class LoweringRow(Struct, frozen=True, kw_only=True):
    """A group as it is shown; ``left_out`` subjects are not named, ``alike`` lines not shown."""

    group: LoweringGroup
    subjects: tuple[str, ...]
    left_out: int = 0
    alike: int = 0

    @property
    def names(self) -> str:
        """The subjects in one line."""
        more = f" and {self.left_out:,} more" if self.left_out else ""
        return f"{', '.join(self.subjects)}{more}"

    @property
    def more(self) -> str:
        """A note that lines of the same code are left out; empty where none is."""
        return f"and {self.alike:,} more lines of {self.group.code}" if self.alike else ""


def lowering_rows(plan: Plan, *, full: bool) -> tuple[LoweringRow, ...]:
    """All lines, the worst grade first; without ``full`` few of each code."""
    by_code: dict[str, list[LoweringGroup]] = defaultdict(list)
    for group in _groups(plan.lowering):
        by_code[group.code].append(group)
    rows: list[LoweringRow] = []
    for groups in by_code.values():
        shown = groups if full else groups[:_REASONS_SHOWN]
        alike = sum(len(group.subjects) for group in groups[len(shown) :])
        for index, group in enumerate(shown, start=1):
            subjects = group.subjects if full else group.subjects[:_SUBJECTS_SHOWN]
            rows.append(
                LoweringRow(
                    group=group,
                    subjects=tuple(filter(None, subjects)),
                    left_out=len(group.subjects) - len(subjects),
                    alike=alike if index == len(shown) else 0,
                )
            )
    return tuple(rows)


def lowering_counts(plan: Plan) -> str:
    """``1 NONE, 2 CLIENT``, the worst first."""
    grades = Counter(line.grade for line in plan.lowering)
    return ", ".join(
        f"{grades[grade]:,} {grade}" for grade in WORST_FIRST if grade and grades[grade]
    )


def _groups(lines: Sequence[LoweringLine]) -> Iterator[LoweringGroup]:
    members_of: dict[tuple[str, Grade | None, str, str], list[LoweringLine]] = defaultdict(list)
    for line in lines:
        members_of[line.code, line.grade, line.reason, line.remedy].append(line)
    ordered = sorted(
        members_of.items(), key=lambda item: (WORST_FIRST.index(item[0][1]), item[0][0])
    )
    for (code, grade, reason, remedy), members in ordered:
        yield LoweringGroup(
            code=code,
            grade=grade,
            reason=reason,
            remedy=remedy,
            subjects=tuple(_subject(line) for line in members),
        )


def _subject(line: LoweringLine) -> str:
    subject = line.subject
    if is_address(subject):
        if split_scoped_address(subject) is not None:
            return str(object_name(subject))
        subject = str(object_name(subject))
    return ": ".join(part for part in (line.virtual_cluster, subject) if part)
