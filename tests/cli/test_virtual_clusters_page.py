"""The page on virtual clusters: every file is written and every command runs, in its order."""

import re
import shlex
from pathlib import Path

import pytest
from cli.conftest import Kgitops

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "virtual-clusters.md"
STEP = re.compile(
    r"^`(?P<file>[\w/.-]+\.yaml)`:\n\n```yaml\n(?P<text>.*?)^```$"
    r"|^ *\$ (?P<command>kgitops [^\n]*)$",
    re.MULTILINE | re.DOTALL,
)
CODES = re.compile(r"\bL-[A-Z]+(?:-[A-Z]+)*\b")


@pytest.mark.parametrize("lowered", [False, True], ids=["native", "lowered"])
def test_what_the_page_shows_works_in_its_order(
    here: Path, kgitops: Kgitops, *, lowered: bool
) -> None:
    """VC-381: on brokers that know virtual clusters, and where kgitops stands in for them."""
    files, commands = [], []
    for step in STEP.finditer(PAGE.read_text()):
        if step["file"]:
            text = step["text"]
            if lowered:
                text = text.replace("local.db", "local.db?virtual.clusters=lowered")
            (here / step["file"]).parent.mkdir(exist_ok=True)
            (here / step["file"]).write_text(text)
            files.append(step["file"])
        else:
            ran = kgitops(*shlex.split(step["command"])[1:])
            assert ran.code == 0, (step["command"], ran.said)
            commands.append(step["command"])
    assert files == ["kgitops.yaml", "manifests/topics.yaml", "manifests/sales.yaml"]
    assert len(commands) > 20
    again = kgitops("plan", "--detailed-exitcode")
    assert again.code == 0, again.said


def test_every_code_on_the_page_is_one_of_the_report() -> None:
    """VC-390: a code that no report has would be looked for in vain."""
    from kgitops.lowering import report_lines

    known = set(CODES.findall(Path(report_lines.__file__).read_text()))
    assert set(CODES.findall(PAGE.read_text())) <= known
