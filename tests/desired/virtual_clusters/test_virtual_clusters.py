"""Virtual clusters, links and members become what they ask for, in whichever form."""

from pathlib import Path

import pytest
from manifests.loading import acl, build, declaration, load, quota, tombstone, topic, write

from kgitops.desired.state import DesiredState
from kgitops.model.errors import FindingsError
from kgitops.model.json.declared import (
    DeletionPolicy,
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredQuota,
    DesiredTopic,
    DesiredVirtualCluster,
    MembersMode,
)
from kgitops.model.resources.acls import Operation, PatternType
from kgitops.model.resources.virtual_clusters import (
    CapLowering,
    EntityType,
    LocalName,
    LoweringOptions,
)

IN_EMEA = "{name: x, virtualCluster: emea}"
EXAMPLE = Path(__file__).parents[3] / "examples" / "virtual-clusters"


def desired(tmp_path: Path, *texts: str) -> DesiredState:
    write(tmp_path, {f"{index}.yaml": text for index, text in enumerate(texts)})
    return build(load(tmp_path))


def virtual_cluster(members: str = "{}", name: str = "emea") -> str:
    return declaration("VirtualCluster", f"{{name: {name}}}", f"{{members: {members}}}")


def member(tmp_path: Path, members: str) -> DesiredMember:
    (built,) = desired(tmp_path, virtual_cluster(members)).of(DesiredMember)
    return built


def test_a_virtual_cluster_has_all_it_declares(tmp_path: Path) -> None:
    text = declaration(
        "VirtualCluster",
        "{name: emea.sales, labels: {team: sales}}",
        "{members: {mode: additive}, lowering: {capLowering: divide, denyWins: true}, "
        "deletionPolicy: Delete}",
    )
    (built,) = desired(tmp_path, text).of(DesiredVirtualCluster)
    assert built == DesiredVirtualCluster(
        address="vc/emea.sales",
        name="emea.sales",
        mode=MembersMode.ADDITIVE,
        options=LoweringOptions(cap_lowering=CapLowering.DIVIDE, deny_wins=True),
        deletion_policy=DeletionPolicy.DELETE,
        deletion_policy_written=True,
        labels={"team": "sales"},
        located=built.located,
    )


def test_a_virtual_cluster_is_protected_and_lists_all_its_members_unless_it_says_otherwise(
    tmp_path: Path,
) -> None:
    """VC-095."""
    (built,) = desired(tmp_path, virtual_cluster()).of(DesiredVirtualCluster)
    assert built == DesiredVirtualCluster(
        address="vc/emea",
        name="emea",
        mode=MembersMode.AUTHORITATIVE,
        options=LoweringOptions(cap_lowering=CapLowering.CLAMP, deny_wins=False),
        deletion_policy=DeletionPolicy.PROTECT,
        deletion_policy_written=False,
        located=built.located,
    )


def test_members_are_objects_of_their_own_where_they_are_listed(tmp_path: Path) -> None:
    text = """\
apiVersion: kgitops/v1
kind: VirtualCluster
metadata: {name: emea, labels: {team: sales}}
spec:
  members:
    users:
      - principal: User:sales-app
        copyAclsFrom: kafka-cluster
        removeOldAclsFrom: null
      - web
    clientIds: [batch]
    groups:
      - {name: etl, adopt: old-etl, copyOffsets: false}
      - plain
    transactionalIds: [tx-1]
"""
    built = desired(tmp_path, text).of(DesiredMember)
    assert [(one.address, one.located.source.line, one.located.source.column) for one in built] == [
        ("vc/emea/client/batch", 11, 17),
        ("vc/emea/group/etl", 13, 9),
        ("vc/emea/group/plain", 14, 9),
        ("vc/emea/txn/tx-1", 15, 24),
        ("vc/emea/user/User:sales-app", 7, 9),
        ("vc/emea/user/User:web", 10, 9),
    ]
    assert [one.entity_type for one in built] == [
        EntityType.CLIENT_ID,
        EntityType.GROUP,
        EntityType.GROUP,
        EntityType.TRANSACTIONAL_ID,
        EntityType.USER,
        EntityType.USER,
    ]
    _, adopting, _, _, copying, _ = built
    assert (adopting.adopt, adopting.copy_offsets) == ("old-etl", False)
    assert (copying.copy_acls_from, copying.remove_old_acls_from) == ("kafka-cluster", None)
    assert copying.located.at("copyAclsFrom").line == 8
    assert all(one.virtual_cluster == "emea" for one in built)
    assert all(one.labels == {"team": "sales"} for one in built)
    assert not any(one.deletion_policy_written for one in built)


