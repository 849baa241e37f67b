"""The real fleet that lies beside the repository on some machines, and how to correct it."""

from collections import defaultdict
from pathlib import Path

from kgitops.model.source import Finding

FLEET = Path(__file__).parents[3] / "shared" / "data" / "real-fleet"


def write_corrected(folder: Path, findings: tuple[Finding, ...]) -> None:
    """Copy the fleet to ``folder`` without the lines that the findings name."""
    wrong: dict[Path, set[int]] = defaultdict(set)
    for finding in findings:
        assert finding.source is not None
        wrong[Path(finding.source.file).resolve()].add(finding.source.line)
    for path in FLEET.glob("*.yaml"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = (line for number, line in enumerate(lines, 1) if number not in wrong[path.resolve()])
        (folder / path.name).write_text("".join(kept), encoding="utf-8")
