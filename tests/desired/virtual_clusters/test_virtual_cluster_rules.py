"""What must hold of virtual clusters before any plan: each finding at its place (VC-405)."""

from pathlib import Path

import pytest
from manifests.loading import acl, declaration, findings, load, quota, tombstone, topic, write

SIZE = "partitions: 1, replicationFactor: 1"
ACCESS = (
    "principal: User:a\npermission: Allow\noperations: [Read]\nresource: {type: topic, name: t}"
)


ALTER = "AlterVirtualCluster"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(here: Path, *texts: str) -> list[str]:
    """All findings; the documents are a.yaml, b.yaml and so on."""
    write(here, {f"{chr(97 + index)}.yaml": text for index, text in enumerate(texts)})
    return findings(load("."))


def virtual_cluster(name: str = "emea", members: str = "{}") -> str:
    """Members begin on line 4 in column 17."""
    return declaration("VirtualCluster", f"{{name: {name}}}", f"{{members: {members}}}")


def local_topic(name: str = "t", scope: str = "emea", more: str = "") -> str:
    return declaration("Topic", f"{{name: {name}, virtualCluster: {scope}}}", f"{{{SIZE}{more}}}")


def link(name: str, scope: str, target: str) -> str:
    """The target stands on line 4 from column 16."""
    metadata = f"{{name: {name}, virtualCluster: {scope}}}"
    return declaration("TopicLink", metadata, f"{{target: {target}}}")


def to(scope: str, name: str) -> str:
    return f"{{virtualCluster: {scope}, topic: {name}}}"


def binding(spec: str, scope: str = "emea", name: str = "x") -> str:
    metadata = f"{{name: {name}, virtualCluster: {scope}}}"
    return declaration("VirtualClusterBinding", metadata, spec)


def group(name: str, scope: str = "emea", spec: str = "{}") -> str:
    return declaration("ConsumerGroup", f"{{name: {name}, virtualCluster: {scope}}}", spec)


def administrator(resource: str, operation: str = "Alter") -> str:
    return acl(
        f"principal: User:a\npermission: Allow\noperations: [{operation}]\n"
        f"resource: {{type: cluster, {resource}}}"
    )


# Names.


@pytest.mark.parametrize("name", ["a", "us.amer.ecommerce", "A_b-1", "a" * 100, "Kafka-Cluster"])
def test_a_name_for_a_virtual_cluster(here: Path, name: str) -> None:
    """VC-006, VC-007: a flat name of the characters of topics."""
    assert said(here, virtual_cluster(name)) == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("'.'", "can't be named '.'"),
        ("..", "can't be named '..'"),
        ("a:b", "contains ':'"),
        ("a/b", "contains '/'"),
        ("<default>", "contains '<', '>'"),
        ("a b", "contains ' '"),
        ("é", "contains 'é'"),
        ("a" * 250, "has 250 characters, 249 are allowed"),
        ("kafka-cluster", "kafka-cluster is the physical cluster itself"),
    ],
)
def test_no_name_for_a_virtual_cluster(here: Path, name: str, problem: str) -> None:
    """VC-007, VC-104, VC-405."""
    (finding, *_) = said(here, virtual_cluster(name))
    assert finding.startswith("a.yaml:3:18: ")
    assert problem in finding


@pytest.mark.parametrize("scope", ["kafka-cluster", "a:b"])
@pytest.mark.parametrize(
    ("text", "place"),
    [
        (link("l", "SCOPE", "{physicalTopic: t}"), "a.yaml:3:37"),
        (link("l", "a", to("SCOPE", "t")), "a.yaml:4:"),
        (binding("{user: a}", "SCOPE"), "a.yaml:3:37"),
        (binding("{user: a, copyAclsFrom: 'a/b'}"), "a.yaml:4:31"),
        (local_topic(more=", shareWith: [b, SCOPE]"), "a.yaml:4:60"),
        (quota("{virtualCluster: SCOPE}", "{producer_byte_rate: 1}"), "a.yaml:5:28"),
        (tombstone("{address: 'vc/SCOPE'}"), "a.yaml:5:21"),
        (tombstone("{address: 'vc/SCOPE/topic/t'}"), "a.yaml:5:21"),
        (tombstone("{kind: VirtualCluster, name: 'SCOPE'}"), "a.yaml:5:40"),
    ],
)
def test_nothing_lies_in_what_is_no_virtual_cluster(
    here: Path, text: str, place: str, scope: str
) -> None:
    """VC-007, VC-100, VC-104."""
    found = said(here, text.replace("SCOPE", scope))
    assert [one for one in found if one.startswith(place) and "warning" not in one]


@pytest.mark.parametrize(("length", "count"), [(212, 0), (213, 1)])
def test_a_topic_of_a_virtual_cluster_leaves_room_for_a_uuid(
    here: Path, length: int, count: int
) -> None:
    """VC-058, VC-405: outside there is room for 249."""
    found = said(here, local_topic("t" * length), topic("t" * length))
    assert [one for one in found if "warning" not in one] == [
        "a.yaml:3:18: the topic name has 213 characters, 212 are allowed in a virtual cluster: on "
        "the cluster a UUID and a dot precede it; shorten it"
    ] * count


