"""Profiles and defaults that are made of what topics repeat declare the same, in fewer lines."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from manifests.loading import build, load, write
from manifests.real_fleet import FLEET, write_corrected

from kgitops.conversion.converting import ConvertedProject, convert
from kgitops.desired.state import DesiredState
from kgitops.model.errors import FindingsError
from kgitops.model.json.declared import DesiredAcl, DesiredQuota, DesiredTopic
from kgitops.workflow.loading import loaded
from kgitops.workflow.project.selection import Selection, open_workspace

CONFIGS = {
    "cleanup.policy": st.sampled_from(["compact", "delete", "compact,delete"]),
    "retention.ms": st.sampled_from([-1, 3_600_000, 604_800_000, "604800000"]),
    "min.insync.replicas": st.sampled_from([1, 2]),
    "compression.type": st.sampled_from(["zstd", "lz4"]),
    "retention.bytes": st.sampled_from([-1, 1_073_741_824]),
}
TOPICS = st.lists(
    st.fixed_dictionaries(
        {"partitions": st.integers(1, 3), "replicationFactor": st.sampled_from([2, 3])},
        optional={
            "configs": st.fixed_dictionaries({}, optional=CONFIGS),
            "deletionPolicy": st.sampled_from(["Delete", "Protect"]),
            "configsPolicy": st.sampled_from(["Exact", "Declared"]),
        },
    ),
    min_size=1,
    max_size=30,
)


@given(specs=TOPICS)
def test_compacted_topics_are_the_same_topics(
    specs: list[dict[str, object]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("topics")
    documents = [
        {
            "apiVersion": "kgitops/v1",
            "kind": "Topic",
            "metadata": {"name": f"topic-{number}"},
            "spec": spec,
        }
        for number, spec in enumerate(specs)
    ]
    write(folder / "source", {"topics.yaml": yaml.safe_dump_all(documents, sort_keys=False)})
    project = convert(folder / "source", "kgitops", "compacted")
    assert not project.findings
    before = build(load(folder / "source"))
    assert objects_of(desired(project, folder / "compacted")) == objects_of(before)


def desired(project: ConvertedProject, folder: Path) -> DesiredState:
    write(folder, project.files)
    with loaded(open_workspace(Selection(paths=(folder,), offline=True))) as everything:
        return everything.desired


def objects_of(state: DesiredState) -> object:
    return state.of(DesiredTopic), state.of(DesiredAcl), state.of(DesiredQuota)


if FLEET.is_dir():

    def test_the_real_fleet_is_the_same_fleet_in_fewer_lines(tmp_path: Path) -> None:
        """The counts are those of docs/internals/real-fleet.md."""
        source = tmp_path / "fleet"
        source.mkdir()
        with pytest.raises(FindingsError) as caught:
            build(load(FLEET))
        write_corrected(source, caught.value.findings)
        project = convert(source, "kgitops", "compacted")
        assert not project.findings
        before = build(load(source))
        assert objects_of(desired(project, tmp_path / "compacted")) == objects_of(before)
        assert (lines_of(read(source)), lines_of(project.files.values())) == (19_645, 5_486)

    def read(folder: Path) -> Iterator[str]:
        for path in folder.glob("*.yaml"):
            yield path.read_text(encoding="utf-8")

    def lines_of(texts: object) -> int:
        return sum(text.count("\n") for text in texts)  # type: ignore[attr-defined]


ACLS = st.lists(
    st.fixed_dictionaries(
        {
            "principals": st.lists(
                st.sampled_from(["User:a", "User:b", "User:c"]), min_size=1, unique=True
            ),
            "permission": st.sampled_from(["Allow", "deny"]),
            "operations": st.lists(
                st.sampled_from(["Read", "WRITE", "Describe"]), min_size=1, unique=True
            ),
            "resource": st.fixed_dictionaries(
                {"type": st.just("Topic"), "name": st.sampled_from(["x", "y"])},
                optional={"patternType": st.sampled_from(["Literal", "PREFIXED"])},
            ),
        },
        optional={"host": st.sampled_from(["*", "10.0.0.1"])},
    ),
    min_size=1,
    max_size=8,
)


def test_a_default_is_not_made_where_a_list_is_copied(tmp_path: Path) -> None:
    topic = """\
