"""What was last applied reads as what was asked for, so that drift can be planned against it."""

from pathlib import Path

from manifests.loading import acl, build, declaration, load, write
from msgspec.structs import replace

from kgitops.desired.last_applied import desired_from_registry
from kgitops.desired.state import DesiredState, Project, Safety
from kgitops.model.json.declared import DesiredAcl, last_applied
from kgitops.model.registry import Owner, RegistryState

EXAMPLE = Path(__file__).parents[2] / "examples" / "virtual-clusters"
PROJECT = Project(name="test")


def remembered(state: DesiredState, **more: Owner) -> DesiredState:
    """The state as a registry would give it back."""
    owners = {
        one.address: Owner(project="test", last_applied=last_applied(one)) for one in state.objects
    }
    registry = RegistryState(topic_id="t", offset=1, owners={**owners, **more})
    return desired_from_registry(PROJECT, registry, safety=Safety(), principal="User:a")


def test_the_scenario_reads_as_it_was_declared() -> None:
    """VC-095, VC-322: every kind and field but the labels, which the registry does not keep."""
    state = build(load(EXAMPLE / "manifests"))
    asked = tuple(replace(one, labels={}) for one in state.objects)
    assert remembered(state).objects == asked
    assert {type(one).__name__ for one in asked} == {
        "DesiredTopic",
        "DesiredAcl",
        "DesiredQuota",
        "DesiredVirtualCluster",
        "DesiredLink",
        "DesiredMember",
    }


def test_whatever_is_written_is_remembered(tmp_path: Path) -> None:
    """Where the scenario has defaults: nothing is lost that was chosen."""
    lowering = "{capLowering: divide, denyWins: true}"
    texts = [
        declaration(
            "VirtualCluster",
            "{name: v}",
            f"{{members: {{mode: additive, users: [{{principal: u, copyAclsFrom: a, "
            f"removeOldAclsFrom: b, move: true}}]}}, lowering: {lowering}, "
            "deletionPolicy: Orphan}",
        ),
        declaration(
            "ConsumerGroup",
            "{name: g, virtualCluster: v}",
            "{adopt: old, copyOffsets: false, deletionPolicy: Delete}",
        ),
        declaration(
            "VirtualClusterBinding", "{name: x, virtualCluster: v}", "{transactionalId: x}"
        ),
        declaration(
            "VirtualClusterBinding", "{name: y, virtualCluster: v}", "{clientId: y, move: true}"
        ),
        declaration(
            "TopicLink",
            "{name: l, virtualCluster: v}",
            "{target: {physicalTopic: p}, deletionPolicy: Protect}",
        ),
        acl(
            "virtualCluster: v\nvirtualClusterPatternType: prefixed\nprincipal: User:u\n"
            "permission: Deny\noperations: [Read]\nresource: {type: group, name: g}"
        ),
    ]
    write(tmp_path, {f"{index}.yaml": text for index, text in enumerate(texts)})
    state = build(load(tmp_path))
    assert remembered(state).objects == state.objects
    assert len(state.objects) == 7


def test_a_copied_acl_was_not_asked_for(tmp_path: Path) -> None:
    """VC-197: it follows from its member, which was."""
    write(
        tmp_path,
        {
            "a.yaml": acl(
                "virtualCluster: v\nprincipal: User:u\npermission: Allow\noperations: [Read]\n"
                "resource: {type: topic, name: t}"
            )
        },
    )
    state = build(load(tmp_path))
    (declared,) = state.of(DesiredAcl)
    origin = {"copiedFrom": "kafka-cluster", "member": "vc/v/user/User:u"}
    copied = Owner(project="test", last_applied={**last_applied(declared), "origin": origin})
    assert remembered(state).of(DesiredAcl) == state.of(DesiredAcl)
    assert remembered(state, **{declared.address: copied}).of(DesiredAcl) == ()
