"""The files that follow from the code are up to date."""

import pytest
from generate import ROOT, SCHEMAS, generated

GENERATED = generated()


@pytest.mark.parametrize("name", GENERATED)
def test_it_is_up_to_date(name: str) -> None:
    """To write all of them: uv run python tools/generate.py."""
    assert (ROOT / name).read_text(encoding="utf-8") == GENERATED[name]()


def test_no_schema_is_left_of_what_is_gone() -> None:
    found = {f"{SCHEMAS}/{path.name}" for path in (ROOT / SCHEMAS).iterdir()}
    assert found == {name for name in GENERATED if name.startswith(f"{SCHEMAS}/")}


def test_every_generated_page_says_so() -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        assert ("tools/generate.py -->" in text) == (name in GENERATED), name
