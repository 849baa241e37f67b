"""The page ``docs/internals/differences.md``: what two clusters answered, case by case."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from cluster.kafka.explained_differences import Reason
from msgspec import Struct

from kgitops.sandbox.jars import KAFKA

PAGE = Path(__file__).parents[3] / "docs" / "internals" / "differences.md"
WRITE = "KGITOPS_WRITE_DIFFERENCES"
_HEAD = f"""\
# Embedded and real

What the embedded cluster with `compat=kraft` and a real Apache Kafka {KAFKA} answer: every request
that kgitops sends, in every way that we know it can go wrong. Both have three brokers and an
authorizer; where a case speaks of a dead broker, one of the three was killed.

Where answers differ, the last column says why. The reason cites a rule of kgitops'
specification (`A4-31`) or Kafka's source: a path in its repository at {KAFKA}, and a method.
Most cases are asked twice, with `validate_only` and without; an answer to a dry run is shown where
it is another one. What any client gets from `kgitops serve` is compared
[as well](wire-differences.md).

`tests/cluster/kafka/test_differences.py` asks both clusters anew, fails for a difference that
nobody explained and for an explanation that nothing needs, and looks the cited methods up in the
jars of that Kafka. It also writes this page:
`{WRITE}=1 uv run --group test pytest -n0 -m kafka tests/cluster/kafka/test_differences.py`.
"""
_MOST_SHOWN = 3


class Answers(Struct, frozen=True):
    """One cluster's answers to the requests of a case; ``judged``: None if not validated."""

    judged: tuple[str, ...] | None
    done: tuple[str, ...] | None


class Row(Struct, frozen=True):
    """One case."""

    rpc: str
    case: str
    embedded: Answers
    real: Answers

    @property
    def label(self) -> str:
        return f"{self.rpc}: {self.case}"

    @property
    def differs(self) -> bool:
        return self.embedded != self.real


def shortened(answers: Iterable[str]) -> tuple[str, ...]:
    """A long batch that is answered alike is told once."""
    texts = tuple(answers)
    alike = len(texts) > _MOST_SHOWN and len(set(texts)) == 1
    return (f"{texts[0]} (each of {len(texts):,})",) if alike else texts


def render_page(rows: Sequence[Row], explained: Mapping[str, Reason]) -> str:
    """A summary, then all cases of one request after the other."""
    by_rpc: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_rpc[row.rpc].append(row)
    lines = [_HEAD, "## Summary", "", *_summary(by_rpc)]
    for rpc, group in by_rpc.items():
        lines += ["", f"## {rpc}", "", *_table(group, explained)]
    return "\n".join(lines) + "\n"


def embedded_answers(page: str) -> Mapping[str, str]:
    """What the page says that the embedded cluster answers, by the labels of cases."""
    found, rpc = {}, ""
    for line in page.partition("## Summary")[2].splitlines():
        if line.startswith("## "):
            rpc = line.removeprefix("## ")
        elif rpc and line.startswith("| ") and not line.startswith(("| case |", "| --- |")):
            case, real, *more = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
            found[f"{rpc}: {case}"] = more[0] if more and more[0] != "the same" else real
    return found


def _summary(by_rpc: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    yield "| request | cases | same | explained | which differ |"
    yield "| --- | ---: | ---: | ---: | --- |"
    total = differing = 0
    for rpc, group in by_rpc.items():
        names = [row.case for row in group if row.differs]
        total, differing = total + len(group), differing + len(names)
        yield f"| {_link(rpc)} | {_counts(len(group), len(names))} | {'; '.join(names)} |"
    yield f"| **all** | {_counts(total, differing)} | |"


def _counts(cases: int, differing: int) -> str:
    return f"{cases} | {cases - differing} | {differing}"


def _link(rpc: str) -> str:
    return f"[{rpc}](#{rpc.lower().replace(' ', '-')})"


def _table(group: Sequence[Row], explained: Mapping[str, Reason]) -> Iterator[str]:
    if not any(row.differs for row in group):
        yield "Both answer the same."
        yield ""
        yield "| case | real Kafka and embedded `kraft` |"
        yield "| --- | --- |"
        yield from (f"| {row.case} | {answer_cell(row.real)} |" for row in group)
        return
    yield "| case | real Kafka | embedded `kraft` | same, or why not |"
    yield "| --- | --- | --- | --- |"
    for row in group:
        real, embedded = answer_cell(row.real), "the same"
        why = "same"
        if row.differs:
            embedded = answer_cell(row.embedded)
            why = f"explained: {explained.get(row.label, '**nobody knows why**')}"
        yield f"| {row.case} | {real} | {embedded} | {why} |"


def answer_cell(answers: Answers) -> str:
    """Return what one cluster answered, as it stands in a row."""
    done, judged = answers.done, answers.judged
    if done is None:
        return f"{_text(judged)} (judged only)"
    dry = f" (dry run: {_text(judged)})" if judged is not None and judged != done else ""
    return _text(done) + dry


def _text(answers: tuple[str, ...] | None) -> str:
    return "<br>".join(_shown(item) for item in answers or ()) or "nothing"


def _shown(answer: str) -> str:
    short = re.sub(r"(x)\1{9,}", "xxx…", answer)
    return short.replace("|", "\\|").replace("<", "&lt;")
