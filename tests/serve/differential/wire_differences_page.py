"""The page ``docs/internals/wire-differences.md``: what a served cluster answered otherwise."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cluster.kafka.differences_page import WRITE
from msgspec import Struct, field
from serve.differential.comparable import MASKED, Difference
from serve.differential.explained_on_the_wire import EXPLAINED_ON_THE_WIRE, Explanation

from kgitops.sandbox.jars import KAFKA

WIRE_PAGE = Path(__file__).parents[3] / "docs" / "internals" / "wire-differences.md"


class Tally(Struct, kw_only=True):
    """How often each API and version was asked, and what differed in the answers."""

    asked: Counter[str] = field(default_factory=Counter)
    versions: dict[str, set[int]] = field(default_factory=dict)
    differing: Counter[str] = field(default_factory=Counter)
    differences: Counter[Difference] = field(default_factory=Counter)

    def add(self, api: str, version: int, found: Sequence[Difference]) -> None:
        self.asked[api] += 1
        self.versions.setdefault(api, set()).add(version)
        self.differing[api] += bool(found)
        self.differences.update(found)


def render_wire_page(tally: Tally, programs: int) -> str:
    """What was asked, and every explained difference."""
    masked = ", ".join(f"`{name}`" for name in sorted(MASKED))
    lines = [
        f"""\
# Served and real

`kgitops serve` with `compat=kraft` and a real Apache Kafka {KAFKA}, both with three brokers and an
authorizer, are asked the same {programs} random programs of requests over the wire, in the versions
that both announce. Every field of the answers is compared. The administrator sends most requests,
a user without any right the others; a request that both answer by closing the connection
counts as answered alike.

Not compared: {masked},
which each cluster or its machine chooses; the order of rows; where a cluster places replicas of
itself; and in texts what the Java class of a request prints. Topics' ids are compared as the topics
that they stand for.

A program ends with the first change that is answered otherwise. What is asked by kgitops itself is
compared [case by case](differences.md).

`tests/serve/differential/test_wire_differences.py` asks both clusters anew, fails for a difference
that nobody explained and for an explanation that nothing needs, and looks the cited methods up in
the jars of that Kafka. It also writes this page:
`{WRITE}=1 uv run --group test pytest -n0 -m kafka tests/serve/differential`.

## Asked

| request | versions | asked | answered alike | explained |
| --- | --- | ---: | ---: | ---: |""",
        *_rows(tally),
        "",
        "## Explained",
        "",
        "| request | field | served | real Kafka | why |",
        "| --- | --- | --- | --- | --- |",
        *_explained(tally.differences),
    ]
    return "\n".join(lines) + "\n"


def _rows(tally: Tally) -> Iterator[str]:
    for api, asked in sorted(tally.asked.items()):
        versions = ", ".join(map(str, sorted(tally.versions[api])))
        differing = tally.differing[api]
        yield f"| {api} | {versions} | {asked} | {asked - differing} | {differing} |"
    total, differing = tally.asked.total(), tally.differing.total()
    yield f"| **all** | | {total} | {total - differing} | {differing} |"


def _explained(differences: Mapping[Difference, int]) -> Iterator[str]:
    """The first example of each explanation and field."""
    for explanation in EXPLAINED_ON_THE_WIRE:
        shown: dict[tuple[str, str], Difference] = {}
        for item in sorted(filter(explanation.explains, differences)):
            shown.setdefault((item.api, item.field), item)
        for item in shown.values():
            yield _example(item, explanation)


def _example(item: Difference, explanation: Explanation) -> str:
    served, real = _cell(item.served), _cell(item.real)
    return f"| {item.api} | {item.field} | {served} | {real} | {explanation.reason} |"


def _cell(value: str) -> str:
    most = 90
    short = value if len(value) <= most else f"{value[:most]}…"
    return short.replace("|", "\\|").replace("<", "&lt;")