@pytest.mark.parametrize("name", ["jane-doe", "User:jane-doe"])
def test_a_bare_name_is_a_user(tmp_path: Path, name: str) -> None:
    """VC-083."""
    built = member(tmp_path, f"{{users: ['{name}']}}")
    assert (built.name, built.address) == ("User:jane-doe", "vc/emea/user/User:jane-doe")


def test_another_type_of_principal_stays_as_it_is(tmp_path: Path) -> None:
    """VC-083."""
    assert member(tmp_path, "{users: ['Group:ops']}").name == "Group:ops"


@pytest.mark.parametrize(
    ("user", "kind", "advice"),
    [
        ("Foo:bar", "Foo", "write 'User:Foo:bar' if that is the user's name"),
        ("user:jane", "user", "write 'User:jane'"),
        ("urn:app:1", "urn", "write 'User:urn:app:1' if that is the user's name"),
    ],
)
@pytest.mark.parametrize("form", ["{users: ['%s']}", "{users: [{principal: '%s'}]}"])
def test_a_type_of_principal_that_kafka_does_not_know_is_a_warning(
    tmp_path: Path, user: str, kind: str, advice: str, form: str
) -> None:
    """VC-083: it is kept as it is, and said."""
    state = desired(tmp_path, virtual_cluster(form % user))
    assert [one.name for one in state.of(DesiredMember)] == [user]
    (warning,) = state.warnings
    assert f"'{user}' is a principal of the type {kind}, which brokers without" in str(warning)
    assert str(warning).endswith(advice)


@pytest.mark.parametrize("user", ["jane", "User:jane", "User:urn:app:1", "Group:ops"])
def test_kafkas_types_of_principals_are_no_warning(tmp_path: Path, user: str) -> None:
    assert desired(tmp_path, virtual_cluster(f"{{users: ['{user}']}}")).warnings == ()


@pytest.mark.parametrize("kind", ["clientIds", "groups", "transactionalIds", "users"])
def test_a_member_that_no_request_can_hold_is_refused(tmp_path: Path, kind: str) -> None:
    """The name of the virtual cluster, emea, and a colon stand before ids on the cluster."""
    longest = 32_767 - len("emea:") - len("User:") * (kind == "users")
    desired(tmp_path, virtual_cluster(f"{{{kind}: [{'x' * longest}]}}"))
    with pytest.raises(FindingsError, match="has 32,768 bytes, Kafka allows 32,767; shorten it"):
        desired(tmp_path, virtual_cluster(f"{{{kind}: [{'x' * (longest + 1)}]}}"))


def test_a_member_is_unbound_with_its_declaration_and_a_group_keeps_its_offsets(
    tmp_path: Path,
) -> None:
    """VC-119: REMOVE_GROUP deletes no offsets unless deletionPolicy says so."""
    listed = "{users: [a], clientIds: [a], groups: [a], transactionalIds: [a]}"
    policies = {
        one.entity_type: one.deletion_policy
        for one in desired(tmp_path, virtual_cluster(listed)).of(DesiredMember)
    }
    assert policies == {
        EntityType.USER: DeletionPolicy.DELETE,
        EntityType.CLIENT_ID: DeletionPolicy.DELETE,
        EntityType.TRANSACTIONAL_ID: DeletionPolicy.DELETE,
        EntityType.GROUP: DeletionPolicy.ORPHAN,
    }


def test_the_offsets_of_an_adopted_group_are_copied_unless_it_says_otherwise(
    tmp_path: Path,
) -> None:
    """VC-114."""
    built = member(tmp_path, "{groups: [{name: g, adopt: old}]}")
    assert (built.adopt, built.copy_offsets) == ("old", True)


