"""Placeholders are replaced before a document is checked; clusters decide which are read."""

from pathlib import Path

import pytest
from manifests.loading import acl, build, findings, load, quota, topic, write

from kgitops.manifests.load import load_manifests
from kgitops.model.json.declared import DesiredAcl, DesiredTopic
from kgitops.model.source import Severity

VARIABLES = {"n": "6", "name": "orders", "yes": "true", "empty": "", "text": "1e3x", "two": "2"}


def build_topic(tmp_path: Path, name: str, spec: str, **env: str):  # type: ignore[no-untyped-def]
    write(tmp_path, {"a.yaml": topic(name, spec)})
    return build(load(tmp_path, variables=VARIABLES, env=env)).of(DesiredTopic)[0]


def test_one_plain_placeholder_is_read_as_yaml_again(tmp_path: Path) -> None:
    spec = "\n  partitions: ${var:n}\n  replicationFactor: ${env:RF:-3}"
    built = build_topic(tmp_path, "a", spec)
    assert (built.partitions, built.replication_factor) == (6, 3)


def test_a_quoted_placeholder_alone_has_the_type_that_its_field_wants(tmp_path: Path) -> None:
    built = build_topic(tmp_path, '"${var:n}"', '{partitions: "${var:n}", replicationFactor: 1}')
    assert (built.name, built.partitions) == ("6", 6)


@pytest.mark.parametrize("text", ["1${var:n}", "${var:n}${var:two}", "${var:text}", "${var:empty}"])
def test_other_text_in_quotes_is_text(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"a.yaml": topic(spec=f'{{partitions: "{text}", replicationFactor: 1}}')})
    (said,) = findings(load(tmp_path, variables=VARIABLES))
    assert f"not '{text}'" in said


def test_placeholders_stand_anywhere_in_text(tmp_path: Path) -> None:
    built = build_topic(
        tmp_path,
        '"${env:STAGE}.${var:name}-${var:none:-x}.${env:none:-}v1"',
        '{partitions: 1, replicationFactor: 1, configs: {retention.ms: "${var:two}00"}}',
        STAGE="prod",
    )
    assert built.name == "prod.orders-x.v1"
    assert built.configs == {"retention.ms": "200"}


def test_two_dollars_stand_for_one(tmp_path: Path) -> None:
    text = acl(
        "principal: User:$${var:n}\npermission: Allow\noperations: [Read]\n"
        "resource: {type: group, name: $5}"
    )
    write(tmp_path, {"a.yaml": text})
    (built,) = build(load(tmp_path)).of(DesiredAcl)
    assert built.binding.principal == "User:${var:n}"
    assert built.binding.resource_name == "$5"


def test_a_value_is_not_replaced_again(tmp_path: Path) -> None:
    text = acl(
        "principal: User:${var:x}\npermission: Allow\noperations: [Read]\n"
        "resource: {type: group, name: a}"
    )
    write(tmp_path, {"a.yaml": text})
    (built,) = build(load(tmp_path, variables={"x": "${env:HOME}"}, env={"HOME": "/"})).of(
        DesiredAcl
    )
    assert built.binding.principal == "User:${env:HOME}"


def test_an_empty_value_alone_is_no_value(tmp_path: Path) -> None:
    spec = "\n  partitions: ${var:empty}\n  replicationFactor: 1"
    write(tmp_path, {"a.yaml": topic("a", spec)})
    (said,) = findings(load(tmp_path, variables=VARIABLES))
    assert "a.yaml:5:15: spec.partitions must be a whole number of at least 1" in said
    assert "and '${var:empty}' is empty here; write a value, or remove the line" in said


def test_a_placeholder_that_is_empty_removes_no_default(tmp_path: Path) -> None:
    size = "\n  partitions: 1\n  replicationFactor: 1"
    spec = size + "\n  configs:\n    retention.ms: ${var:empty}"
    write(tmp_path, {"a.yaml": topic("a", spec)})
    (said,) = findings(load(tmp_path, variables=VARIABLES))
    assert "a.yaml:8:19: spec.configs.retention.ms" in said
    assert "'${var:empty}' is empty here; write a value, or null to remove the default" in said


