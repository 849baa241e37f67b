"""docs/reference/virtual-clusters.md lists every code of the lowering report."""

from pathlib import Path

from kgitops.lowering.report import BEHIND_GATEWAY
from kgitops.lowering.report_lines import _CODES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "virtual-clusters.md"
HEADING = "## What today's Kafka does not keep"


def rows(heading: str = HEADING) -> dict[str, list[str]]:
    _, _, section = PAGE.read_text().partition(f"{heading}\n")
    section, _, _ = section.partition("\n## ")
    lines = [
        line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| L-")
    ]
    found = {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in lines}
    assert len(found) == len(lines), "a code appears twice"
    return found


def test_every_code_is_explained_as_the_report_says_it() -> None:
    """VC-381, VC-390: exactly the codes, each with its grade, reason and remedy."""
    found = rows()
    assert sorted(found) == sorted(_CODES)
    for code, known in _CODES.items():
        grade, reason, remedy = found[code]
        assert grade == (known.grade.value if known.grade else "-"), code
        assert reason == (known.reason or reason), code
        assert remedy == (known.remedy or "nothing"), code
        assert reason, code


def test_what_a_gateway_changes_is_explained_as_the_report_says_it() -> None:
    """Exactly the lines that read differently for its clients."""
    found = rows("## Behind a gateway")
    assert sorted(found) == sorted(BEHIND_GATEWAY)
    for code, known in BEHIND_GATEWAY.items():
        assert found[code] == [known.grade.value, known.reason, known.remedy], code
