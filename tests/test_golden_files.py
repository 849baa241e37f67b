"""Files and records of every format, from before the code was rearranged: read and written alike.

``tests/golden_files`` was written by commands of kgitops 0.1.0 at commit 9ce8349: plans, snapshots,
the records of two registries (each with an apply that was killed half-way), the log and the image
of an embedded cluster, and a fleet's rows: one cluster with virtual clusters of its own (named
``native``) and one without (``lowered``). A file there is replaced only together with its format's
version.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kgitops.apply.journal import journal, reading
from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.image.record_json import record_from_json, record_to_json
from kgitops.cluster.embedded.image.replay import replay
from kgitops.cluster.embedded.store.image_json import image_from_text, image_to_json
from kgitops.cluster.embedded.store.store import START, dump_json
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import build_registry_state, owner_record, project_record
from kgitops.cluster.snapshot import read_snapshot, write_snapshot
from kgitops.model.registry import SCHEMA_VERSION
from kgitops.plan.document.file import read_sealed_plan, to_text

GOLDEN = Path(__file__).parent / "golden_files"
PLANS = sorted(GOLDEN.glob("plan-*.json"))
KINDS = ("native", "lowered")


@pytest.mark.parametrize("file", PLANS, ids=lambda file: file.stem)
def test_a_plan_is_written_as_it_was_read(file: Path) -> None:
    """Digests included: ``read_sealed_plan`` refuses a plan whose bytes make another digest."""
    text = file.read_text()
    assert to_text(read_sealed_plan(text, file.name)) == text


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_is_written_as_it_was_read(kind: str) -> None:
    text = (GOLDEN / f"snapshot-{kind}.json").read_text()
    state = read_snapshot(text, "state.json")
    assert state.topics
    assert state.acls
    assert state.virtual_clusters
    assert state.registry
    assert write_snapshot(state) == text


def entries(kind: str) -> tuple[RegistryEntry, ...]:
    """A registry's records as a log would give them."""
    return tuple(
        RegistryEntry(
            offset=offset,
            timestamp_ms=0,
            key=key,
            value=None if text is None else json.loads(text),
        )
        for offset, (key, text) in enumerate(lines(f"registry-{kind}.jsonl"))
    )


def lines(name: str) -> Iterator[list[str]]:
    for line in (GOLDEN / name).read_text().splitlines():
        yield json.loads(line)


def written(kind: str) -> Mapping[str, str]:
    return {key: text for key, text in lines(f"registry-{kind}.jsonl") if text is not None}


def raised(text: str) -> str:
    """The record in the schema version that is written, everything else unchanged."""
    assert text.count('"schema_version":1') == 1
    return text.replace('"schema_version":1', f'"schema_version":{SCHEMA_VERSION}')


@pytest.mark.parametrize("kind", KINDS)
def test_owners_and_projects_are_written_as_they_were_read(kind: str) -> None:
    before = written(kind)
    state = build_registry_state(entries(kind), topic_id="registry")
    again = [owner_record(address, owner) for address, owner in state.owners.items()]
    again += [project_record(identity, name) for identity, name in state.projects.items()]
    kept = {key for key in before if key.startswith(("own/", "project/"))}
    assert {key for key, _ in again} == kept
    for key, value in again:
        assert value is not None
        assert dump_json(value) == raised(before[key])


@pytest.mark.parametrize("kind", KINDS)
def test_the_journal_of_a_killed_apply_is_written_as_it_was_read(kind: str) -> None:
    before = written(kind)
    latest = reading.latest_values(entries(kind))
    (project,) = build_registry_state(entries(kind), topic_id="registry").projects
    (run,) = reading.unfinished_runs(latest, {project})
    sealed = reading.read_sealed(run, latest)
    saved = json.loads((GOLDEN / f"plan-{kind}-update.json").read_text())
    assert json.loads(to_text(sealed)) == saved  # the journal has the keys in their canonical order
    assert run.batches
    again = [journal.header_record(run), *(journal.batch_record(run, it) for it in run.batches)]
    for key, value in again:
        assert value is not None
        assert dump_json(value) == raised(before[key])


@pytest.mark.parametrize("kind", KINDS)
def test_an_embedded_cluster_is_stored_as_it_was_read(kind: str) -> None:
    image: Image = START.image
    for text in lines(f"log-{kind}.jsonl"):
        batch = [record_from_json(item) for item in json.loads(str(text))]
        assert dump_json([record_to_json(record) for record in batch]) == text
        image = replay(image, batch)
    stored = (GOLDEN / f"image-{kind}.json").read_text()
    assert in_order(dump_json(image_to_json(image))) == in_order(stored)
    assert in_order(dump_json(image_to_json(image_from_text(stored)))) == in_order(stored)


def in_order(text: str) -> str:
    """An image's text with its ACLs, which are a set, in one order."""
    image = json.loads(text)
    image["acls"].sort()
    return dump_json(image)
