"""A mistake in kgitops's own manifests is found, and not repaired or lost by converting them."""

from pathlib import Path

import pytest
from manifests.loading import declaration, write

from kgitops.conversion.converting import convert

SIZE = "{partitions: 1, replicationFactor: 1}"
ACL = "{principal: User:a, permission: Allow, operations: [Read], resource: {type: topic, name: t}}"
WRONG_METADATA = {
    "clusters: []": "metadata.clusters must not be empty",
    "clusters: ": "metadata.clusters must be a list, not empty",
    "clusters: local": "metadata.clusters must be a list, not 'local'",
    "clusters: [1]": "metadata.clusters[0] must be text, not 1",
    "labels: [a]": "metadata.labels must be a mapping, not a list",
    "labels: a": "metadata.labels must be a mapping, not 'a'",
    "labels: ": "metadata.labels must be a mapping, not empty",
    "labels: {1: x}": "the key metadata.labels[1] must be text, not 1",
    "labels: {a: 1}": "metadata.labels.a must be text, not 1",
    "labels: {a: [b]}": "metadata.labels.a must be text, not a list",
}


@pytest.mark.parametrize("compacted", [True, False])
@pytest.mark.parametrize(("kind", "spec"), [("Topic", SIZE), ("Acl", ACL)])
@pytest.mark.parametrize("wrong", WRONG_METADATA)
def test_wrong_metadata_is_found(
    kind: str, spec: str, wrong: str, compacted: bool, tmp_path: Path
) -> None:
    text = declaration(kind, f"{{name: one, {wrong}}}", spec)
    write(tmp_path, {"in/a.yaml": f"{text}---\n{declaration(kind, '{name: two}', spec)}"})
    project = convert(tmp_path / "in", "kgitops", "out", compacted=compacted)
    (found,) = project.findings
    assert WRONG_METADATA[wrong] in found.problem
    assert found.source
    assert found.source.file.endswith("in/a.yaml")


WRONG_ACLS = {
    "principals: [], permission: Allow, operations: [Read]": "principals must not be empty",
    "principals: User:a, permission: Allow, operations: [Read]": "principals must be a list",
    "permission: Allow, operations: [Read]": "principal",
    "principal: User:a, principals: [User:b], permission: Allow, operations: [Read]": "principal",
    "principal: User:a, permission: Allow, operations: 5": "operations must be a list, not 5",
    "principal: User:a, permission: [], operations: [Read]": "permission must be",
}


@pytest.mark.parametrize("wrong", WRONG_ACLS)
def test_a_wrong_acl_is_found(wrong: str, tmp_path: Path) -> None:
    spec = f"{{{wrong}, resource: {{type: topic, name: t}}}}"
    write(tmp_path, {"in/a.yaml": declaration("Acl", "{name: one}", spec)})
    (found,) = convert(tmp_path / "in", "kgitops", "out").findings
    assert WRONG_ACLS[wrong] in found.problem
