"""Principals, hosts and quota entities that no client matches are warnings at their places."""

from pathlib import Path

import pytest
from manifests.loading import acl, build, findings, load, quota, write

from kgitops.desired.clients import host_mismatch, principal_mismatch, warn_of_ranges
from kgitops.model.json.declared import DesiredAcl

RIGHT = "permission: Allow\noperations: [Read]\nresource: {type: topic, name: orders}"
RATE = "{producer_byte_rate: 1024}"
WRONG = '["User:team-*", "user:bob", "USER:bob", "User:bob ", "User: bob"]'


def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    write(tmp_path, {"acl.yaml": text})
    monkeypatch.chdir(tmp_path)
    return findings(load("acl.yaml"))


def test_every_principal_host_and_entity_of_one_file_is_told_at_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = (
        acl(f"principals: {WRONG}\n{RIGHT}"),
        acl(f'principal: User:bob\nhost: "0.0.0.0"\n{RIGHT}'),
        quota('{user: "team-*"}', RATE),
        quota('{user: "*"}', RATE),
        quota('{clientId: "app-*"}', RATE),
    )
    found = said(tmp_path, monkeypatch, "---\n".join(documents))
    places = [one.split(": warning: ")[0] for one in found]
    assert places == [
        "acl.yaml:5:16",
        "acl.yaml:5:31",
        "acl.yaml:5:43",
        "acl.yaml:5:55",
        "acl.yaml:5:68",
        "acl.yaml:15:9",
        "acl.yaml:24:18",
        "acl.yaml:31:18",
        "acl.yaml:38:22",
    ]
    for words, one in zip(
        (
            "the '*' in 'User:team-*' is not a wildcard to Kafka",
            "write 'User:bob'",
            "write 'User:bob'",
            "has a space around its name, which no client has; write 'User:bob'",
            "write 'User:bob'",
            "no client connects from 0.0.0.0",
            "'team-*' is a user that has a '*' in its name",
            "write {default: true} for all that have no quotas of their own",
            "'app-*' is a client id that has a '*'",
        ),
        found,
        strict=True,
    ):
        assert words in one


@pytest.mark.parametrize(
    ("principal", "words"),
    [
        ("User:*-team", "is not a wildcard"),
        ("user:*", 'write "User:*"'),
        ("Group:*", "only User:* is everyone"),
        ("Role:*", "only User:* is everyone"),
        ("Users:bob", "write 'User:bob'"),
        ("Usr:bob", "write 'User:bob'"),
        ("User:\tbob", "write 'User:bob'"),
        ("User: ", "write the name"),
        ("User:User:bob", "write 'User:bob'"),
        ("User:a,User:b", "list them under principals"),
        ("User:a; user:b", "list them under principals"),
        ("Role:admin", "never see; write 'User:Role:admin'"),
        ("User:CN=bob, OU=a, O=b", "write 'User:CN=bob,OU=a,O=b'"),
    ],
)
def test_a_principal_that_no_client_has(principal: str, words: str) -> None:
    found = principal_mismatch(principal)
    assert found is not None
    assert words in f"{found.problem}; {found.advice}"


