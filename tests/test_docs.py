"""Every page of the docs can be reached from their index, and every link leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The file and the heading of each link."""
    for path, heading in LINK.findall(CODE.sub("", page.read_text())):
        yield (page.parent / path).resolve() if path else page, heading


def anchors(page: Path) -> set[str]:
    """The headings as GitHub names them."""
    titles = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text()), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


def test_every_page_can_be_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [DOCS / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [target for target, _ in links(page) if target.is_relative_to(DOCS)]
    assert set(DOCS.rglob("*.md")) - reached == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, heading in links(page):
        assert target.exists(), target
        if heading and target.suffix == ".md":
            assert heading in anchors(target), f"{target.name}#{heading}"


def test_the_page_on_adding_a_request_names_every_place_that_its_sibling_has() -> None:
    """A module that names the request has its path there, or its folder has."""
    page = (DOCS / "internals" / "adding-a-request.md").read_text()
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:/|\.py))`", page))
    for path in sorted((ROOT / "kgitops").rglob("*.py")):
        # Kafka's tool of that name sends it, and knows nothing of kgitops.
        if "DeleteRecords" in path.read_text().replace("DeleteRecordsCommand", ""):
            places = [path.relative_to(ROOT / "kgitops")]
            places += [folder for folder in places[0].parents if folder.name]
            assert named & {str(places[0]), *(f"{place}/" for place in places[1:])}, places[0]
