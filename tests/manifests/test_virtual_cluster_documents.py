"""What the kinds of virtual clusters may say, and what they must not: the proposal rejected it."""

from pathlib import Path

import pytest
from manifests.loading import acl, declaration, findings, load, write

from kgitops.manifests.kind_models import KINDS

MEMBERS = "{virtualCluster: emea, name: x}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(here: Path, *texts: str) -> list[str]:
    write(here, {"a.yaml": "---\n".join(texts)})
    return findings(load("a.yaml"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("brokers", "[1]"),
        ("racks", "[a]"),
        ("bootstrap", "b1:9092"),
        ("parent", "emea"),
        ("tokens", "[a]"),
        ("partitions", "3"),
    ],
)
def test_a_virtual_cluster_has_no_such_field(here: Path, field: str, value: str) -> None:
    """VC-002, VC-010, VC-094, VC-365: neither brokers, nor an address, nor tokens, nor a parent."""
    (finding,) = said(here, declaration("VirtualCluster", "{name: a}", f"{{{field}: {value}}}"))
    assert finding.startswith(f"a.yaml:4:8: spec.{field} is not a field of VirtualCluster; ")


def test_a_link_has_no_configs(here: Path) -> None:
    """VC-035: only the Topic document says how the physical topic is."""
    spec = "{target: {physicalTopic: t}, configs: {retention.ms: 1}}"
    (finding,) = said(here, declaration("TopicLink", MEMBERS, spec))
    assert "spec.configs is not a field of TopicLink" in finding


@pytest.mark.parametrize("kind", ["Namespace", "Tenant"])
def test_there_is_no_such_kind(here: Path, kind: str) -> None:
    """VC-368."""
    assert kind not in KINDS
    (finding,) = said(here, declaration(kind, "{name: a}"))
    assert finding.startswith(f"a.yaml:2:7: kind must be a kind that kgitops knows, not '{kind}'")


@pytest.mark.parametrize(
    ("text", "place", "near"),
    [
        (
            acl(
                "virtualCluser: emea\nprincipal: User:a\npermission: Allow\noperations: [Read]\n"
                "resource: {type: topic, name: t}"
            ),
            "5:3",
            "virtualCluster",
        ),
        (declaration("Topic", "{name: a, virtualCluser: emea}"), "3:21", "virtualCluster"),
        (
            declaration("VirtualCluster", "{name: a}", "{members: {clientids: [a]}}"),
            "4:18",
            "clientIds",
        ),
        (
            declaration("VirtualCluster", "{name: a}", "{members: {users: [{principl: a}]}}"),
            "4:27",
            "principal",
        ),
        (declaration("ConsumerGroup", MEMBERS, "{adobt: g}"), "4:8", "adopt"),
        (declaration("VirtualClusterBinding", MEMBERS, "{usr: a}"), "4:8", "user"),
    ],
)
def test_a_misspelt_field_is_found(here: Path, text: str, place: str, near: str) -> None:
    """VC-423."""
    assert any(
        finding.startswith(f"a.yaml:{place}: ") and finding.endswith(f"; did you mean {near}?")
        for finding in said(here, text)
    )


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (
            declaration("TopicLink", "{name: a}", "{target: {physicalTopic: t}}"),
            "3:11",
            "metadata.virtualCluster is missing",
        ),
        (
            declaration("VirtualCluster", "{name: a}", "{members: {users: [7]}}"),
            "4:26",
            "spec.members.users[0] must be a name, or a mapping with principal, not 7",
        ),
        (
            declaration("VirtualCluster", "{name: a}", '{members: {groups: [""]}}'),
            "4:27",
            "spec.members.groups[0] must not be empty",
        ),
        (
            declaration("VirtualCluster", "{name: a}", "{members: {users: [{move: true}]}}"),
            "4:26",
            "spec.members.users[0].principal is missing",
        ),
        (
            declaration("VirtualCluster", "{name: a}", "{members: {mode: exclusive}}"),
            "4:24",
            "spec.members.mode must be one of authoritative, additive",
        ),
        (
            declaration("VirtualCluster", "{name: a}", "{lowering: {capLowering: split}}"),
            "4:32",
            "spec.lowering.capLowering must be one of clamp, divide, none",
        ),
        (
            declaration("ConsumerGroup", MEMBERS, "{adopt: null}"),
            "4:15",
            "spec.adopt must be text, not null",
        ),
    ],
)
def test_a_wrong_value_is_found_at_its_place(here: Path, text: str, place: str, words: str) -> None:
    found = said(here, text)
    assert any(one.startswith(f"a.yaml:{place}: ") and words in one for one in found), found


def test_a_placeholder_may_stand_in_a_member(here: Path) -> None:
    text = declaration("VirtualCluster", "{name: a}", '{members: {users: ["${env:APP}"]}}')
    write(here, {"a.yaml": text})
    assert findings(load("a.yaml", env={"APP": "sales-app"})) == []


@pytest.mark.parametrize(
    ("text", "said_of_it"),
    [
        (
            declaration("Acl", MEMBERS, "{}"),
            "metadata.virtualCluster is not a field of Acl; write virtualCluster in spec, where",
        ),
        (
            declaration("Topic", "{name: a}", "{virtualCluster: v}"),
            "spec.virtualCluster is not a field of Topic; write virtualCluster in metadata, where",
        ),
        (
            declaration("ClientQuota", "{name: a}", "{virtualCluster: v}"),
            "is not a field of ClientQuota; write virtualCluster in spec.entity, where",
        ),
        (
            declaration("VirtualCluster", MEMBERS, "{}"),
            "is not a field of VirtualCluster; remove it: a document of kind",
        ),
        (
            "apiVersion: kgitops/v1\nkind: VirtualCluster\nmetadata: {name: a}\n",
            "spec is missing; add it, as spec: {} if it has no fields",
        ),
        (declaration("VirtualCluster", "{name: a}", ""), "not empty; write spec: {}, or its fiel"),
        (declaration("TopicLink", MEMBERS, ""), "spec must be a mapping, not empty; write a value"),
    ],
)
def test_what_newcomers_misplace_or_leave_out_is_told_with_its_place(
    here: Path, text: str, said_of_it: str
) -> None:
    """No near miss of a word is proposed, which would lead astray."""
    assert [finding for finding in said(here, text) if said_of_it in finding], said(here, text)
