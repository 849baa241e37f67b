"""The topics, records and rights that a plan would take away, in words."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from kgitops.manifests.kind_models import OBJECT_KINDS, kind_class
from kgitops.model.resources.addresses import object_name
from kgitops.model.resources.kinds import Kind
from kgitops.model.wording import counted, shortened
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.document.risks import RiskLevel

_NAMED = 3
_LONGEST_NAME = 60
_ORDER = tuple(Kind)
OBJECTS_LOST = ("data of {} may be lost", "object")
"""The words for changes by which data may be lost, and the noun of what they count."""


class Clause(Struct, frozen=True):
    """``3 topics are deleted`` and which: the first names, and how many more there are."""

    words: str
    names: tuple[str, ...] = ()
    more: int = 0

    def sentence(self, name: Callable[[str], str], *, named: bool = True) -> str:
        """Return the words with the names, each made safe by ``name``."""
        if not self.names or not named:
            return self.words
        shown = ", ".join(name(shortened(each, _LONGEST_NAME)) for each in self.names)
        return f"{self.words}: {shown}{f' and {self.more:,} more' if self.more else ''}"


def losses(plan: Plan, name: Callable[[str], str]) -> str:
    """The topics, records and rights that go, without what clients or brokers merely notice."""
    return "; ".join(clause.sentence(name) for clause in loss_clauses(plan))


def loss_clauses(plan: Plan) -> Sequence[Clause]:
    """Return a clause for each sort of loss, the most severe first."""
    risky = [change for change in plan.changes if change.level is RiskLevel.DATA_LOSS]
    lost = [change for change in risky if risks.PROJECT_TAKEN_OVER not in change.risks]
    return [*_data(lost), *_taken_over(plan), *_access(plan), *_logins(plan)]


def _taken_over(plan: Plan) -> Iterator[Clause]:
    taken = sum(risks.PROJECT_TAKEN_OVER in change.risks for change in plan.changes)
    if taken:
        names = [takeover.name for takeover in plan.takeovers]
        words = f"{counted(taken, 'object')} {_is(taken)} taken over from another project"
        yield _named(words, names)


def _data(lost: Sequence[Change]) -> Iterator[Clause]:
    topics: defaultdict[str, list[Change]] = defaultdict(list)
    others: defaultdict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in lost:
        if change.kind is Kind.TOPIC:
            topics[_fate(change)].append(change)
        else:
            declared = change.kind in OBJECT_KINDS
            others[kind_class(change.kind).lost if declared else OBJECTS_LOST].append(change)
    if deleted := topics["deleted"]:
        yield _named(f"{_held(deleted)} {_is(len(deleted))} deleted", _names(deleted))
    for verb in ("are", "may be"):
        if which := topics[verb]:
            words = f"records of {counted(len(which), 'topic')} {verb} lost"
            yield _named(words, _names(which))
    kinds = {each: _ORDER.index(which[0].kind) for each, which in others.items()}
    for words, noun in sorted(others, key=lambda each: (each == OBJECTS_LOST, kinds[each])):
        which = others[words, noun]
        yield _named(words.format(counted(len(which), noun)), _names(which))


def _fate(change: Change) -> str:
    if Action.DELETE in change.actions:
        return "deleted"
    return "are" if risks.RECORDS_DELETE in change.risks else "may be"


def _access(plan: Plan) -> Iterator[Clause]:
    rights = len(plan.access_losses)
    if rights:
        principals = sorted({loss.principal for loss in plan.access_losses})
        yield _named(f"{counted(rights, 'right')} {_is(rights)} revoked", principals)
        return
    denies = [change for change in plan.changes if change.risk is risks.ACL_DENY]
    if denies:
        yield _named(f"{counted(len(denies), 'Deny')} {_is(len(denies))} added", _names(denies))


def _logins(plan: Plan) -> Iterator[Clause]:
    ended = (risks.MECHANISM_REMOVE, risks.USER_DELETE)
    users = [change for change in plan.changes if change.risk in ended]
    if users:
        yield _named(f"logins of {counted(len(users), 'user')} are revoked", _names(users))


def _held(deleted: Sequence[Change]) -> str:
    """``2 topics with 1,204 records``, or ``empty`` ones, where that is known of all of them."""
    count = len(deleted)
    held = [str(change.impact.get("records", "")) for change in deleted]
    if not all(map(str.isdecimal, held)):
        return counted(count, "topic")
    records = sum(map(int, held))
    with_records = f"{counted(count, 'topic')} with {counted(records, 'record')}"
    return with_records if records else counted(count, "empty topic")


def _names(changes: Iterable[Change]) -> list[str]:
    return [object_name(change.address).name for change in changes]


def _named(words: str, names: Sequence[str]) -> Clause:
    return Clause(words, names=tuple(names[:_NAMED]), more=max(0, len(names) - _NAMED))


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
