"""The page ``docs/differences.md``: what two clusters answered, case by case."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from kgitops.model.results import RequestResult

PAGE = Path(__file__).parents[3] / "docs" / "differences.md"
WRITE = "KGITOPS_WRITE_DIFFERENCES"
_HEAD = f"""\
# Embedded and real

What the embedded cluster with `compat=kraft` and a real Apache Kafka answer: every request that
kgitops sends, in every way that we know it can go wrong. Where they differ, the row says why, and
`tests/cluster/kafka/test_differences.py` fails for a difference that nobody explained. Most cases
are asked twice, with `validate_only` and without; an answer to a dry run is shown where it is
another one. This page is written by
`{WRITE}=1 uv run pytest -n0 tests/cluster/kafka/test_differences.py`.
"""
_MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Answers:
    """What one cluster answers to the requests of a case; ``judged`` None where it can't be."""

    judged: tuple[str, ...] | None
    done: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Row:
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


def spelt(results: Iterable[RequestResult]) -> tuple[str, ...]:
    """Answers as text; a long batch that is answered alike is told once."""
    texts = tuple(str(result) for result in results)
    alike = len(texts) > _MOST_SHOWN and len(set(texts)) == 1
    return (f"{texts[0]} (each of {len(texts):,})",) if alike else texts


def render_page(rows: Sequence[Row], explained: Mapping[str, str]) -> str:
    """The differences first, then everything."""
    different = [row for row in rows if row.differs]
    lines = [
        _HEAD,
        f"{len(rows)} cases, {len(different)} of them answered differently.",
        "",
        "## Where they differ",
        "",
        "| request | case | embedded `kraft` | real Kafka | why |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.rpc} | {row.case} | {_cell(row.embedded)} | {_cell(row.real)} | "
        f"{explained.get(row.label, '**nobody knows**')} |"
        for row in different
    ]
    lines += ["", "## Where they agree"]
    alike = [row for row in rows if not row.differs]
    for rpc, group in groupby(alike, key=lambda row: row.rpc):
        lines += ["", f"### {rpc}", "", "| case | answer |", "| --- | --- |"]
        lines += [f"| {row.case} | {_cell(row.real)} |" for row in group]
    return "\n".join(lines) + "\n"


def _cell(answers: Answers) -> str:
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
