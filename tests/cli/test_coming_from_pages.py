"""Each page about coming from a tool shows what a conversion of its example prints and writes."""

import re
from pathlib import Path

import pytest
from cli.conftest import Kgitops

from kgitops.conversion.tools.table import TOOLS

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
PAGES = sorted(set(TOOLS) - {"kgitops"})


@pytest.mark.parametrize("tool", PAGES)
def test_a_page_s_commands_print_what_it_shows(
    tool: str, kgitops: Kgitops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (GUIDES / f"coming-from-{tool}.md").read_text()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    (console,) = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    for step in console.removeprefix("$ ").split("\n$ "):
        command, _, shown = step.partition("\n")
        ran = kgitops(*command.split()[1:])
        assert ran.code == 0, ran.err
        assert ran.out.rstrip().endswith(shown.rstrip())
    path, text = re.findall(r"`(kafka/\S+)` begins with\n\n```yaml\n(.*?)```", page, re.DOTALL)[0]
    assert (tmp_path / path).read_text().startswith(text.rstrip())


def test_the_index_names_every_page() -> None:
    index = (GUIDES / "coming-from-other-tools.md").read_text()
    assert [tool for tool in PAGES if f"(coming-from-{tool}.md)" not in index] == []