@pytest.mark.parametrize("name", ["a b", "'.'", "a:b", "l" * 250])
def test_a_link_has_the_name_of_a_topic(here: Path, name: str) -> None:
    """VC-043."""
    (finding,) = said(here, link(name, "emea", "{physicalTopic: t}"))
    assert finding.startswith("a.yaml:3:18: ")
    assert said(here, link("l" * 249, "emea", "{physicalTopic: t}")) == []


# Topics and links.


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (local_topic("n"), link("n", "emea", "{physicalTopic: other}")),
        (link("n", "emea", "{physicalTopic: other}"), local_topic("n")),
    ],
)
def test_a_name_means_one_thing_in_a_virtual_cluster(here: Path, first: str, second: str) -> None:
    """VC-021, VC-061, VC-405: whether a topic or a link has it."""
    (finding,) = said(here, first, second)
    assert finding.startswith("b.yaml:3:18: the name emea/n is taken: vc/emea/")
    assert "is declared at a.yaml:1:1" in finding


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (local_topic("n"), local_topic("n")),
        (
            link("n", "emea", "{physicalTopic: one}"),
            link("n", "emea", "{physicalTopic: two}"),
        ),
        (virtual_cluster(), virtual_cluster()),
        (topic("n"), topic("n")),
    ],
)
def test_nothing_is_declared_twice(here: Path, first: str, second: str) -> None:
    """VC-021, VC-035, VC-061, VC-405, 24.9 c: a second size or target is refused, even an equal."""
    (finding,) = said(here, first, second)
    assert finding.startswith("b.yaml:3:18: ")
    assert "is declared already at a.yaml:1:1" in finding


@pytest.mark.parametrize(
    "name",
    [
        *("__cluster_metadata", "__consumer_offsets", "__share_group_state"),
        *("__transaction_state", "__kgitops"),
    ],
)
def test_no_link_leads_to_an_internal_topic(here: Path, name: str) -> None:
    """VC-037, VC-118, VC-405, 24.9 e: each spelled out, the state of share groups too."""
    (finding,) = said(here, link("offsets", "emea", f"{{physicalTopic: {name}}}"))
    assert finding == (
        f"a.yaml:4:32: the topic {name} is internal, and no virtual cluster may have it; "
        "remove the link"
    )


@pytest.mark.parametrize(
    ("target", "place", "problem"),
    [
        ("{}", "4:16", "the target names no topic"),
        ("{virtualCluster: a}", "4:16", "the target names no topic"),
        ("{topic: t}", "4:17", "the target 't' is not in a virtual cluster"),
        ("{topic: t, virtualCluster: kafka-cluster}", "4:17", "not in a virtual cluster"),
        ("{topic: t, physicalTopic: t}", "4:16", "both a physicalTopic and a topic"),
        ("{virtualCluster: a, physicalTopic: t}", "4:16", "both a physicalTopic and a topic"),
        ("{physicalTopic: a b}", "4:32", "the topic name 'a b' contains ' '"),
        ("{virtualCluster: a, topic: a b}", "4:43", "the topic name 'a b' contains ' '"),
    ],
)
def test_a_link_says_in_one_way_where_it_leads(
    here: Path, target: str, place: str, problem: str
) -> None:
    """VC-005, VC-020."""
    (finding,) = said(here, link("l", "emea", target))
    assert finding.startswith(f"a.yaml:{place}: ")
    assert problem in finding


@pytest.mark.parametrize("consent", ["", ", shareWith: [c]"])
def test_a_topic_is_linked_only_with_its_owners_consent(here: Path, consent: str) -> None:
    """VC-040."""
    texts = [local_topic("t", "a", consent), link("l", "b", to("a", "t"))]
    assert said(here, *texts) == [
        "b.yaml:4:43: the topic a/t (a.yaml:1:1) is not shared with b; let its owner add "
        "shareWith: [b] to it, or remove the link"
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (link("a", "v", "{physicalTopic: t}"), link("b", "v", "{physicalTopic: t}")),
        (local_topic("a", "v"), link("b", "v", to("v", "a"))),
        (link("a", "v", to("w", "t")), link("b", "v", to("w", "t"))),
    ],
)
def test_two_links_to_one_topic_are_a_warning(here: Path, first: str, second: str) -> None:
    """VC-023, VC-039."""
    assert said(here, first, second) == [
        "b.yaml:3:18: warning: v/b and v/a (a.yaml:1:1) lead to one topic, so a consumer that "
        "subscribes by a pattern reads its records twice; remove one of them once nobody uses it"
    ]


# Members.


