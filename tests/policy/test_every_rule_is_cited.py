"""Every rule of KIP-201 and KIP-108 is proven by a test that cites it, or it says why not."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from test_cited_rules import CITED, ROOT, rules

RANGE = re.compile(r"\b(P201|P108)-(\d+)…(\d+)\b")
DOES_NOT_APPLY = {
    "P201-42": "the fleet is not built yet; it will judge by the same judge",
    "P108-10": "background: what existed when KIP-108 was written",
    "P108-11": "future work of KIP-108: KIP-201's one key is the first part, and Python has no "
    "class loaders",
}


def policy_rules() -> frozenset[str]:
    return frozenset(rule for rule in rules() if rule.startswith(("P201-", "P108-")))


def cited_by(path: Path) -> frozenset[str]:
    """The rules in the docstrings of a file's tests: what is only commented on is not proven."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = [
        ast.get_docstring(node) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    return frozenset(rule for text in docstrings for rule in _cited(text))


def _cited(text: str) -> Iterator[str]:
    """``P201-70…75`` stands for all six."""
    yield from CITED.findall(text)
    for source, first, last in RANGE.findall(text):
        yield from (f"{source}-{number:02}" for number in range(int(first), int(last) + 1))


def test_every_rule_of_policies_is_cited_by_a_test() -> None:
    cited = frozenset[str]().union(*map(cited_by, (ROOT / "tests").glob("**/test_*.py")))
    assert len(policy_rules()) == 143
    missing = policy_rules() - cited - DOES_NOT_APPLY.keys()
    assert sorted(missing, key=lambda rule: (rule[:4], int(rule[5:]))) == []


def test_what_does_not_apply_are_rules_that_nobody_proves() -> None:
    cited = frozenset[str]().union(*map(cited_by, (ROOT / "tests").glob("**/test_*.py")))
    assert DOES_NOT_APPLY.keys() <= policy_rules()
    assert not DOES_NOT_APPLY.keys() & cited


def test_a_rule_counts_only_in_the_docstring_of_a_test(tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(
        '"""P201-01."""\n\n\ndef helper():\n    """P201-02."""\n\n\n'
        'def test_it():\n    """P201-03: as said; P201-04…06 too."""\n    # P201-07\n',
        encoding="utf-8",
    )
    assert cited_by(path) == {"P201-03", "P201-04", "P201-05", "P201-06"}
