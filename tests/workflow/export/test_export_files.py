"""Exported files read well at 10 documents and at 10,000, on every file system."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgitops.kinds.exports import Item
from kgitops.workflow.export.files import MOST, ONE_FILE, arrange


def items(*names: str, documents: int = 1) -> list[Item]:
    return [Item(name, [{"name": name}] * documents) for name in names]


def files(*found: Item) -> dict[str, int]:
    return {name: len(documents) for name, documents in arrange("topics", found).items()}


def test_few_documents_are_one_file() -> None:
    assert files() == {}
    assert files(*items(*(f"team{n}.x" for n in range(ONE_FILE)))) == {"topics.yaml": ONE_FILE}


def test_more_are_cut_by_the_first_part_of_their_names() -> None:
    names = [f"{team}.{n}" for team in ("orders", "Orders", "payments") for n in range(15)]
    assert files(*items(*names, "alone", "also-alone", "-", "..x")) == {
        "topics/_others.yaml": 4,
        "topics/orders.yaml": 30,
        "topics/payments.yaml": 15,
    }


def test_a_large_group_is_a_folder_cut_by_the_second_part() -> None:
    names = [f"prod.{team}.{n}" for team in ("orders", "payments") for n in range(60)]
    assert files(*items(*names, "prod", "prod.x")) == {
        "topics/prod/_others.yaml": 2,
        "topics/prod/orders.yaml": 60,
        "topics/prod/payments.yaml": 60,
    }


def test_names_without_parts_are_cut_into_equal_pieces() -> None:
    found = files(*items(*(f"t{n:04}" for n in range(1_050))))
    assert len(found) == 11
    assert next(iter(found)) == "topics/_others-01.yaml"
    assert set(found.values()) == {MOST, 50}


def test_ten_thousand_topics_of_a_hundred_teams_are_a_hundred_files() -> None:
    names = [f"eu.team{team:02}.{n:02}" for team in range(100) for n in range(100)]
    found = files(*items(*names))
    assert len(found) == 100
    assert set(found.values()) == {100}
    assert "topics/eu/team07.yaml" in found


def test_what_belongs_together_is_never_cut() -> None:
    """The ACLs of one principal, however many."""
    assert files(*items("billing", documents=250), *items("audit", "x", documents=20)) == {
        "topics/audit.yaml": 20,
        "topics/billing.yaml": 250,
        "topics/x.yaml": 20,
    }


NAMES = st.one_of(
    st.from_regex(r"[a-cA-C]{1,2}([._-][a-c]{1,2}){0,4}", fullmatch=True),
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=200),
    st.sampled_from(["con", "NUL.x", "com1", "../../etc/passwd", "a/b", "C:\\x", "CN=é,O=ö", "*"]),
)
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


@given(names=st.sets(NAMES, max_size=60), factor=st.sampled_from([1, 7, 40]))
def test_every_document_stands_in_one_file_with_a_name_that_is_safe_everywhere(
    names: set[str], factor: int
) -> None:
    given_items = items(*names, documents=factor)
    found = arrange("acls", given_items)
    assert Counter(doc["name"] for docs in found.values() for doc in docs) == Counter(
        dict.fromkeys(names, factor)
    )
    for name, documents in found.items():
        assert re.fullmatch(r"acls(/[a-z0-9%@_-]{1,120}){0,3}\.yaml", name), name
        assert not any(DEVICES.fullmatch(part) for part in name.split("/"))
        assert len(documents) <= max(MOST, factor)
    assert found == arrange("acls", reversed(given_items))


@pytest.mark.parametrize("name", ["User:x", "group:Admins"])
def test_case_does_not_tell_files_apart(name: str) -> None:
    both = items(name.lower(), name.upper(), documents=20)
    assert len(files(*both)) == 1