@pytest.mark.parametrize(
    ("listed", "first", "spec", "place", "noun"),
    [
        ("{users: [jane]}", "4:26", "{user: User:jane}", "4:14", "user User:jane"),
        (
            "{users: [{principal: jane, move: true}]}",
            "4:26",
            "{move: true, user: jane}",
            "4:26",
            "user User:jane",
        ),
        ("{clientIds: [batch]}", "4:30", "{clientId: batch}", "4:18", "client id batch"),
    ],
)
def test_a_user_and_a_client_id_belong_to_one_virtual_cluster(
    here: Path, listed: str, first: str, spec: str, place: str, noun: str
) -> None:
    """VC-080, VC-081, VC-367, VC-405, 24.9 b: two declarations are wrong, even if one moves."""
    found = said(here, virtual_cluster("a", listed), binding(spec, "b"))
    assert [one for one in found if "warning" not in one] == [
        f"b.yaml:{place}: the {noun} belongs to a (a.yaml:{first}), and to one virtual cluster at "
        "most; remove it from one of the two"
    ]


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        (group("g", "a", "{adopt: old}"), group("g", "b", "{adopt: old}"), "4:15"),
        (group("g", "a", "{adopt: old}"), group("h", "a", "{adopt: old}"), "4:15"),
        (
            group("g", "a", "{adopt: old}"),
            virtual_cluster("b", "{groups: [{name: g, adopt: old}]}"),
            "4:44",
        ),
    ],
)
def test_a_group_is_adopted_once(here: Path, first: str, second: str, place: str) -> None:
    """VC-115, VC-405."""
    assert said(here, first, second) == [
        f"b.yaml:{place}: the group old is adopted by vc/a/group/g (a.yaml:1:1); "
        "let one of the two adopt it"
    ]


@pytest.mark.parametrize(
    ("listed", "text", "place"),
    [
        ("{users: [x]}", binding("{user: User:x}"), "4:14"),
        ("{clientIds: [x], users: [u]}", binding("{clientId: x}"), "4:18"),
        ("{transactionalIds: [x]}", binding("{transactionalId: x}"), "4:25"),
        ("{groups: [x]}", group("x"), "3:18"),
    ],
)
def test_a_member_is_declared_in_one_form(here: Path, listed: str, text: str, place: str) -> None:
    """VC-405, VC-420."""
    (finding,) = said(here, virtual_cluster(members=listed), text)
    assert finding.startswith(f"b.yaml:{place}: vc/emea/")
    assert "is declared already at a.yaml:4:" in finding


@pytest.mark.parametrize(
    "listed",
    ["{users: [x, 'User:x']}", "{groups: [x, {name: x}]}", "{transactionalIds: [x, x]}"],
)
def test_a_member_is_listed_once(here: Path, listed: str) -> None:
    """VC-420."""
    (finding,) = said(here, virtual_cluster(members=listed))
    assert finding.startswith(f"a.yaml:4:{17 + listed.index(', ') + 2}: vc/emea/")
    assert "is declared already at a.yaml:4:" in finding


@pytest.mark.parametrize("name", ["ANONYMOUS", "User:ANONYMOUS", "*", "User:*"])
def test_nobody_in_particular_is_not_bound(here: Path, name: str) -> None:
    """VC-093."""
    for text, place in (
        (virtual_cluster(members=f"{{users: ['{name}']}}"), "4:26"),
        (binding(f"{{user: '{name}'}}"), "4:14"),
    ):
        (finding,) = said(here, text)
        assert finding.startswith(f"a.yaml:{place}: User:")
        assert "is a wildcard principal" in finding


@pytest.mark.parametrize("name", [":x", "User:", "a b:c"])
def test_a_member_is_a_principal(here: Path, name: str) -> None:
    """VC-083."""
    (finding,) = said(here, binding(f"{{user: '{name}'}}"))
    assert finding.startswith("a.yaml:4:14: ")
    assert "is not a principal" in finding


@pytest.mark.parametrize(
    ("spec", "place", "problem"),
    [
        ("{}", "4:7", "the binding names no member"),
        ("{user: a, clientId: b}", "4:7", "the binding names several members"),
        ("{transactionalId: a, clientId: b}", "4:7", "the binding names several members"),
        ("{clientId: a, copyAclsFrom: b}", "4:21", "only a user has copyAclsFrom"),
        ("{transactionalId: a, removeOldAclsFrom: b}", "4:28", "only a user has removeOldAclsFrom"),
        ("{transactionalId: a, move: true}", "4:28", "a transactional id can't be moved"),
        ("{user: a, copyAclsFrom: emea}", "4:31", "copyAclsFrom names the virtual cluster that"),
        ("{user: a, removeOldAclsFrom: emea}", "4:36", "removeOldAclsFrom names the virtual"),
    ],
)
def test_a_binding_names_one_member_and_what_it_may_do(
    here: Path, spec: str, place: str, problem: str
) -> None:
    (finding,) = said(here, binding(spec))
    assert finding.startswith(f"a.yaml:{place}: {problem}")


