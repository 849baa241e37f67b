"""What an editor and a workflow find in a new project, and the schemas as files."""

import json
import re
from pathlib import Path

import pytest
import yaml
from cli.conftest import Kgitops
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from report.plans import make_plan

from kgitops.report.html.render import render_html
from kgitops.report.markdown.plan import render_markdown

ROOT = Path(__file__).parents[2]
SCHEMA_LINE = "# yaml-language-server: $schema="
NOTE = "is an embedded cluster, made for trying things out: no Kafka is changed"


def test_every_file_of_a_new_project_names_a_schema_that_takes_it(
    here: Path, kgitops: Kgitops
) -> None:
    assert kgitops("init", "shop").code == 0
    files = [*(here / "shop").glob("*.yaml"), *(here / "shop").glob("[!.]*/**/*.yaml")]
    assert {file.name for file in files} == {"kgitops.yaml", "events.yaml", "tests.yaml"}
    for file in files:
        text = file.read_text()
        first = text.splitlines()[0]
        assert first.startswith(SCHEMA_LINE), file
        schema = json.loads((file.parent / first.removeprefix(SCHEMA_LINE)).read_text())
        for document in yaml.safe_load_all(text):
            Draft202012Validator(schema).validate(document)


def test_a_new_projects_plan_says_that_it_is_for_trying(here: Path, kgitops: Kgitops) -> None:
    """As its workflow runs it: the comment begins with it, and says how to name a real cluster."""
    assert kgitops("init", "shop").code == 0
    saved = here / "plan.json"
    assert kgitops("plan", "shop", "--out", saved, "--format", "github").code == 0
    markdown = kgitops("show", saved, "--format", "markdown").out
    heading, note = markdown.split("\n\n")[:2]
    assert "###" in heading
    assert note.startswith("Note: `local ")
    assert NOTE in note
    assert "spec.clusters of kgitops.yaml" in note
    assert "--cluster" in note
    assert NOTE in kgitops("show", saved, "--format", "html").out


def test_a_plan_for_kafka_does_not() -> None:
    for backend, told in (("kafka", False), ("embedded", True)):
        made = make_plan()
        plan = replace(made, target=replace(made.target, backend=backend))
        assert (NOTE in render_markdown(plan)) is told
        assert (NOTE in render_html(plan)) is told


def test_all_schemas_are_written_as_they_are_published(here: Path, kgitops: Kgitops) -> None:
    ran = kgitops("schema", "-o", "a/b")
    assert ran.code == 0
    written = {file.name: file.read_text() for file in (here / "a/b").iterdir()}
    published = {file.name: file.read_text() for file in (ROOT / "schemas").iterdir()}
    assert {name: published.get(name) for name in written} == written
    assert {"kgitops.schema.json", "Topic.schema.json", "plan.schema.json"} <= set(written)
    assert sorted(ran.out.split()) == sorted(f"a/b/{name}" for name in written)


def test_one_schema_is_written_and_written_anew(here: Path, kgitops: Kgitops) -> None:
    for _ in range(2):
        assert kgitops("schema", "topic", "--out", "s").code == 0
        assert [file.name for file in (here / "s").iterdir()] == ["Topic.schema.json"]
        (here / "s/Topic.schema.json").write_text("old")
    assert kgitops("schema", "Topic", "-o", "s").code == 0
    assert json.loads((here / "s/Topic.schema.json").read_text())["title"] == "kgitops Topic"


@pytest.mark.parametrize(("place", "code"), [("file", 1), ("file/below", 1)])
def test_a_place_that_cant_be_written_is_told(
    here: Path, kgitops: Kgitops, place: str, code: int
) -> None:
    (here / "file").write_text("mine")
    ran = kgitops("schema", "-o", place)
    assert (ran.code, f"-o {place} can't be written" in ran.err) == (code, True)
    assert (here / "file").read_text() == "mine"


def test_the_page_on_editors_says_what_is_there() -> None:
    page = (ROOT / "docs/guides/editors.md").read_text()
    (settings,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert list(json.loads(settings)["yaml.schemas"]) == ["./schemas/kgitops.schema.json"]
    assert page.count(SCHEMA_LINE) == 1