@pytest.mark.parametrize(
    "principal",
    [
        "User:*",
        "User:bob",
        "User:ANONYMOUS",
        "User:first last",
        "Group:admins",
        "User:CN=bob,OU=a b,O=c",
        "User:CN=*.kafka.example.com",
        "User:CN=bob,O=Example\\, Inc.",
        "User:CN=bob,O=Example\\, C=x",
        "User:a:b",
        "User:bob@EXAMPLE.COM",
    ],
)
def test_a_principal_that_a_client_may_have(principal: str) -> None:
    assert principal_mismatch(principal) is None


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.0/33",
        "10.0.0.0/",
        "10.0.0.0/255.0.0.0",
        "localhost/8",
        "::ffff:127.0.0.0/104",
        "10.0.*",
        "localhost",
        "app.example.com",
        "010.0.0.1",
        "::1",
        "0:0:0:0:0:0:0:01",
        "10.0.0.1:9092",
        " 10.0.0.1",
        "0.0.0.0",  # noqa: S104 (no address to listen at)
        "::",
        "255.255.255.255",
        "224.0.0.1",
        "10.0.0.1,10.0.0.2",
        "Any",
    ],
)
def test_a_host_that_is_no_clients_address(host: str) -> None:
    assert host_mismatch(host) is not None


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.1",
        "127.0.0.1",
        "0:0:0:0:0:0:0:1",
        "fe80:0:0:0:0:0:0:1%eth0",
        "10.0.0.0/8",
        "10.1.2.3/08",
        "2001:DB8::1/32",
    ],
)
def test_a_host_that_is_a_clients_address(host: str) -> None:
    assert host_mismatch(host) is None


def test_a_range_is_told_once_a_document(tmp_path: Path) -> None:
    spec = "principal: User:a\npermission: Allow\noperations: [Read, Write]\nhost: {}\n"
    spec += "resource: {{type: topic, name: t}}"
    hosts = ("10.0.0.0/8", "10.0.0.1")
    write(tmp_path, {f"{n}.yaml": acl(spec.format(host), f"a{n}") for n, host in enumerate(hosts)})
    desired = build(load(tmp_path))
    assert not desired.warnings
    (warning,) = warn_of_ranges(desired.of(DesiredAcl))
    assert str(warning).endswith(
        "0.yaml:8:9: warning: the host '10.0.0.0/8' is a range, which matches clients since Kafka "
        "4.4 (metadata.version 4.4-IV1) and none before; write IP addresses for an older cluster"
    )


@pytest.mark.parametrize(
    ("entity", "column", "words"),
    [
        ('{user: "User:bob"}', 18, "write 'bob'"),
        ('{user: "user:bob"}', 18, "write 'bob'"),
        ('{user: "bob "}', 18, "write 'bob'"),
        ('{user: "CN=bob, O=a"}', 18, "write 'CN=bob,O=a'"),
        ('{user: bob, clientId: "*"}', 33, "write {default: true}"),
        ('{clientId: " app"}', 22, "write 'app'"),
    ],
)
def test_a_quota_that_is_nobodys(
    entity: str, column: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = said(tmp_path, monkeypatch, quota(entity, RATE))
    assert one.startswith(f"acl.yaml:5:{column}: warning: ")
    assert words in one


def test_a_quota_of_an_address_that_is_no_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate = "{connection_creation_rate: 1}"
    (one,) = said(tmp_path, monkeypatch, quota('{ip: "0.0.0.0"}', rate))
    assert one.startswith("acl.yaml:5:16: warning: no client connects from 0.0.0.0")
    for wrong in ("10.0.0.0/8", "*", "app.example.com"):
        (one,) = said(tmp_path, monkeypatch, quota(f'{{ip: "{wrong}"}}', rate))
        assert "is not an IP address" in one
        assert "{default: true} for all others" in one


def test_a_member_that_no_client_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "apiVersion: kgitops/v1\nkind: VirtualClusterBinding\n"
        'metadata: {name: a, virtualCluster: v}\nspec: {user: "user:bob"}\n'
    )
    (one,) = said(tmp_path, monkeypatch, text)
    assert one.startswith("acl.yaml:4:14: warning: 'user:bob' is a principal of the type user")


@pytest.mark.parametrize(
    ("name", "words"), [("my-*-app", "not a wildcard"), (" app", "write 'app'")]
)
def test_a_group_that_no_client_has(
    name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = RIGHT.replace("{type: topic, name: orders}", f'{{type: group, name: "{name}"}}')
    (one,) = said(tmp_path, monkeypatch, acl(f"principal: User:bob\n{right}"))
    assert one.startswith("acl.yaml:8:33: warning: ")
    assert words in one
