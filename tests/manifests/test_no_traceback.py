"""Whatever a file holds, loading it ends in findings and never in another exception."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from manifests.loading import acl, findings, load, quota, tombstone, topic, write
from tiers import examples

GOOD = "---\n".join(
    [
        topic("a", "{partitions: 1, replicationFactor: 1, configs: {retention.ms: 5}}"),
        topic("b", "{assignments: &x {0: [1, 2], 1: [2, 1]}, deleteRecordsBefore: {1: 7}}"),
        "# comment\n" + topic('"${var:x}-${env:HOME:-c}"', "\n  <<: {partitions: 3}\n"),
        acl("principal: User:a\npermission: Allow\noperations: [Read]\nresource: {type: topic}"),
        quota("{user: {default: true}}", "{producer_byte_rate: 1.0}"),
        tombstone("{kind: Topic, name: !!str 'z'}"),
        "apiVersion: kgitops/v1\nkind: VirtualCluster\nmetadata: {name: é}\nspec:\n"
        "  members: {users: [a, {principal: b}], groups: [{name: g}]}\n",
        "apiVersion: kgitops/v1\nkind: VirtualClusterBinding\n"
        "metadata: {name: b, virtualCluster: v}\nspec: {user: a}\n",
        "apiVersion: kgitops/v1\nkind: TopicLink\nmetadata: {virtualCluster: v}\n"
        "spec: {target: {virtualCluster: w, topic: t}}\n",
        "apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: p}\nspec:\n"
        "  policies: [a, {class: b}]\n  clusters: {a: {url: x, brokers: [{id: 1}]}}\n",
    ]
)
CHARACTERS = "\n\t\r:-?[]{},#&*!|>'\"%@` \0\x85\u2028\ufeff\U0001f600é0"
TOKENS = ["${", "<<: ", "---\n", "...\n", "!!int ", "&x ", "*x", "null", "1e9", "0x", "- ", ": "]
TOKENS += ["kind: Acl", "\n  ", "~", "[[[["]
PIECES = st.sampled_from(CHARACTERS) | st.sampled_from(TOKENS)
EDITS = st.lists(st.tuples(st.integers(0, len(GOOD)), st.integers(0, 12), PIECES), max_size=6)


def said(content: str | bytes) -> list[str]:
    with TemporaryDirectory() as folder:
        write(Path(folder), {"a.yaml": content})
        return findings(load(folder, env={"HOME": "/home/me"}))


@settings(max_examples=examples(300))
@given(EDITS)
def test_edited_manifests_are_findings_or_fine(edits: list[tuple[int, int, str]]) -> None:
    text = GOOD
    for place, removed, inserted in edits:
        text = text[:place] + inserted + text[place + removed :]
    for finding in said(text):
        assert "\n" not in finding
        assert "; " in finding


@settings(max_examples=examples(100))
@given(st.binary(max_size=80))
def test_any_bytes_are_findings_or_fine(content: bytes) -> None:
    assert all("; " in finding for finding in said(content))


def test_the_text_that_is_edited_reaches_every_kind() -> None:
    """Else the law above would hold for want of trying."""
    words = " ".join(said(GOOD))
    assert "${var:x} has no value" in words
    assert "spec.resource.name is missing" in words
    assert "the user User:a belongs to" in words
    assert "a Project is among the manifests" in words
