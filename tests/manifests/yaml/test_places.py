"""A document knows the line and column of each of its scalars, however it is written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manifests.loading import topic

from kgitops.manifests.yaml.document import Document, SourceText, decode
from kgitops.manifests.yaml.parse import ParsedDocument, parse
from kgitops.model.source import Finding, Located

TEXT = """\
# a comment
apiVersion: kgitops/v1
kind: Topic
metadata:
  name: orders
  labels: &labels
    team: payments
    tier: "1"
spec:
  <<: &base
    partitions: 6
    configs:
      retention.ms: 1
  replicationFactor: 3
  same: *labels
  list:
  - a
  - {b: c}
--- {kind: second, name: é, a: {b: 1}}
---
  kind: indented
  name:
    here
"""


def parsed(text: str | bytes) -> list[ParsedDocument]:
    file = decode(text.encode() if isinstance(text, str) else text, "a.yaml")
    assert isinstance(file, SourceText)
    findings: list[Finding] = []
    documents = list(parse(file, findings))
    assert not findings
    return documents


def place(document: Document, *path: str | int) -> str:
    return str(document.at(*path)).removeprefix("a.yaml:")


@pytest.mark.parametrize(
    ("document", "path", "expected"),
    [
        (0, (), "2:1"),
        (0, ("kind",), "3:7"),
        (0, ("metadata", "name"), "5:9"),
        (0, ("metadata", "labels", "team"), "7:11"),
        (0, ("spec", "replicationFactor"), "14:22"),
        (0, ("spec", "list", 0), "17:5"),
        (0, ("spec", "list", 1, "b"), "18:9"),
        (1, (), "19:5"),
        (1, ("name",), "19:26"),
        (1, ("a", "b"), "19:36"),
        (2, ("kind",), "21:9"),
        (2, ("name",), "23:5"),
    ],
)
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "mark"])
def test_a_scalar_in_any_document_has_its_place(
    document: int, path: tuple[str | int, ...], expected: str, line_break: str, mark: bytes
) -> None:
    """Through several documents, CRLF, lone CR and a byte order mark."""
    data = mark + TEXT.replace("\n", line_break).encode()
    assert place(parsed(data)[document].document, *path) == expected


def test_a_value_that_an_alias_repeats_stands_at_its_anchor() -> None:
    assert place(parsed(TEXT)[0].document, "spec", "same", "tier") == "8:11"


def test_a_merged_value_stands_where_it_is_written() -> None:
    document = parsed(TEXT)[0].document
    assert place(document, "spec", "partitions") == "11:17"
    assert place(document, "spec", "configs", "retention.ms") == "13:21"


def test_an_own_value_hides_a_merged_one() -> None:
    text = "base: &b {x: 1, y: 2}\nother:\n  <<: [*b, {z: 3}]\n  x: 4\n"
    document = parsed(text)[0].document
    assert parsed(text)[0].content["other"] == {"x": 4, "y": 2, "z": 3}
    assert place(document, "other", "x") == "4:6"
    assert place(document, "other", "y") == "1:20"
    assert place(document, "other", "z") == "3:16"


def test_what_is_absent_has_the_place_of_its_nearest_parent() -> None:
    document = parsed(TEXT)[0].document
    assert place(document, "spec", "list", 9) == "17:3"
    assert place(document, "metadata", "labels", "owner") == "6:11"
    assert place(document, "nothing", "at", "all") == "2:1"


def test_a_key_has_a_place_of_its_own() -> None:
    document = parsed(TEXT)[0].document
    assert str(document.key_at("metadata", "name")) == "a.yaml:5:3"


def test_characters_beyond_the_first_plane_count_as_one() -> None:
    document = parsed('a: "\U0001f600\U0001f600", \n'.replace(",", "") + "b: {c: é, d: 1}\n")[0]
    assert place(document.document, "b", "d") == "2:14"


def test_a_directive_before_a_document_does_not_hide_its_places() -> None:
    document = parsed("%YAML 1.2\n---\na: 1\nb: 2\n")[0].document
    assert place(document, "b") == "4:4"


def test_a_document_is_located() -> None:
    located: Located = parsed(topic())[0].document
    assert str(located.source) == "a.yaml:1:1"


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=4), st.integers(0, 5))
def test_every_document_of_a_file_finds_its_own_name(names: list[str], indent: int) -> None:
    """Whatever stands before a document, its slice of the file is the right one."""
    pad = " " * indent
    text = "".join(f"---\n# {name}\n{pad}kind: x\n{pad}name: {name}\n" for name in names)
    documents = parsed(text) if names else []
    for index, (name, document) in enumerate(zip(names, documents, strict=True)):
        assert document.document.written("name") == name
        assert place(document.document, "name") == f"{4 * index + 4}:{indent + 7}"


def test_a_name_is_shown_as_the_user_would_type_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgitops.manifests.files import display_name

    monkeypatch.chdir(tmp_path)
    assert display_name(tmp_path / "m" / "a.yaml") == "m/a.yaml"
    assert display_name(Path("./m/../m/a.yaml")) == "m/a.yaml"
    assert display_name(Path("/elsewhere/a.yaml")) == "/elsewhere/a.yaml"
    assert display_name(Path("../a.yaml")) == "../a.yaml"