@pytest.mark.parametrize(
    ("listed", "kind", "metadata", "spec"),
    [
        (
            "{groups: [{name: x, adopt: old, copyOffsets: false}]}",
            "ConsumerGroup",
            IN_EMEA,
            "{adopt: old, copyOffsets: false}",
        ),
        (
            "{users: [{principal: a, copyAclsFrom: b, removeOldAclsFrom: c, move: true}]}",
            "VirtualClusterBinding",
            IN_EMEA,
            "{user: User:a, copyAclsFrom: b, removeOldAclsFrom: c, move: true}",
        ),
        ("{clientIds: [c]}", "VirtualClusterBinding", IN_EMEA, "{clientId: c}"),
        ("{transactionalIds: [t]}", "VirtualClusterBinding", IN_EMEA, "{transactionalId: t}"),
    ],
)
def test_the_long_form_asks_for_the_same(
    tmp_path: Path, listed: str, kind: str, metadata: str, spec: str
) -> None:
    (long,) = desired(tmp_path / "long", declaration(kind, metadata, spec)).of(DesiredMember)
    assert long == member(tmp_path / "short", listed)


def test_the_long_form_has_a_deletion_policy(tmp_path: Path) -> None:
    """VC-119."""
    text = declaration("ConsumerGroup", IN_EMEA, "{deletionPolicy: Delete}")
    (built,) = desired(tmp_path, text).of(DesiredMember)
    assert (built.deletion_policy, built.deletion_policy_written) == (DeletionPolicy.DELETE, True)


def test_a_client_id_may_be_moved_in_the_long_form(tmp_path: Path) -> None:
    """VC-086."""
    text = declaration("VirtualClusterBinding", IN_EMEA, "{clientId: c, move: true}")
    assert desired(tmp_path, text).of(DesiredMember)[0].move


def test_a_topic_may_lie_in_a_virtual_cluster(tmp_path: Path) -> None:
    """VC-040, VC-056: its name is the local one; it says whom it is shared with."""
    text = declaration(
        "Topic",
        "{name: Orders, virtualCluster: emea}",
        "{partitions: 1, replicationFactor: 1, shareWith: [b, a, b]}",
    )
    (built,) = desired(tmp_path, text).of(DesiredTopic)
    assert (built.address, built.name) == ("vc/emea/topic/Orders", "Orders")
    assert (built.virtual_cluster, built.share_with) == ("emea", ("a", "b"))
    assert built.deletion_policy is DeletionPolicy.PROTECT


def test_kafka_cluster_is_no_virtual_cluster_but_all_of_them(tmp_path: Path) -> None:
    """VC-055, VC-100: naming it is the same as naming none."""
    written = desired(
        tmp_path / "written",
        topic().replace("orders", "orders, virtualCluster: kafka-cluster"),
        acl(
            "virtualCluster: kafka-cluster\nprincipal: User:a\npermission: Allow\n"
            "operations: [Alter]\nresource: {type: cluster, name: kafka-cluster}"
        ),
        tombstone("{kind: Topic, name: t, virtualCluster: kafka-cluster}"),
    )
    absent = desired(
        tmp_path / "absent",
        topic(),
        acl(
            "principal: User:a\npermission: Allow\noperations: [Alter]\n"
            "resource: {type: cluster, name: kafka-cluster}"
        ),
        tombstone("{kind: Topic, name: t}"),
    )
    assert (written.of(DesiredTopic), written.of(DesiredAcl)) == (
        absent.of(DesiredTopic),
        absent.of(DesiredAcl),
    )
    assert written.tombstones == absent.tombstones
    assert written.digest == absent.digest
    assert written.of(DesiredTopic)[0].virtual_cluster is None


