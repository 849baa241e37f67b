"""``spec.role`` of an Acl: the bindings that it stands for, and what is wrong with one."""

from pathlib import Path

import pytest
from manifests.loading import write

from kgitops.desired.state import DesiredState
from kgitops.model.errors import FindingsError
from kgitops.workflow.loading import loaded
from kgitops.workflow.project.selection import Selection, open_workspace

PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: roles, uid: 5b7a2a8e-0c1d-4f6e-9a57-2f8f6f1f9d11}
spec: {manifests: [manifests], clusters: {local: {url: "embedded:"}}}
"""
ROLES = {
    "role: producer, topics: [a, b], transactionalId: t": {
        "Create topic a literal",
        "Describe topic a literal",
        "Write topic a literal",
        "Create topic b literal",
        "Describe topic b literal",
        "Write topic b literal",
        "Describe transactionalId t literal",
        "Write transactionalId t literal",
    },
    "role: consumer, topics: [a.], group: '*', patternType: prefixed": {
        "Describe topic a. prefixed",
        "Read topic a. prefixed",
        "Read group * literal",
    },
    "role: streams, applicationId: app": {
        "All topic app prefixed",
        "All group app prefixed",
    },
    "role: streams, applicationId: app, transactionalId: app": {
        "All topic app prefixed",
        "All group app prefixed",
        "Describe transactionalId app prefixed",
        "Write transactionalId app prefixed",
    },
    "role: connect-worker, topics: [c], group: g, transactionalId: connect-cluster-g": {
        "Describe transactionalId connect-cluster-g literal",
        "Write transactionalId connect-cluster-g literal",
        "Create topic c literal",
        "Describe topic c literal",
        "Read topic c literal",
        "Write topic c literal",
        "Describe group g literal",
        "Read group g literal",
    },
    "role: admin": {
        "All cluster kafka-cluster literal",
        "All topic * literal",
        "All group * literal",
        "All transactionalId * literal",
        "All delegationToken * literal",
    },
}
WRONG = {
    "role: producer": "the role producer needs spec.topics",
    "role: consumer, topics: [a]": "the role consumer needs spec.group",
    "role: streams, applicationId: a, topics: [b]": "the role streams has no use for spec.topics",
    "role: admin, permission: Deny": "spec.permission stands beside spec.role, which says it",
    "role: admin, operations: [Read]": "spec.operations stands beside spec.role",
    "role: owner": "spec.role",
    "role: null": "spec.role",
    "topics: [a]": "spec.topics is a role's, and there is no spec.role",
    "permission: Allow": "spec.operations is missing",
    "role: consumer, topics: [], group: g": "spec.topics",
    "role: producer, topics: [__kgitops]": "ACLs on __kgitops can't be declared",
    "role: admin, virtualCluster: v": "the role admin is for the physical cluster",
}


def desired(folder: Path, spec: str) -> DesiredState:
    acl = "apiVersion: kgitops/v1\nkind: Acl\nmetadata: {name: x}\nspec: "
    manifest = f"{acl}{{principal: User:x, {spec}}}\n"
    write(folder, {"kgitops.yaml": PROJECT, "manifests/acl.yaml": manifest})
    selection = Selection(paths=(folder,), cluster="local", offline=True)
    with loaded(open_workspace(selection)) as everything:
        return everything.desired


@pytest.mark.parametrize("spec", ROLES)
def test_a_role_stands_for_these_bindings(spec: str, tmp_path: Path) -> None:
    bindings = [acl.binding for acl in desired(tmp_path, spec).acls]
    assert {
        f"{one.operation} {one.resource_type} {one.resource_name} {one.pattern_type}"
        for one in bindings
    } == ROLES[spec]
    assert {(one.principal, one.host, one.permission_type) for one in bindings} == {
        ("User:x", "*", "Allow")
    }


@pytest.mark.parametrize("spec", WRONG)
def test_a_wrong_role_is_told_at_its_line(spec: str, tmp_path: Path) -> None:
    with pytest.raises(FindingsError) as raised:
        desired(tmp_path, spec)
    finding = next(item for item in raised.value.findings if WRONG[spec] in item.problem)
    assert finding.source is not None
    assert finding.source.line == 4


def test_a_role_declares_what_its_bindings_written_out_declare(tmp_path: Path) -> None:
    role = desired(tmp_path / "role", "role: streams, applicationId: app")
    documents = "".join(
        "---\napiVersion: kgitops/v1\nkind: Acl\n"
        f"metadata: {{name: {kind}}}\nspec: {{principal: User:x, permission: Allow, "
        f"operations: [All], resource: {{type: {kind}, name: app, patternType: prefixed}}}}\n"
        for kind in ("topic", "group")
    )
    write(tmp_path / "out", {"kgitops.yaml": PROJECT, "manifests/acl.yaml": documents})
    selection = Selection(paths=(tmp_path / "out",), cluster="local", offline=True)
    with loaded(open_workspace(selection)) as everything:
        assert everything.desired.digest == role.digest


BOTH = (
    "{principal: User:x, role: producer, topics: [a]}",
    "{principal: User:x, role: consumer, topics: [a], group: g}",
)
WRITTEN_OUT = (
    "{principal: User:x, permission: Allow, operations: [Write, Describe, Create, Read],"
    " resource: {type: topic, name: a}}",
    "{principal: User:x, permission: Allow, operations: [Read], resource: {type: group, name: g}}",
)


def declared(folder: Path, *documents: tuple[str, str]) -> DesiredState:
    """What Acl documents declare, each given by its metadata and its spec."""
    text = "".join(
        f"---\napiVersion: kgitops/v1\nkind: Acl\nmetadata: {{name: x{metadata}}}\nspec: {spec}\n"
        for metadata, spec in documents
    )
    project = PROJECT.replace("}}}", "}, other: {url: 'embedded:'}}}")
    write(folder, {"kgitops.yaml": project, "manifests/acl.yaml": text})
    selection = Selection(paths=(folder,), cluster="local", offline=True)
    with loaded(open_workspace(selection)) as everything:
        return everything.desired


@pytest.mark.parametrize("specs", [BOTH, BOTH[::-1], (*BOTH, WRITTEN_OUT[1])])
def test_roles_may_overlap(specs: tuple[str, ...], tmp_path: Path) -> None:
    overlapping = declared(tmp_path / "roles", *(("", spec) for spec in specs))
    written = declared(tmp_path / "written", *(("", spec) for spec in WRITTEN_OUT))
    assert overlapping.digest == written.digest


def test_an_overlap_has_the_labels_of_all(tmp_path: Path) -> None:
    labels = (", labels: {team: a}", ", labels: {tier: b, team: a}")
    state = declared(tmp_path, *zip(labels, BOTH, strict=True))
    found = {str(acl.binding.operation): acl.labels for acl in state.acls if acl.labels}
    assert found["Describe"] == {"team": "a", "tier": "b"}
    assert found["Write"] == {"team": "a"}


@pytest.mark.parametrize(
    ("documents", "problem"),
    [
        ([("", WRITTEN_OUT[1]), ("", WRITTEN_OUT[1]), ("", BOTH[1])], "is declared already at"),
        ([("", "{principal: User:x, role: producer, topics: [a, a]}")], "twice"),
        (
            [("", BOTH[0]), ("", BOTH[1].replace("{", "{deletionPolicy: Protect, "))],
            "with another deletionPolicy",
        ),
        (
            [(", labels: {team: a}", BOTH[0]), (", labels: {team: b}", BOTH[1])],
            "with another label team",
        ),
    ],
)
def test_what_is_no_overlap_is_told(
    documents: list[tuple[str, str]], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(FindingsError) as raised:
        declared(tmp_path, *documents)
    assert any(problem in finding.problem for finding in raised.value.findings)


def test_a_wrong_role_for_another_cluster_is_told_here_as_well(tmp_path: Path) -> None:
    """It is unknown what it declares, so nothing here may seem to have been removed."""
    with pytest.raises(FindingsError, match="the role consumer needs"):
        declared(tmp_path, (", clusters: [other]", BOTH[1].replace(", group: g", "")))