@pytest.mark.parametrize("written", ["true", "false"])
def test_offsets_are_copied_from_an_adopted_group(here: Path, written: str) -> None:
    """VC-114."""
    (finding,) = said(here, group("g", spec=f"{{copyOffsets: {written}}}"))
    assert finding.startswith("a.yaml:4:8: copyOffsets needs adopt, which")
    (finding,) = said(
        here, virtual_cluster(members=f"{{groups: [{{name: g, copyOffsets: {written}}}]}}")
    )
    assert finding.startswith("a.yaml:4:37: copyOffsets needs adopt, which")


@pytest.mark.parametrize(("scope", "source"), [("", "kafka-cluster"), ("virtualCluster: b\n", "b")])
def test_acls_that_are_declared_are_not_removed_by_another_document(
    here: Path, scope: str, source: str
) -> None:
    """VC-191: 24.1 says to remove the Acl document instead."""
    texts = (acl(scope + ACCESS), binding(f"{{user: a, removeOldAclsFrom: {source}}}", "c"))
    errors = [one for one in said(here, *texts) if "warning" not in one]
    assert errors == [
        f"b.yaml:4:36: the ACLs of User:a in {source} are to be removed, and a.yaml:1:1 declares "
        "one of them; remove that document, which is enough"
    ]


@pytest.mark.parametrize(
    "more",
    [
        virtual_cluster("a", "{users: [batch]}"),
        virtual_cluster("a", "{users: [u]}")
        + "---\n"
        + quota("{user: u, clientId: batch}", "{producer_byte_rate: 1}"),
    ],
)
def test_a_client_id_that_comes_with_a_user_of_elsewhere_is_a_warning(
    here: Path, more: str
) -> None:
    """VC-084: of one name, or named together by a quota; the user decides."""
    (finding,) = said(here, virtual_cluster("b", "{users: [other], clientIds: [batch]}"), more)
    assert finding.startswith("a.yaml:4:46: warning: User:")
    assert "belongs to a, also when it comes with the client id batch of b; " in finding


# ACLs.


@pytest.mark.parametrize("operation", ["Delete", "Read", "Write", "IdempotentWrite"])
def test_other_operations_have_no_meaning_in_a_virtual_cluster(here: Path, operation: str) -> None:
    """VC-160a, VC-160b: but Delete, which is DeleteVirtualCluster's classic name."""
    text = acl(
        f"principal: User:a\npermission: Allow\noperations: [{operation}]\n"
        "resource: {type: cluster, name: emea}"
    )
    expected = (
        [] if operation == "Delete" else [f"{operation} is not an operation on a virtual cluster"]
    )
    found = said(here, text, virtual_cluster())
    assert [one.split(": ")[1].split(";")[0] for one in found] == expected


def test_the_physical_cluster_has_no_delete(here: Path) -> None:
    """VC-160a."""
    (finding,) = said(here, administrator("name: kafka-cluster", "Delete"))
    assert finding.startswith("a.yaml:7:16: Delete is not an operation on a cluster")


@pytest.mark.parametrize("resource", ["topic", "group", "transactionalId", "user"])
@pytest.mark.parametrize("operation", ["CreateVirtualCluster", "LIST_VIRTUAL_CLUSTERS"])
def test_rights_on_virtual_clusters_are_rights_on_cluster_resources(
    here: Path, resource: str, operation: str
) -> None:
    """VC-141."""
    text = acl(
        f"principal: User:a\npermission: Allow\noperations: [{operation}]\n"
        f"resource: {{type: {resource}, name: emea}}"
    )
    (finding,) = said(here, text)
    assert finding.startswith("a.yaml:7:16: ")
    assert f"is not an operation on a {resource}" in finding


@pytest.mark.parametrize("name", ["kafka-cluster", "emea.sales"])
def test_the_cluster_resource_lies_in_no_virtual_cluster(here: Path, name: str) -> None:
    """VC-140, VC-405: its name is the virtual cluster."""
    text = acl(
        "virtualCluster: emea.sales\nprincipal: User:a\npermission: Allow\n"
        f"operations: [AlterVirtualCluster]\nresource: {{type: cluster, name: {name}}}"
    )
    assert said(here, text) == [
        "a.yaml:5:3: the resource cluster is not in a virtual cluster; its name says which one is "
        "meant; remove virtualCluster and write resource: {type: cluster, name: emea.sales}"
    ]


@pytest.mark.parametrize("scope", ["virtualCluster: kafka-cluster\n", ""])
def test_the_physical_cluster_is_no_prefix(here: Path, scope: str) -> None:
    """VC-108."""
    (finding,) = said(here, acl(f"{scope}virtualClusterPatternType: prefixed\n{ACCESS}"))
    assert finding.startswith(f"a.yaml:{6 if scope else 5}:3: kafka-cluster is not a prefix")


