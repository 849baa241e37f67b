"""Rules that the sources, the tests and the docs cite are rules of the specification."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CITED = re.compile(r"\b(?:A4|F590|P201|P108|C|K)-\d+[a-z]?\b")


def rules() -> frozenset[str]:
    """All ids, of ``spec_ids.txt``."""
    text = (ROOT / "tests" / "spec_ids.txt").read_text(encoding="utf-8")
    return frozenset(line_id for line in text.splitlines()[1:] for line_id in line.split())


def test_every_cited_rule_exists() -> None:
    sources = [
        *ROOT.glob("kgitops/**/*.py"),
        *ROOT.glob("tests/**/*.py"),
        *ROOT.glob("docs/**/*.md"),
    ]
    cited = {
        (rule, path.relative_to(ROOT).as_posix())
        for path in sources
        for rule in CITED.findall(path.read_text(encoding="utf-8"))
    }
    assert len(cited) > 300
    assert not {(rule, path) for rule, path in cited if rule not in rules()}
