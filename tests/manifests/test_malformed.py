"""Malformed manifests: each is a finding at its place, in words, and nothing is raised."""

from pathlib import Path

import pytest
from manifests.loading import Files, acl, findings, load, quota, tombstone, topic, write

HEAD = "apiVersion: kgitops/v1\nkind: Topic\n"
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 9)
)


def one(text: str | bytes) -> Files:
    return {"a.yaml": text}


def with_metadata(metadata: str) -> Files:
    return one(HEAD + f"metadata: {metadata}\nspec: {{partitions: 1, replicationFactor: 1}}\n")


def with_spec(spec: str) -> Files:
    return one(topic(spec=spec))


CASES: dict[str, tuple[Files, str, str]] = {
    # What is no YAML.
    "a tab": (one(HEAD + "metadata:\n\tname: x\n"), "4:1", "a tab can't indent YAML"),
    "a quote that is not closed": (one('apiVersion: "kgitops/v1\nkind: T\n'), "1:13", "not closed"),
    "a quote open at ---": (one("a: 'x\n---\n"), "1:4", "not closed before ---"),
    "an open list": (one("a: [1, 2\n"), "2:1", "a ',' or ']' is missing"),
    "an open mapping": (one("a: {b: 1\n"), "2:1", "a ',' or '}' is missing"),
    "two colons": (one("a: b: c\n"), "1:5", "a ':' is not allowed here"),
    "wrong indentation": (one("a:\n   b: 2\n  c: 1\n"), "3:3", "a key is expected here"),
    "a key without colon": (one(HEAD + "metadata\nspec: {}\n"), "4:1", "a ':' is missing"),
    "an @": (one("a: @x\n"), "1:4", "no value can start with this character"),
    "an undefined alias": (one("a: *x\n"), "1:4", "the alias is not defined"),
    "an anchor defined twice": (one("a: &x 1\nb: &x 2\n"), "2:4", "the anchor is defined twice"),
    "an unknown escape": (one('a: "\\q"\n'), "1:5", "unknown escape"),
    "a list beside keys": (one("- a\nb: c\n"), "2:1", "a '-' is expected here"),
    "a document after ...": (one(topic() + "...\n" + topic("b")), "6:1", "by a line ---"),
    "a placeholder in braces": (with_spec("{partitions: ${var:n}}"), "4:21", "in quotes"),
    "lists nested too deeply": (one("a: " + "[" * 5000), "1:102", "more than 100 deep"),
    "mappings nested too deeply": (
        one("".join(" " * level + "a:\n" for level in range(200))),
        "100:100",
        "more than 100 deep",
    ),
    # What is YAML, and no manifest of ours.
    "a key twice": (one(topic() + "kind: Topic\n"), "5:1", "the key 'kind' appears twice"),
    "a key twice, and one that is a mapping": (
        one("? {a: b}\n: 1\nx: 1\nx: 2\n"),
        "1:3",
        "a key can't be a mapping or a list",
    ),
    "a field twice": (
        with_spec("\n  partitions: 1\n  partitions: 2\n  replicationFactor: 1"),
        "6:3",
        "the key 'partitions' appears twice",
    ),
    "a key in quotes beside a number": (
        with_spec("{partitions: 1, replicationFactor: 1, configs: {1: a, '1': [[]]}}"),
        "4:66",
        "spec.configs.1 must be text, a number",
    ),
    "a number beside a key in quotes": (
        with_spec("{partitions: 1, replicationFactor: 1, configs: {'1': [[]], 1: a}}"),
        "4:66",
        "the key spec.configs[1] must be text",
    ),
    "a tag of Python": (with_spec("!!python/object:os.system {a: b}"), "4:7", "!!python/object"),
    "a tag of another tool": (with_metadata("{name: !Ref x}"), "3:18", "the tag !Ref"),
    "a date's tag": (with_metadata("{name: !!timestamp 2020-01-01}"), "3:18", "!!timestamp"),
    "a tag that lies": (with_metadata("{name: !!int x}"), "3:18", "is not of the type !!int"),
    "an alias bomb": (one(BOMB), "1:1", "stand for more than 20"),
    "an alias of itself": (one("a: &a [*a]\n"), "1:4", "inside the value that it repeats"),
    "a merge of a list": (one("a: 1\n<<: [1, 2]\n"), "2:5", "<< can only merge mappings"),
    "a list as a key": (one("? [a, b]\n: c\n"), "1:3", "a key can't be a mapping or a list"),
    "a number as a field": (one(topic() + "1: x\n"), "5:1", "the key 1 in the document must be"),
    "a number of 5000 digits": (
        with_spec(f"{{partitions: {'9' * 5000}}}"),
        "4:20",
        "too many digits",
    ),
    "UTF-16": (one(topic().encode("utf-16")), "1:1", "encoded as UTF-16"),
    "UTF-16 without a mark": (one(topic().encode("utf-16-le")), "1:2", "U+0000"),
    "UTF-32": (one(topic().encode("utf-32")), "1:1", "encoded as UTF-32"),
    "Latin-1": (one(topic("café").encode("latin-1")), "3:21", "not UTF-8: the byte 0xe9"),
    "Latin-1 after a byte order mark": (one(b"\xef\xbb\xbf\xe9"), "1:1", "the byte 0xe9"),
    "a hidden line break": (one("# x\u2028kind: Topic\n"), "1:4", "U+2028 is not allowed"),
    "half a character in JSON": (one('a: "\\ud83d"\n'), "1:7", "write the character itself"),
    "a NUL": (one(topic("a\0b")), "3:19", "U+0000"),
    "an escape sequence": (one(topic("a\x1bb")), "3:19", "U+001B"),
    "an empty file": (one(""), "1:1", "the file is empty"),
    "a file of spaces": (one("  \n\n"), "1:1", "the file is empty"),
    "a file of comments": (one("# x\n"), "1:1", "warning: the file declares nothing"),
    "empty documents": (one("---\n---\n...\n"), "1:1", "warning: the file declares nothing"),
    "a document of text": (one("hello\n"), "1:1", "must be a mapping, not 'hello'"),
    "a document that is a list": (one("- a\n"), "1:1", "must be a mapping, not a list"),
    "no apiVersion": (one("kind: Topic\n"), "1:1", "apiVersion is missing"),
    "another apiVersion": (one("apiVersion: v1\n"), "1:13", "must be kgitops/v1, not 'v1'"),
    "no kind": (one("apiVersion: kgitops/v1\n"), "1:1", "kind is missing"),
    "a misspelt kind": (one("apiVersion: kgitops/v1\nkind: Topik\n"), "2:7", "mean Topic?"),
    "a kind of another tool": (one("apiVersion: kgitops/v1\nkind: Job\n"), "2:7", "write one of"),
    "a kind that is a list": (one("apiVersion: kgitops/v1\nkind: [Topic]\n"), "2:7", "a list"),
    "a kind without value": (one("apiVersion: kgitops/v1\nkind:\n"), "2:6", "not empty"),
    # Fields.
    "no metadata": (one(HEAD + "spec: {}\n"), "1:1", "metadata is missing"),
    "no spec": (one(HEAD + "metadata: {name: x}\n"), "1:1", "spec is missing"),
    "an empty spec": (with_spec(""), "4:6", "spec must be a mapping, not empty"),
    "a spec of text": (with_spec("big"), "4:7", "spec must be a mapping, not 'big'"),
    "no name": (with_metadata("{labels: {}}"), "3:11", "metadata.name is missing"),
    "a name that is a number": (with_metadata("{name: 7}"), "3:18", "must be text, not 7"),
    "an empty name": (with_metadata("{name: ''}"), "3:18", "metadata.name must not be empty"),
    "a misspelt field": (with_spec("{partition: 1}"), "4:8", "did you mean partitions?"),
    "an unknown field": (with_spec("{zzz: 1}"), "4:8", "the fields here are assignments"),
    "words for a number": (
        with_spec("{partitions: three, replicationFactor: 1}"),
        "4:20",
        "spec.partitions must be a whole number of at least 1, not 'three'; "
        "write a number such as 3",
    ),
    "a quoted number": (with_spec('{partitions: "3"}'), "4:20", "not '3'"),
    "a fraction": (with_spec("{partitions: 3.0}"), "4:20", "a whole number of at least 1, not 3.0"),
    "a boolean": (with_spec("{partitions: true}"), "4:20", "not true"),
    "no partitions at all": (with_spec("{partitions: 0}"), "4:20", "at least 1, not 0"),
    "a number beyond 32 bits": (with_spec("{partitions: 2147483648}"), "4:20", "not 2147483648"),
    "a huge replication factor": (with_spec("{replicationFactor: 40000}"), "4:27", "1 to 32767"),
    "a number left out": (with_spec("{partitions: }"), "4:20", "at least 1, not empty"),
    "a broker below 0": (with_spec("{assignments: {0: [-1]}}"), "4:26", "at least 0, not -1"),
    "a partition by name": (with_spec("{assignments: {a: [1]}}"), "4:22", "the key spec.assign"),
    "a partition in two spellings": (
        with_spec("{assignments: {0: [1], '0': [2]}}"),
        "4:21",
        "the key 0 appears twice",
    ),
    "configs as a list": (with_spec("{configs: [a]}"), "4:17", "must be a mapping, not a list"),
    "a config left out": (
        with_spec("{configs: {retention.ms: }}"),
        "4:32",
        "spec.configs.retention.ms must be text, a number, true or false, or a list of these, "
        "not empty; write a value, or null to remove the default or the profile's value",
    ),
    "a config left out, in lines": (
        with_spec("\n  configs:\n    retention.ms: # 7 days\n    segment.ms: 1"),
        "6:18",
        "spec.configs.retention.ms must be",
    ),
    "a config that repeats an empty anchor": (
        with_spec("{configs: {retention.ms: &none , segment.ms: *none}}"),
        "4:32",
        "segment.ms must be text, a number, true or false, or a list of these, not empty",
    ),
    "a config that is null": (
        with_spec("{configs: {retention.ms: null}}"),
        "4:32",
        "retention.ms is null, and no profile or default gives it",
    ),
    "configs left out": (with_spec("\n  configs:"), "5:11", "must be a mapping, not empty"),
    "an item of a config left out": (
        with_spec("\n  configs:\n    cleanup.policy:\n    - delete\n    -"),
        "8:6",
        "spec.configs.cleanup.policy[1] must be a value, not empty",
    ),
    "a principal left out": (
        one(
            acl(
                "principals:\n  -\npermission: Allow\noperations: [Read]\n"
                "resource: {type: topic, name: a}"
            )
        ),
        "6:6",
        "spec.principals[0] must be text, not empty",
    ),
    "a quota left out": (
        one(quota("{user: a}", "{producer_byte_rate: }")),
        "6:32",
        "must be a number above 0, not empty",
    ),
    "a member's field left out": (
        one(
            "apiVersion: kgitops/v1\nkind: VirtualClusterBinding\n"
            "metadata: {name: a, virtualCluster: v}\nspec: {user: a, removeOldAclsFrom: }\n"
        ),
        "4:36",
        "spec.removeOldAclsFrom must be text, not empty",
    ),
    "a profile's config left out": (
        one(
            "apiVersion: kgitops/v1\nkind: TopicProfile\nmetadata: {name: a}\n"
            "spec: {configs: {retention.ms: }}\n"
        ),
        "4:32",
        "not empty; write a value, or null to remove the default",
    ),
    "a folder's label left out": (
        one("apiVersion: kgitops/v1\nkind: Folder\nmetadata: {labels: {team: }}\n"),
        "3:27",
        "metadata.labels.team must be text, not empty",
    ),
    "JSON with a null": (
        {
            "a.json": '{"apiVersion": "kgitops/v1", "kind": "Topic", "metadata": {"name": "x"},\n'
            '"spec": {"configs": {"retention.ms": null}}}'
        },
        "2:38",
        "retention.ms is null, and no profile",
    ),
    "a config that is a mapping": (
        with_spec("{configs: {retention.ms: {a: b}}}"),
        "4:32",
        "text, a number, true or false, or a list of these, not a mapping",
    ),
    "an offset below 0": (
        with_spec("{deleteRecordsBefore: {0: -1}}"),
        "4:33",
        "at least 0, not -1",
    ),
    "a wrong choice": (
        with_spec("{deletionPolicy: delete}"),
        "4:24",
        "one of Protect, Delete, Orphan, not 'delete'",
    ),
    "a label that is a number": (
        with_metadata("{name: x, labels: {version: 1}}"),
        "3:39",
        "metadata.labels.version must be text, not 1",
    ),
    "no clusters": (with_metadata("{name: x, clusters: []}"), "3:31", "must not be empty"),
    "clusters left out": (with_metadata("{name: x, clusters: }"), "3:31", "not empty"),
    "clusters as text": (with_metadata("{name: x, clusters: prod}"), "3:31", "must be a list"),
    "a cluster by placeholder": (
        with_metadata('{name: x, clusters: ["${var:c}"]}'),
        "3:32",
        "a cluster can't be named by a placeholder",
    ),
    "an operation that is none": (
        one(acl("permission: Allow\noperations: [Fly]\nresource: {type: topic, name: a}")),
        "6:16",
        "one of All, Read, Write",
    ),
    "no operations": (
        one(acl("permission: Allow\noperations: []\nresource: {type: topic, name: a}")),
        "6:15",
        "spec.operations must not be empty",
    ),
    "a resource type that is none": (
        one(acl("permission: Allow\noperations: [Read]\nresource: {type: queue, name: a}")),
        "7:20",
        "one of topic, group, cluster",
    ),
    "a permission that is none": (
        one(acl("permission: Permit\noperations: [Read]\nresource: {type: topic, name: a}")),
        "5:15",
        "one of Allow, Deny, not 'Permit'",
    ),
    "an ACL without resource": (
        one(acl("permission: Allow\noperations: [Read]")),
        "5:3",
        "spec.resource is missing",
    ),
    "a host left out": (
        one(acl("host:\npermission: Allow\noperations: [Read]\nresource: {type: topic, name: a}")),
        "5:8",
        "spec.host must be text, not empty",
    ),
    "a quota that is text": (one(quota("{user: a}", '{request_percentage: "1"}')), "6:32", "'1'"),
    "no quotas": (one(quota("{user: a}", "{}")), "6:11", "spec.quotas must not be empty"),
    "a user left out": (one(quota("{user: }", "{}")), "5:18", "{default: true}, not empty"),
    "a user that is a number": (one(quota("{user: 7}", "{a: 1}")), "5:18", "not 7"),
    "a default that is not": (
        one(quota("{user: {default: false}}", "{a: 1}")),
        "5:18",
        "a mapping",
    ),
    "a target that is text": (
        one(tombstone("topic/a")),
        "5:11",
        "must be a mapping, not 'topic/a'",
    ),
    # Placeholders.
    "a variable without value": (
        with_metadata('{name: "x-${var:nope}"}'),
        "3:18",
        "${var:nope} has no value; add nope to the cluster's variables",
    ),
    "an environment variable without value": (
        with_metadata('{name: "${env:NOPE}"}'),
        "3:18",
        "${env:NOPE} has no value; set the environment variable NOPE",
    ),
    "a placeholder of no known kind": (
        with_metadata('{name: "${file:x}"}'),
        "3:18",
        "'${file:x}' is not a placeholder",
    ),
    "a placeholder that is not closed": (
        with_metadata('{name: "${var:x"}'),
        "3:18",
        "is not a placeholder",
    ),
    # Virtual clusters: VC-423, and what the proposal rejected.
    "a misspelt field of a link": (
        one("apiVersion: kgitops/v1\nkind: TopicLink\nmetadata: {name: a}\nspec: {targt: {}}\n"),
        "4:8",
        "did you mean target?",
    ),
    "a project among manifests": (
        one("apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: a}\nspec: {}\n"),
        "2:7",
        "a Project is among the manifests; move it to kgitops.yaml",
    ),
    # JSON.
    "JSON with a wrong value": (
        {
            "a.json": '{"apiVersion": "kgitops/v1", "kind": "Topic", "metadata": {"name": "x"},\n'
            '"spec": {"partitions": "1"}}'
        },
        "2:24",
        "spec.partitions must be a whole number",
    ),
    "JSON that ends early": (
        {"a.json": '{"apiVersion": "kgitops/v1",\n'},
        "2:1",
        "a value is expected",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_found_at_its_place(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, place, words = CASES[case]
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    said = findings(load("."))
    (name,) = files
    assert any(text.startswith(f"{name}:{place}: ") and words in text for text in said), said
    assert all("; " in text for text in said), "a finding says what to do"


def test_the_table_covers_fifty_kinds() -> None:
    assert len(CASES) >= 50


def test_every_mistake_of_every_file_is_shown_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path,
        {
            "a.yaml": 'apiVersion: "kgitops\n---\n' + topic(spec="{partitions: x}") + "---\n- 1\n",
            "b.yaml": topic(spec="{partitions: y, replicationFactor: z, zzz: 1}"),
            "c.yaml": "\x00",
            "d.yaml": topic("good"),
        },
    )
    monkeypatch.chdir(tmp_path)
    places = [text.split(": ")[0] for text in findings(load("."))]
    assert places == [
        "a.yaml:1:13",
        "a.yaml:6:20",
        "a.yaml:8:1",
        "b.yaml:4:20",
        "b.yaml:4:42",
        "b.yaml:4:45",
        "c.yaml:1:1",
    ]


def test_good_documents_around_a_broken_one_are_still_read(tmp_path: Path) -> None:
    text = topic("a") + "---\na: [\n---\n" + topic("b")
    write(tmp_path, {"a.yaml": text})
    loaded = load(tmp_path)
    assert [manifest.declares.metadata.name for manifest in loaded.manifests] == ["a", "b"]
    assert len(loaded.findings) == 1


def test_the_value_of_an_environment_variable_is_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hunter2's \\ secret!"  # noqa: S105
    write(
        tmp_path,
        {
            "a.yaml": topic('"${env:SECRET}"') + "---\n" + topic('"${env:SECRET}"'),
            "b.yaml": topic("b", "\n  partitions: ${env:SECRET}\n  deletionPolicy: ${env:SECRET}"),
            "c.yaml": topic("c", '{configs: {"retention.ms": "${env:SECRET}", "a": "${env:N}"}}'),
            "d.yaml": acl(
                'principal: "${env:SECRET}"\nhost: "${env:SECRET}"\npermission: "${env:SECRET}"\n'
                'operations: [Read]\nresource: {type: topic, name: "${env:SECRET}*"}'
            ),
            "e.yaml": quota('{ip: "${env:SECRET}"}', "{connection_creation_rate: 1}"),
            "f.yaml": tombstone('{address: "${env:SECRET}"}'),
        },
    )
    monkeypatch.chdir(tmp_path)
    said = "\n".join(findings(load(".", env={"SECRET": secret, "N": "7"})))
    assert len(said.splitlines()) >= 8
    assert "hunter2" not in said
    assert "${env:SECRET}" in said


def test_a_file_of_broken_documents_ends_early(tmp_path: Path) -> None:
    """Else each would mean reading the rest once more."""
    write(tmp_path, {"a.yaml": "---\na: [\n" * 2000})
    said = findings(load(tmp_path))
    assert len(said) == 51
    assert any("a.yaml:101:1: 50 documents above are not YAML" in one for one in said)