@pytest.mark.parametrize(
    ("scope", "pattern", "right"),
    [
        ("'*'", "literal", True),
        ("'*'", "prefixed", False),
        ("emea.", "prefixed", True),
        ("'.'", "prefixed", True),
        ("'.'", "literal", False),
        ("'emea.*'", "prefixed", False),
        ("'emea.*'", "literal", False),
        ("a/b", "literal", False),
    ],
)
def test_a_scope_is_a_name_a_prefix_or_every_virtual_cluster(
    here: Path, scope: str, pattern: str, right: bool
) -> None:
    """VC-144; alike where the name of a cluster resource is the scope."""
    scoped = acl(f"virtualCluster: {scope}\nvirtualClusterPatternType: {pattern}\n{ACCESS}")
    admin = acl(
        "principal: User:a\npermission: Allow\noperations: [Alter]\n"
        f"resource: {{type: cluster, name: {scope}, patternType: {pattern}}}"
    )
    for text, place in ((scoped, "5:19"), (admin, "8:35")):
        found = said(here, text, virtual_cluster())
        assert not found if right else found[0].startswith(f"a.yaml:{place}: ")


RESOURCES = {
    "name: kafka_cluster": "'kafka_cluster' stands for virtual clusters, and none of that name is",
    "name: sales-cluster": "'sales-cluster' stands for virtual clusters, and none of that name is",
    "name: kafka_cluster, patternType: prefixed": "stands for virtual clusters, and none is",
    "name: '*'": "'*' stands for virtual clusters, and none is",
}


@pytest.mark.parametrize("resource", RESOURCES)
def test_rights_on_a_cluster_that_nobody_knows_are_a_warning(here: Path, resource: str) -> None:
    """VC-100: to Kafka every name but kafka-cluster is wrong."""
    (found,) = said(here, administrator(resource))
    assert found.startswith("a.yaml:8:35: warning: the resource cluster ")
    assert RESOURCES[resource] in found
    assert found.endswith("; write kafka-cluster if you mean the cluster itself")


@pytest.mark.parametrize(
    "other",
    [
        virtual_cluster("sales-cluster"),
        binding("{user: a}", "sales-cluster"),
        group("g", "sales-cluster"),
        local_topic("t", "sales-cluster"),
        link("l", "sales-cluster", to("x", "y")),
        quota("{virtualCluster: sales-cluster, user: a}", "{request_percentage: 1}"),
        acl(f"virtualCluster: sales-cluster\n{ACCESS}"),
    ],
)
def test_rights_on_a_virtual_cluster_are_none(here: Path, other: str) -> None:
    """VC-140: its own project may be another one."""
    assert said(here, administrator("name: sales-cluster"), other) == []
    assert said(here, administrator("name: sales-, patternType: prefixed"), other) == []


# Quotas.

_NAMES = {"absent": None, "named": "x", "default": "{default: true}"}
_SHAPES = [(vc, user, client) for vc in _NAMES for user in _NAMES for client in _NAMES]


def shape(here: Path, **named: str | None) -> list[str]:
    entity = ", ".join(f"{field}: {name}" for field, name in named.items() if name)
    return said(here, quota(f"{{{entity}}}", "{producer_byte_rate: 1}"))


def test_the_table_of_shapes_is_whole() -> None:
    """VC-207: three ways to name each of three."""
    assert len(set(_SHAPES)) == 27


@pytest.mark.parametrize(("vc", "user", "client"), _SHAPES)
def test_the_shape_of_a_quotas_entity(here: Path, vc: str, user: str, client: str) -> None:
    """VC-206, VC-207, VC-405: a default virtual cluster stands alone, and something is named."""
    nothing = vc == user == client == "absent"
    crowded = vc == "default" and (user, client) != ("absent", "absent")
    found = shape(here, virtualCluster=_NAMES[vc], user=_NAMES[user], clientId=_NAMES[client])
    if nothing:
        assert found == [
            "a.yaml:5:11: the quota names no entity; "
            "add user, clientId, ip or virtualCluster to spec.entity"
        ]
    elif crowded:
        assert found == [
            "a.yaml:5:28: the default virtual cluster has a cap and no users or client ids; "
            "name the virtual cluster"
        ]
    else:
        assert found == []


@pytest.mark.parametrize("vc", ["x", "{default: true}"])
def test_an_address_lies_in_no_virtual_cluster(here: Path, vc: str) -> None:
    """VC-209."""
    (finding,) = shape(here, virtualCluster=vc, ip="10.0.0.1")
    assert "an ip can't be combined with a user, a client id or a virtual cluster" in finding


@pytest.mark.parametrize("more", [{}, {"user": "a"}, {"clientId": "{default: true}"}])
def test_the_physical_cluster_has_no_quotas(here: Path, more: dict[str, str]) -> None:
    """VC-104, VC-205, 24.9 d."""
    assert shape(here, virtualCluster="kafka-cluster", **more) == [
        "a.yaml:5:28: kafka-cluster has no quotas: it is the physical cluster itself; "
        "remove virtualCluster, quotas without it hold everywhere"
    ]


@pytest.mark.parametrize("entity", ["{virtualCluster: a}", "{virtualCluster: a, user: b}"])
@pytest.mark.parametrize(
    "wrong", ["producer_byte_rate: 0", "consumer_byte_rate: 1.5", "connection_creation_rate: 1"]
)
def test_quotas_of_a_virtual_cluster_are_those_of_clients(
    here: Path, entity: str, wrong: str
) -> None:
    """VC-210."""
    every = "request_percentage: 0.5, controller_mutation_rate: 2.5, consumer_byte_rate: 1"
    assert said(here, quota(entity, f"{{{every}}}")) == []
    (finding,) = said(here, quota(entity, f"{{{wrong}}}"))
    assert finding.startswith("a.yaml:6:")