@pytest.mark.parametrize(
    ("cluster", "here", "elsewhere"),
    [("prod", {"topic/all", "topic/some"}, set()), ("local", {"topic/all"}, {"topic/some"})],
)
def test_clusters_limit_a_document(
    tmp_path: Path, cluster: str, here: set[str], elsewhere: set[str]
) -> None:
    some = topic("some").replace("some}", "some, clusters: [prod, staging]}")
    write(tmp_path, {"a.yaml": topic("all") + "---\n" + some})
    state = build(load(tmp_path, cluster=cluster))
    assert {built.address for built in state.of(DesiredTopic)} == here
    assert state.scope.other_clusters == elsewhere


def test_what_is_declared_here_is_not_only_for_other_clusters(tmp_path: Path) -> None:
    there = topic("a").replace("a}", "a, clusters: [prod]}")
    here = topic("a").replace("a}", "a, clusters: [local]}")
    write(tmp_path, {"a.yaml": there + "---\n" + here})
    state = build(load(tmp_path))
    assert [built.name for built in state.of(DesiredTopic)] == ["a"]
    assert not state.scope.other_clusters


def test_a_placeholder_for_another_cluster_needs_no_value_here(tmp_path: Path) -> None:
    """Its address is still known, so that nothing is removed that is merely not for this one."""
    spec = "\n  partitions: ${var:count}\n  replicationFactor: ${env:RF}"
    limits = quota("{user: a}", "\n    producer_byte_rate: ${var:rate}")
    write(
        tmp_path,
        {
            "a.yaml": topic("a", spec).replace("a}", "a, clusters: [prod]}"),
            "b.yaml": limits.replace("limits}", "limits, clusters: [prod]}"),
        },
    )
    state = build(load(tmp_path))
    assert state.scope.whole
    assert state.scope.other_clusters == {"topic/a", "quota/user=a"}


def test_a_topic_for_another_cluster_is_known_by_its_name_alone(tmp_path: Path) -> None:
    spec = "\n  partitions: 1\n  replicationFactor: 1\n  configs: {x: 'a-${var:x}'}"
    write(tmp_path, {"a.yaml": topic("a", spec).replace("a}", "a, clusters: [prod]}")})
    state = build(load(tmp_path))
    assert state.scope.whole
    assert state.scope.other_clusters == {"topic/a"}


@pytest.mark.parametrize(
    "text",
    [
        topic('"${var:stage}.c"').replace('c"}', 'c", clusters: [prod]}'),
        quota('{user: "${var:who}"}', "{producer_byte_rate: 1}").replace(
            "limits}", "limits, clusters: [prod]}"
        ),
        quota('{user: "x-${var:who}"}', "{producer_byte_rate: 1}").replace(
            "limits}", "limits, clusters: [prod]}"
        ),
    ],
)
def test_a_name_that_is_not_known_here_makes_no_absence(tmp_path: Path, text: str) -> None:
    """What was applied here under that name would otherwise look as if it were removed."""
    write(tmp_path, {"c.yaml": text})
    state = build(load(tmp_path))
    assert not state.scope.whole
    (warning,) = state.warnings
    assert "and this run removes nothing" in str(warning)


def test_a_mistake_in_a_document_for_another_cluster_is_found(tmp_path: Path) -> None:
    text = topic("a", "{partitions: x}").replace("a}", "a, clusters: [prod]}")
    write(tmp_path, {"a.yaml": text})
    assert len(findings(load(tmp_path))) == 1


def test_a_misspelt_cluster_is_found_where_the_project_names_its_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"a.yaml": topic("a").replace("a}", "a, clusters: [prd]}")})
    loaded = load_manifests(
        [Path("a.yaml")], cluster="local", variables={}, env={}, known_clusters=["local", "prod"]
    )
    (finding,) = loaded.findings
    assert finding.severity is Severity.ERROR
    assert str(finding) == "a.yaml:3:32: the project has no cluster 'prd'; did you mean prod?"


def test_a_variable_that_came_from_the_environment_is_not_shown(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": topic('"${var:x}"')})
    loaded = load_manifests(
        [tmp_path],
        cluster="local",
        variables={"x": "not a name"},
        env={},
        env_values={"not a name": "SECRET"},
    )
    (said,) = findings(loaded)
    assert "not a name" not in said
    assert "${env:SECRET}" in said