def test_a_link_leads_to_a_topic_of_a_virtual_cluster_or_to_a_physical_one(tmp_path: Path) -> None:
    """VC-020, VC-024: under a name of its own."""
    local, physical = desired(
        tmp_path,
        declaration(
            "TopicLink", "{name: a, virtualCluster: ana}", "{target: {virtualCluster: b, topic: T}}"
        ),
        declaration(
            "TopicLink",
            "{name: b, virtualCluster: ana, labels: {x: y}}",
            "{target: {physicalTopic: p}, deletionPolicy: Protect}",
        ),
    ).of(DesiredLink)
    assert local == DesiredLink(
        address="vc/ana/link/a",
        virtual_cluster="ana",
        name="a",
        target=LocalName("b", "T"),
        deletion_policy=DeletionPolicy.DELETE,
        located=local.located,
    )
    assert physical == DesiredLink(
        address="vc/ana/link/b",
        virtual_cluster="ana",
        name="b",
        topic="p",
        deletion_policy=DeletionPolicy.PROTECT,
        deletion_policy_written=True,
        labels={"x": "y"},
        located=physical.located,
    )


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("{virtualCluster: b, topic: Orders}", "Orders"),
        ("{physicalTopic: sales.Orders}", "sales.Orders"),
        ("{physicalTopic: e58ed763-928c-4155-bee9-fdbaaadc15f3.Orders}", "Orders"),
    ],
)
def test_a_link_has_its_topics_name_unless_it_has_one(
    tmp_path: Path, target: str, name: str
) -> None:
    """VC-025."""
    text = declaration("TopicLink", "{virtualCluster: ana}", f"{{target: {target}}}")
    (link,) = desired(tmp_path, text).of(DesiredLink)
    assert link.local == LocalName("ana", name)


def test_an_acl_may_lie_in_virtual_clusters(tmp_path: Path) -> None:
    """VC-143, VC-144: in one, in those of a prefix, or in all."""
    rest = (
        "principal: User:a\npermission: Allow\noperations: [Read]\n"
        "resource: {type: topic, name: Orders}"
    )
    built = desired(
        tmp_path,
        acl(f"virtualCluster: emea\n{rest}"),
        acl(f"virtualCluster: emea.\nvirtualClusterPatternType: PREFIXED\n{rest}"),
        acl(f'virtualCluster: "*"\n{rest}'),
        acl(rest),
    ).of(DesiredAcl)
    tail = "acl/User:a/Allow/Read/topic/literal/Orders@*"
    assert [
        (one.address, one.binding.virtual_cluster, one.binding.virtual_cluster_pattern_type)
        for one in built
    ] == [
        (tail, "kafka-cluster", PatternType.LITERAL),
        (f"vc/*/{tail}", "*", PatternType.LITERAL),
        (f"vc/emea/{tail}", "emea", PatternType.LITERAL),
        (f"vc/prefixed:emea./{tail}", "emea.", PatternType.PREFIXED),
    ]


@pytest.mark.parametrize("pattern", ["literal", "prefixed"])
@pytest.mark.parametrize(
    ("spelt", "operation"),
    [
        ("CreateVirtualCluster", Operation.CREATE_VIRTUAL_CLUSTER),
        ("CREATE_VIRTUAL_CLUSTER", Operation.CREATE_VIRTUAL_CLUSTER),
        ("AlterVirtualCluster", Operation.ALTER_VIRTUAL_CLUSTER),
        ("ALTER_VIRTUAL_CLUSTER", Operation.ALTER_VIRTUAL_CLUSTER),
        ("DeleteVirtualCluster", Operation.DELETE_VIRTUAL_CLUSTER),
        ("DELETE_VIRTUAL_CLUSTER", Operation.DELETE_VIRTUAL_CLUSTER),
        ("DescribeVirtualCluster", Operation.DESCRIBE_VIRTUAL_CLUSTER),
        ("DESCRIBE_VIRTUAL_CLUSTER", Operation.DESCRIBE_VIRTUAL_CLUSTER),
        ("ListVirtualClusters", Operation.LIST_VIRTUAL_CLUSTERS),
        ("LIST_VIRTUAL_CLUSTERS", Operation.LIST_VIRTUAL_CLUSTERS),
        ("Delete", Operation.DELETE),
        ("Alter", Operation.ALTER),
        ("All", Operation.ALL),
    ],
)
def test_administrators_have_rights_on_the_cluster_resource_of_that_name(
    tmp_path: Path, spelt: str, operation: Operation, pattern: str
) -> None:
    """VC-140, VC-141, VC-160a: without a scope beside it."""
    text = acl(
        f"principal: User:a\npermission: Allow\noperations: [{spelt}]\n"
        f"resource: {{type: cluster, name: emea.sales, patternType: {pattern}}}"
    )
    (built,) = desired(tmp_path, text).of(DesiredAcl)
    assert built.binding.operation is operation
    assert not built.binding.scoped
    tail = f"cluster/{pattern}/emea.sales@*"
    assert built.address == f"acl/User:a/Allow/{operation}/{tail}"