# Tombstones.


@pytest.mark.parametrize(
    ("target", "place", "problem"),
    [
        ("{kind: TopicLink, name: a}", "5:11", "a TopicLink lies in a virtual cluster"),
        (
            "{kind: TopicLink, name: a, virtualCluster: kafka-cluster}",
            "5:11",
            "a TopicLink lies in a virtual cluster",
        ),
        (
            "{kind: VirtualCluster, name: a, virtualCluster: b}",
            "5:43",
            "virtual clusters can't be in a virtual cluster",
        ),
        (
            "{kind: VirtualClusterBinding, name: a, virtualCluster: b}",
            "5:18",
            "'VirtualClusterBinding' can't be named by kind and name",
        ),
        (
            "{address: vc/a/topic/t, virtualCluster: a}",
            "5:11",
            "an address in addition to its kind",
        ),
        ("{address: vc/a/link/t, topicId: x}", "5:34", "only a topic has a topicId"),
        ("{address: 'vc/prefixed:a/topic/t'}", "5:21", "contains ':'"),
        ("{address: 'vc/*'}", "5:21", "contains '*'"),
        ("{address: 'vc/a/queue/t'}", "5:21", "is not an address"),
    ],
)
def test_a_tombstone_says_which_object_it_means(
    here: Path, target: str, place: str, problem: str
) -> None:
    (finding,) = said(here, tombstone(target))
    assert finding.startswith(f"a.yaml:{place}: ")
    assert problem in finding


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (local_topic(), "vc/emea/topic/t"),
        (link("l", "emea", "{physicalTopic: t}"), "vc/emea/link/l"),
        (group("g"), "vc/emea/group/g"),
        (binding("{user: a}"), "vc/emea/user/User:a"),
        (
            quota("{virtualCluster: emea, user: a}", "{producer_byte_rate: 1}"),
            "vc/emea/quota/user=a",
        ),
        (
            acl(f"virtualCluster: emea\n{ACCESS}"),
            "vc/emea/acl/User:a/Allow/Read/topic/literal/t@*",
        ),
    ],
)
def test_a_virtual_cluster_is_not_buried_before_what_lies_in_it(
    here: Path, text: str, address: str
) -> None:
    """24.8, VC-245: no document of it may remain."""
    (finding,) = said(here, text, tombstone("{kind: VirtualCluster, name: emea}"))
    assert finding == (
        f"b.yaml:5:11: vc/emea has a Tombstone, and {address}, which is in it, is declared at "
        "a.yaml:1:1; remove that document too, and all others of the virtual cluster"
    )


def test_all_findings_are_told_together(here: Path) -> None:
    """VC-405: at once, each with its file and line."""
    found = said(
        here,
        virtual_cluster("kafka-cluster"),
        link("l", "a", "{physicalTopic: __consumer_offsets}"),
        local_topic("t" * 213, "a"),
        binding("{user: ANONYMOUS}", "a"),
        quota("{virtualCluster: kafka-cluster}", "{producer_byte_rate: 1}"),
    )
    assert [one.split(": ")[0] for one in found] == [
        *("a.yaml:3:18", "b.yaml:4:32", "c.yaml:3:18", "d.yaml:4:14", "e.yaml:5:28")
    ]


def test_a_name_that_is_too_long_is_said_once(here: Path) -> None:
    """VC-007: the advice to choose a shorter one is for names that could be."""
    assert len(said(here, virtual_cluster("a" * 250))) == 1
    assert "choose one of up to 100" in said(here, virtual_cluster("a" * 249))[0]


# Documents that are right together, and documents with one finding.

LISTED_QUOTA = quota("{virtualCluster: emea, user: a}", "{producer_byte_rate: 1}")
SCOPED = acl(f"virtualCluster: emea\n{ACCESS}")
OLD_ACLS = binding("{user: a, removeOldAclsFrom: kafka-cluster}")
TWO_LISTS = "{groups: [g], transactionalIds: [t]}"