---
apiVersion: kgitops/v1
kind: Topic
metadata: {{name: t{number}}}
spec: {{partitions: 3, replicationFactor: 3, configs: {{min.insync.replicas: 2}}}}
"""
    copied = """\
---
apiVersion: kgitops/v1
kind: TopicList
spec: {items: {bare: {partitions: 3, replicationFactor: 2}}}
"""
    text = "".join(topic.format(number=number) for number in range(9)) + copied
    write(tmp_path / "source", {"topics.yaml": text})
    before = build(load(tmp_path / "source"))
    project = convert(tmp_path / "source", "kgitops", "compacted")
    assert "defaults" not in project.files["kgitops.yaml"]
    assert objects_of(desired(project, tmp_path / "compacted")) == objects_of(before)


@given(specs=ACLS)
def test_merged_acls_are_the_same_bindings(
    specs: list[dict[str, object]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("acls")
    documents = [
        {
            "apiVersion": "kgitops/v1",
            "kind": "Acl",
            "metadata": {"name": f"acl-{number}", "labels": {"team": f"t{number % 2}"}},
            "spec": spec,
        }
        for number, spec in enumerate(specs)
    ]
    write(folder / "source", {"acls.yaml": yaml.safe_dump_all(documents, sort_keys=False)})
    try:
        before = build(load(folder / "source"))
    except FindingsError:
        return  # two documents grant the same
    project = convert(folder / "source", "kgitops", "compacted")
    assert not project.findings
    after = desired(project, folder / "compacted")
    assert objects_of(after) == objects_of(before)


def test_acls_of_the_same_rights_become_one(tmp_path: Path) -> None:
    acl = """\
---
apiVersion: kgitops/v1
kind: Acl
metadata: {{name: {name}}}
spec: {{principal: "User:{who}", permission: Allow, operations: [{what}],
  resource: {{type: topic, name: orders, patternType: literal}}}}
"""
    kept = "# Audit has more.\n" + acl.format(name="c", who="c", what="Read").removeprefix("---\n")
    text = "".join(
        [
            acl.format(name="a1", who="a", what="Read"),
            acl.format(name="a2", who="a", what="Describe"),
            acl.format(name="b", who="b", what="Describe, Read"),
            "---\n" + kept,
        ]
    )
    write(tmp_path, {"acls.yaml": text})
    written = convert(tmp_path, "kgitops", "compacted").files["manifests/acls.yaml"]
    assert written == (
        "---\n"
        "apiVersion: kgitops/v1\n"
        "kind: AclList\n"
        "spec:\n"
        "  items:\n"
        "    a1:\n"
        "      principals: ['User:a', 'User:b']\n"
        "      permission: Allow\n"
        "      operations: [Read, Describe]\n"
        "      resource: {type: topic, name: orders}\n"
        "    # Audit has more.\n"
        "    c:\n"
        "      principal: User:c\n"
        "      permission: Allow\n"
        "      operations: [Read]\n"
        "      resource: {type: topic, name: orders}\n"
    )


def test_profiles_are_named_after_what_they_give(tmp_path: Path) -> None:
    topic = """\
---
apiVersion: kgitops/v1
kind: Topic
metadata: {{name: t{number}}}
spec:
  partitions: 3
  replicationFactor: 3
  configs: {{cleanup.policy: {policy}, retention.ms: {retention}, min.insync.replicas: 2}}
"""
    kinds = (("delete", 604_800_000), ("delete", 86_400_000), ("compact", -1))
    text = "".join(
        topic.format(number=number, policy=kinds[number % 3][0], retention=kinds[number % 3][1])
        for number in range(24)
    )
    write(tmp_path, {"topics.yaml": text})
    files = convert(tmp_path, "kgitops", "compacted").files
    names = re.findall(r"metadata: \{name: (.*)\}", files["manifests/profiles.yaml"])
    assert sorted(names) == ["compacted-for-ever", "deleted"]
    topics = files["manifests/topics.yaml"]
    items = yaml.safe_load(topics)["spec"]["items"]
    assert items["t2"] == {"profile": "compacted-for-ever", "partitions": 3}
    assert items["t1"] == {
        "profile": "deleted",
        "partitions": 3,
        "configs": {"retention.ms": 86400000},
    }
