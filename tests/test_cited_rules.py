"""Every rule of the specification is proven by a test that cites it, or has its reason not to be.

What the sources, the tests and the docs cite are rules of the specification.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from spec_reasons import REASONS, TOLD

ROOT = Path(__file__).parents[1]
RANGE = re.compile(r"\b(P201|P108|VC)-(\d+)…(\d+)\b")
pytestmark = pytest.mark.xdist_group("cited_rules")  # which read all files once
CITED = re.compile(r"\b(?:A4|F590|P201|P108|VC|C|K)-\d+[a-z]?\b")


def rules() -> frozenset[str]:
    """All ids, of ``spec_ids.txt``."""
    text = (ROOT / "tests" / "spec_ids.txt").read_text(encoding="utf-8")
    return frozenset(line_id for line in text.splitlines()[1:] for line_id in line.split())


def cited_by(path: Path) -> frozenset[str]:
    """The rules in the docstrings of a file's tests: what is only commented on is not proven.

    What a session is about stands in its lines that begin with ``#: ``.
    """
    if path.suffix == ".session":
        lines = path.read_text(encoding="utf-8").splitlines()
        return frozenset(_cited("\n".join(line for line in lines if line.startswith("#: "))))
    text = path.read_text(encoding="utf-8")
    if not any(_cited(text)):
        return frozenset()
    tree = ast.parse(text)
    docstrings = [
        ast.get_docstring(node) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    ]
    return frozenset(rule for text in docstrings for rule in _cited(text))


@cache
def cited_by_tests() -> frozenset[str]:
    """All rules that some test cites."""
    tests = ROOT / "tests"
    files = [*tests.glob("**/test_*.py"), *tests.glob("cli/sessions/*.session")]
    return frozenset[str]().union(*map(cited_by, files))


def _cited(text: str) -> Iterator[str]:
    """``P201-70…75`` stands for all six."""
    yield from CITED.findall(text)
    for source, first, last in RANGE.findall(text):
        digits = len(first)
        yield from (f"{source}-{n:0{digits}}" for n in range(int(first), int(last) + 1))


def test_a_rule_counts_only_in_the_docstring_of_a_test(tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(
        '"""P201-01."""\n\n\ndef helper():\n    """P201-02."""\n\n\n'
        'def test_it():\n    """P201-03: as said; P201-04…06 and VC-001…003."""\n    # P201-07\n',
        encoding="utf-8",
    )
    assert cited_by(path) == {
        *("P201-03", "P201-04", "P201-05", "P201-06"),
        *("VC-001", "VC-002", "VC-003"),
    }
    session = tmp_path / "it.session"
    session.write_text("#: P201-08: as said.\n\n$ kgitops plan\nP201-09\n", encoding="utf-8")
    assert cited_by(session) == {"P201-08"}


def test_every_cited_rule_exists() -> None:
    sources = [
        *ROOT.glob("kgitops/**/*.py"),
        *ROOT.glob("tests/**/*.py"),
        *ROOT.glob("tests/cli/sessions/*.session"),
        *ROOT.glob("docs/**/*.md"),
    ]
    cited = {
        (rule, path.relative_to(ROOT).as_posix())
        for path in sources
        for rule in CITED.findall(path.read_text(encoding="utf-8"))
    }
    assert len(cited) > 300
    assert not {(rule, path) for rule, path in cited if rule not in rules()}


@pytest.mark.parametrize(
    ("family", "count"),
    [("A4", 99), ("F590", 51), ("P201", 111), ("P108", 32), ("VC", 282), ("C", 34), ("K", 5)],
)
def test_every_rule_is_proven_or_has_a_reason(family: str, count: int) -> None:
    of_family = {rule for rule in rules() if rule.startswith(f"{family}-")}
    assert len(of_family) == count
    assert sorted(of_family - cited_by_tests() - REASONS.keys()) == []


def test_a_reason_is_for_a_rule_that_nobody_proves() -> None:
    assert REASONS.keys() <= rules()
    assert sorted(REASONS.keys() & cited_by_tests()) == []


def test_users_are_told_what_is_not_implemented() -> None:
    page = (ROOT / "docs/internals/differences-from-the-proposals.md").read_text(encoding="utf-8")
    assert sorted(rule for rule in TOLD if f"`{rule}`" not in page) == []