RIGHT: dict[str, tuple[str, ...]] = {
    "a group in kafka-cluster is one of the cluster": (group("g", "kafka-cluster"),),
    "a name means another thing in another virtual cluster": (
        link("n", "a", "{physicalTopic: one}"),
        link("n", "b", "{physicalTopic: two}"),
        local_topic("n", "c"),
    ),
    **{
        f"a link or a topic {name}": (
            link(name, "emea", f"{{physicalTopic: {name}}}"),
            local_topic(name, "a"),
            local_topic(name, "b"),
        )
        for name in ("connect-offsets", "mm2-configs", "app-x-repartition", "app-x-changelog")
    },
    "a shared topic is linked": (
        local_topic("t", "a", ", shareWith: [c, b]"),
        link("l", "b", to("a", "t")),
    ),
    "of what other projects declare, the plan decides": (link("l", "b", to("a", "elsewhere")),),
    "a link has the name of the topic it leads to": (
        topic("x"),
        link("x", "emea", "{physicalTopic: x}"),
    ),
    "names that Kafka would not tell apart, in two": (
        local_topic("a.b", "a"),
        local_topic("a_b", "b"),
    ),
    "a local topic collides with no global one": (topic("a.b"), local_topic("a_b")),
    "two virtual clusters link to one topic": (
        link("a", "v", "{physicalTopic: t}"),
        link("b", "w", "{physicalTopic: t}"),
    ),
    "groups and transactional ids of one name in two": (
        virtual_cluster("a", TWO_LISTS),
        virtual_cluster("b", TWO_LISTS),
    ),
    "another user's ACLs beside a removal": (acl(ACCESS.replace("User:a", "User:b")), OLD_ACLS),
    "everyone's ACLs beside a removal": (acl(ACCESS.replace("User:a", "User:*")), OLD_ACLS),
    "an administrator's ACLs beside a removal": (administrator("name: emea"), OLD_ACLS),
    "a virtual cluster's ACLs beside a removal": (SCOPED, OLD_ACLS),
    "a client id with users": (virtual_cluster(members="{clientIds: [batch], users: [u]}"),),
    "rights on all virtual clusters": (administrator("name: kafka-cluster", ALTER),),
    "rights on one virtual cluster": (administrator("name: emea", ALTER),),
    "rights that only virtual clusters know": (
        administrator("name: later", "CreateVirtualCluster"),
    ),
    "a name that is the registry's outside": (
        acl(f"virtualCluster: emea\n{ACCESS}".replace("name: t", "name: __kgitops")),
    ),
    "an ACL of a member": (SCOPED, virtual_cluster(members="{users: [a]}")),
    "an ACL of one bound by a document": (SCOPED, virtual_cluster(), binding("{user: a}")),
    "an ACL where others may bind": (SCOPED, virtual_cluster(members="{mode: additive}")),
    "an ACL where a client id makes members": (
        SCOPED,
        virtual_cluster(members="{clientIds: [c], users: [b]}"),
    ),
    "an ACL where another project may bind": (SCOPED,),
    "an ACL of every member": (
        SCOPED.replace("User:a", "User:*"),
        virtual_cluster(members="{users: [b]}"),
    ),
    "a quota of the default virtual cluster in short": (
        quota('{virtualCluster: "<default>"}', "{producer_byte_rate: 1}"),
    ),
    "a quota of a member": (LISTED_QUOTA, virtual_cluster(members="{users: [a]}")),
    "emea.sales and prefixes of emea are not in emea": (
        local_topic(scope="emea.sales"),
        acl(f"virtualCluster: emea\nvirtualClusterPatternType: prefixed\n{ACCESS}"),
        tombstone("{kind: VirtualCluster, name: emea}"),
        tombstone("{address: vc/emea/topic/t}", "other"),
    ),
}


@pytest.mark.parametrize("texts", RIGHT.values(), ids=RIGHT)
def test_documents_that_are_right_together(here: Path, texts: tuple[str, ...]) -> None:
    """VC-006, VC-007, VC-021, VC-022, VC-030, VC-040, VC-042, VC-044, VC-061, VC-085,
    VC-101, VC-106, VC-110, VC-120, VC-141, VC-143, VC-145, VC-166, VC-191, VC-196, VC-206, VC-213,
    VC-340, VC-342, VC-422."""
    assert said(here, *texts) == []


