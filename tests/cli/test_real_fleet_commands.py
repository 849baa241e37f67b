"""The real fleet beside the repository, where it is present: validated, planned, applied."""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from cli.conftest import Kgitops
from cli.projects import Project
from manifests.real_fleet import FLEET

pytestmark = pytest.mark.slow

REMOVED = {
    "message.timestamp.difference.max.ms": 104,
    "message.format.version": 2,
    "message.downconversion.enable": 2,
}
THROTTLES = {
    "leader.replication.throttled.replicas": 2,
    "follower.replication.throttled.replicas": 2,
}
PLACE = re.compile(
    r"^(?P<file>[^:]+):(?P<line>\d+):(?P<column>\d+): (?P<problem>.*); (?P<advice>.*)$"
)

Wrong = dict[str, set[int]]


@pytest.fixture
def fleet(project: Project) -> Project:
    """A project of the fleet's own files on five brokers."""
    project.write_file(cluster={"brokers": 5})
    shutil.copytree(FLEET, project.folder / "manifests", ignore=shutil.ignore_patterns("*.md"))
    return project


def findings(kgitops: Kgitops, fleet: Project) -> list[re.Match[str]]:
    ran = kgitops("validate", fleet.folder)
    assert ran.code == 1
    *lines, total = ran.err.splitlines()
    assert total == f"{len(lines)} findings."
    found = [PLACE.match(line) for line in lines]
    assert all(found), lines
    return [match for match in found if match]


def lines_of(found: list[re.Match[str]]) -> Wrong:
    wrong: Wrong = {}
    for match in found:
        wrong.setdefault(match["file"], set()).add(int(match["line"]))
    return wrong


def without_lines(wrong: Wrong) -> None:
    for file, numbers in wrong.items():
        path = Path(file)
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(text for n, text in enumerate(lines, 1) if n not in numbers))


def without_documents(wrong: Wrong) -> int:
    """How many documents are left out."""
    left_out = 0
    for file, numbers in wrong.items():
        path = Path(file)
        kept, line = [], 1
        for part in re.split(r"(?m)^(?=---$)", path.read_text()):
            lines = range(line, line := line + part.count("\n"))
            if numbers.isdisjoint(lines):
                kept.append(part)
            else:
                left_out += 1
        path.write_text("".join(kept))
    return left_out


def counts(folder: Path) -> tuple[int, int]:
    """Topics and ACL documents."""
    documents = [
        document
        for path in folder.glob("*.yaml")
        for document in yaml.load_all(path.read_text(), yaml.CSafeLoader)
        if document
    ]
    kinds = [document["kind"] for document in documents]
    return kinds.count("Topic"), kinds.count("Acl")


def assert_applies_and_plans_to_nothing(fleet: Project, kgitops: Kgitops) -> None:
    topics, acls = counts(fleet.folder / "manifests")
    valid = kgitops("validate", fleet.folder)
    assert (valid.code, valid.err) == (0, "")
    assert valid.out.startswith(f"Valid: {topics:,} topics, {acls:,} ACL bindings")
    planned = kgitops("plan", fleet.folder, "-o", fleet.plan_file, "--detailed-exitcode")
    assert planned.code == 2
    assert f"Plan: {topics + acls:,} to create." in planned.out
    applied = kgitops("apply", fleet.plan_file)
    assert applied.code == 0, applied.said[-2000:]
    assert f"Applied: {topics + acls:,} done. Run" in applied.out
    again = kgitops("plan", fleet.folder, "--detailed-exitcode")
    assert (again.code, "No changes." in again.out) == (0, True)


if FLEET.is_dir():

    def test_what_kafka_4_removed_is_refused_at_its_place_and_nothing_else(
        fleet: Project, kgitops: Kgitops
    ) -> None:
        said: dict[str, int] = {}
        for found in findings(kgitops, fleet):
            key = found["problem"].removeprefix("Kafka 4 has no topic config ").split()[0]
            line = Path(found["file"]).read_text().splitlines()[int(found["line"]) - 1]
            assert line[int(found["column"]) - 1 :].startswith(f"{key}:")
            assert re.match(r"remove it[:,] |write .* instead$", found["advice"])
            said[key] = said.get(key, 0) + 1
        assert said == REMOVED | THROTTLES

    def test_after_the_advice_the_whole_fleet_applies_and_its_export_plans_to_nothing(
        fleet: Project, kgitops: Kgitops
    ) -> None:
        manifests = fleet.folder / "manifests"
        without_lines(lines_of(findings(kgitops, fleet)))
        assert counts(manifests) == (1114, 451)
        assert_applies_and_plans_to_nothing(fleet, kgitops)
        shutil.rmtree(manifests)
        assert kgitops("export", fleet.folder, "-o", manifests).code == 0
        again = kgitops("plan", fleet.folder, "--detailed-exitcode")
        assert (again.code, "No changes." in again.out) == (0, True)

    def test_without_the_refused_documents_the_rest_applies(
        fleet: Project, kgitops: Kgitops
    ) -> None:
        left_out = without_documents(lines_of(findings(kgitops, fleet)))
        assert left_out == 104  # some have several of these keys
        assert counts(fleet.folder / "manifests") == (1114 - left_out, 451)
        assert_applies_and_plans_to_nothing(fleet, kgitops)