@pytest.mark.parametrize(
    ("entity", "address"),
    [
        ("{virtualCluster: emea}", "quota/virtual-cluster=emea"),
        ("{virtualCluster: {default: true}}", "quota/virtual-cluster=<default>"),
        ('{virtualCluster: "<default>"}', "quota/virtual-cluster=<default>"),
        ("{virtualCluster: emea, user: a}", "vc/emea/quota/user=a"),
        ('{virtualCluster: emea, user: "<default>"}', "vc/emea/quota/user=<default>"),
        (
            "{clientId: {default: true}, user: a, virtualCluster: emea}",
            "vc/emea/quota/user=a,client-id=<default>",
        ),
    ],
)
def test_a_quota_may_be_of_a_virtual_cluster(tmp_path: Path, entity: str, address: str) -> None:
    """VC-208, VC-422."""
    (built,) = desired(tmp_path, quota(entity, "{producer_byte_rate: 1}")).of(DesiredQuota)
    assert built.address == address
    assert built.entity[0][0] == "virtual-cluster"


def test_whatever_is_declared_can_be_buried(tmp_path: Path) -> None:
    """What a plan shows as an address, a Tombstone takes."""
    state = build(load(EXAMPLE / "manifests"))
    addresses = {one.address for one in state.objects}
    stones = desired(
        tmp_path, *(tombstone(f'{{address: "{address}"}}') for address in sorted(addresses))
    )
    assert {stone.address for stone in stones.tombstones} == addresses
    assert len(addresses) == 23


def test_the_example_declares_the_whole_scenario() -> None:
    """Spec 24.2: what stands in Git after the first commit."""
    state = build(load(EXAMPLE / "manifests"))
    assert {one.name for one in state.of(DesiredVirtualCluster)} == {"analytics", "emea.sales"}
    assert {one.address for one in state.of(DesiredTopic)} == {
        "topic/emea.eu.sales.SalesStream",
        "vc/analytics/topic/Reports",
        "vc/emea.sales/topic/Orders",
    }
    assert {one.address for one in state.of(DesiredLink)} == {
        "vc/analytics/link/sales.orders",
        "vc/emea.sales/link/SalesStream",
        "vc/emea.sales/link/emea.eu.sales.SalesStream",
    }
    assert {one.address for one in state.of(DesiredMember)} == {
        "vc/analytics/user/User:ana-reader",
        "vc/emea.sales/group/sales-etl",
        "vc/emea.sales/user/User:sales-app",
    }
    assert {one.address for one in state.of(DesiredQuota)} == {
        "quota/user=sales-app",
        "quota/virtual-cluster=<default>",
        "quota/virtual-cluster=emea.sales",
        "vc/analytics/quota/user=<default>",
        "vc/emea.sales/quota/user=sales-app",
    }
    assert len(state.of(DesiredAcl)) == 7


def test_a_topic_for_other_clusters_counts_as_one_of_its_virtual_cluster(tmp_path: Path) -> None:
    """What it names there must not look as if it were gone, whatever its placeholders hide."""
    texts = (
        declaration(
            "Topic",
            "{name: a, virtualCluster: emea, clusters: [prod]}",
            "{partitions: '${var:unknown}', replicationFactor: 1}",
        ),
        declaration(
            "Topic",
            "{name: b, virtualCluster: '${var:unknown}', clusters: [prod]}",
            "{partitions: 1, replicationFactor: 1}",
        ),
    )
    one = desired(tmp_path / "one", texts[0])
    assert one.scope.whole
    assert one.scope.other_clusters == {"vc/emea/topic/a"}
    assert not desired(tmp_path / "both", *texts).scope.whole