ONE_FINDING: dict[str, tuple[tuple[str, ...], str]] = {
    "a long name": (
        (virtual_cluster("a" * 101),),
        "a.yaml:3:18: warning: the name has 101 characters, and precedes each of its group ids "
        "and transactional ids; choose one of up to 100: it can't be changed later",
    ),
    "a group in what is no virtual cluster": (
        (group("g", "a:b"),),
        "a.yaml:3:37: the name 'a:b' contains ':'; use up to 249 letters, digits, '.', '_' and '-'",
    ),
    "a link to a link": (
        (link("one", "a", "{physicalTopic: t}"), link("two", "a", to("a", "one"))),
        "b.yaml:4:43: a/one is a link itself (a.yaml:1:1), and links lead to topics only; name "
        "the topic that it leads to",
    ),
    "a link to itself": (
        (link("one", "a", to("a", "one")),),
        "a.yaml:4:43: a/one is a link itself (a.yaml:1:1), and links lead to topics only; name "
        "the topic that it leads to",
    ),
    "a link to a topic of its own virtual cluster": (
        (local_topic("t", "a"), link("l", "a", to("a", "t"))),
        "b.yaml:3:18: warning: a/l and a/t (a.yaml:1:1) lead to one topic, so a consumer that "
        "subscribes by a pattern reads its records twice; remove one of them once nobody uses "
        "it",
    ),
    "a global topic that is shared": (
        (topic(spec=f"{{{SIZE}, shareWith: [a]}}"),),
        "a.yaml:4:45: only a topic in a virtual cluster says whom it is shared with; remove "
        "shareWith, or add metadata.virtualCluster",
    ),
    "a topic shared with its own virtual cluster": (
        (local_topic("t", "a", ", shareWith: [b, a]"),),
        "a.yaml:4:60: the topic is in a itself; name other virtual clusters, or remove it",
    ),
    "a link that hides a global topic": (
        (topic("x"), link("x", "emea", "{physicalTopic: y}")),
        "b.yaml:3:18: warning: emea/x has the name of the global topic x, which members of emea"
        " can't see; rename it if the two could be taken for each other",
    ),
    "a topic that hides a global one": (
        (topic("x"), local_topic("x")),
        "b.yaml:3:18: warning: emea/x has the name of the global topic x, which members of emea"
        " can't see; rename it if the two could be taken for each other",
    ),
    "names that Kafka would not tell apart": (
        (link("a.b", "emea", "{physicalTopic: x}"), local_topic("a_b")),
        "b.yaml:3:18: warning: emea/a_b and emea/a.b (a.yaml:1:1) differ only in '.' and '_', "
        "and would collide outside a virtual cluster; rename one of them",
    ),
    "declared ACLs that a listed user removes": (
        (
            acl(ACCESS),
            virtual_cluster(members="{users: [{principal: a, removeOldAclsFrom: kafka-cluster}]}"),
        ),
        "b.yaml:4:60: the ACLs of User:a in kafka-cluster are to be removed, and a.yaml:1:1 "
        "declares one of them; remove that document, which is enough",
    ),
    "a client id without users": (
        (virtual_cluster(members="{clientIds: [batch]}"),),
        "a.yaml:4:30: warning: clients need no proof of the client id batch, and emea has no "
        "user; add the users, who log in, to spec.members.users of emea",
    ),
    "the physical cluster as a prefix": (
        (administrator("name: kafka-cluster, patternType: prefixed"),),
        "a.yaml:8:63: the cluster resource can only be named literally; write literal",
    ),
    "the registry's name outside": (
        (acl(ACCESS.replace("name: t", "name: __kgitops")),),
        "a.yaml:8:33: ACLs on __kgitops can't be declared: kgitops keeps its registry in it; "
        "remove the document",
    ),
    "an ACL of nobody who belongs there": (
        (SCOPED.replace("[Read]", "[Read, Write]"), virtual_cluster()),
        "a.yaml:5:19: warning: User:a is not declared as a member of emea, so these ACLs do "
        "nothing; add it to spec.members.users of emea",
    ),
    "an ACL in another virtual cluster than one's own": (
        (SCOPED, binding("{user: a}", "b")),
        "a.yaml:5:19: warning: User:a belongs to b, so ACLs in emea do nothing for it; link "
        "what it needs into b, and declare them there",
    ),
    "the default virtual cluster in short with a user": (
        (quota('{virtualCluster: "<default>", user: a}', "{producer_byte_rate: 1}"),),
        "a.yaml:5:28: the default virtual cluster has a cap and no users or client ids; name "
        "the virtual cluster",
    ),
    "a quota of nobody who belongs there": (
        (LISTED_QUOTA, virtual_cluster()),
        "a.yaml:5:40: warning: User:a is not declared as a member of emea, so these quotas do "
        "nothing; add it to spec.members.users of emea",
    ),
    "a quota in another virtual cluster than one's own": (
        (LISTED_QUOTA, binding("{user: a}", "b")),
        "a.yaml:5:40: warning: User:a belongs to b, so quotas in emea do nothing for it; link "
        "what it needs into b, and declare them there",
    ),
    "a tombstone beside a member": (
        (virtual_cluster(members="{users: [a]}"), tombstone("{address: 'vc/emea/user/User:a'}")),
        "b.yaml:5:11: vc/emea/user/User:a has a Tombstone and is declared at a.yaml:4:26; "
        "remove one of the two documents",
    ),
    "a group that takes itself over": (
        (virtual_cluster(members='{groups: [{name: g, adopt: "emea:g"}]}'),),
        "a.yaml:4:44: emea:g is this group itself, by its name on the cluster; name the group "
        "that it takes over, or remove it",
    ),
    "every virtual cluster as a prefix": (
        (acl(f'virtualCluster: "*"\nvirtualClusterPatternType: prefixed\n{ACCESS}'),),
        'a.yaml:5:19: "*" is not a prefix; remove the pattern type: it means every one',
    ),
}


@pytest.mark.parametrize(("texts", "expected"), ONE_FINDING.values(), ids=ONE_FINDING)
def test_documents_with_one_finding(here: Path, texts: tuple[str, ...], expected: str) -> None:
    """VC-005, VC-007, VC-012, VC-023, VC-030, VC-040, VC-044, VC-085, VC-114, VC-143, VC-144,
    VC-108, VC-145, VC-191, VC-206, VC-213, VC-405, VC-422: exactly this one, at its place."""
    assert said(here, *texts) == [expected]
