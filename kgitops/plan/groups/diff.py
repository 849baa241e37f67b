"""Plans consumer groups of the cluster: their configs, a reset of offsets, their deletion."""

from collections.abc import Mapping

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredGroup
from kgitops.model.requests import (
    AlterConsumerGroupOffsetsRequest,
    DeleteConsumerGroupRequest,
    Request,
)
from kgitops.model.resources.addresses import GLOBAL_GROUP, group_address
from kgitops.model.resources.config_resources import ConfigResourceType, normal_resource_configs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.virtual_clusters import physical_id
from kgitops.model.source import Finding, Source
from kgitops.plan.config_resources.configs import (
    config_drift,
    config_requests,
    expected_configs,
    last_configs,
    removed_configs,
    requested_configs,
)
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Basis, Kind
from kgitops.plan.draft import PlanDraft
from kgitops.plan.groups.resets import committed, planned_reset
from kgitops.plan.normal_form import group_view
from kgitops.plan.ownership import Ownership
from kgitops.plan.removal import Removal, RemovalKind, find_removals, remove

_KIND = ConfigResourceType.GROUP
_IDLE: Mapping[str, str | None] = {"active": "false"}


def plan_groups(desired: DesiredState, current: ClusterState, ownership: Ownership) -> PlanDraft:
    """Plan every difference between the declared groups and the cluster's.

    What a group commits is not compared: a reset is made once, when its declaration changes.
    """
    context = PlanContext(desired=desired, current=current, ownership=ownership)
    local = _local_groups(current) if desired.groups else {}
    for group in desired.groups:
        if context.may_plan(group) and _is_global(context, group, local):
            _plan(context, group, _found(current, group.name))
    declared = frozenset(group.address for group in desired.groups)
    for removal in find_removals((GLOBAL_GROUP,), declared, context):
        _remove(context, removal, _found(current, removal.owner.last_applied["name"]))
    context.keep_others(dict.fromkeys(map(group_address, current.groups)), declared)
    return context.draft


def _found(current: ClusterState, name: str) -> FoundGroup:
    return current.groups.get(name) or FoundGroup(name=name)


def _local_groups(current: ClusterState) -> Mapping[str, str]:
    """Return the virtual cluster of each of their groups, by physical id."""
    return {
        physical_id(name, group): name
        for name, virtual_cluster in current.virtual_clusters.items()
        for group in virtual_cluster.groups
    }


def _is_global(context: PlanContext, group: DesiredGroup, local: Mapping[str, str]) -> bool:
    """Return whether the group is in no virtual cluster; else add a finding."""
    if group.name not in local:
        return True
    context.draft.findings.append(
        Finding(
            source=group.located.source,
            problem=f"{group.address} is a group of the virtual cluster {local[group.name]}",
            advice="declare it by its name there, with metadata.virtualCluster",
        )
    )
    return False


def _plan(context: PlanContext, group: DesiredGroup, found: FoundGroup) -> None:
    address = group.address
    managed = context.ownership.last_applied(address)
    last = last_configs(managed)
    current = normal_resource_configs(_KIND, found.configs)
    if managed and found.exists:
        context.draft.drift += config_drift(address, group.configs, last, current)
    reset = planned_reset(context, group, found, managed)
    if reset is None:
        return
    if reset and found.active:
        context.stop(address, _active(group.located.at("spec", "resetOffsets"), address))
        return
    requested = requested_configs(group.configs, last, current)
    # Offsets first: a group that has members by then is refused as a whole.
    requests: list[Request] = []
    if reset:
        requests.append(AlterConsumerGroupOffsetsRequest(group=group.name, topics=reset))
    requests += config_requests(_KIND, group.name, requested)
    expected = {**expected_configs(requested, current), **committed(reset, found)}
    if not found.exists:
        _create(context, group, requests, expected, was_there=bool(last))
        return
    context.adopt_or_update(
        group,
        Kind.GROUP,
        requests,
        before=group_view(group.name, current),
        expects=context.expect(address, fields={**expected, **(_IDLE if reset else {})}),
    )


def _create(
    context: PlanContext,
    group: DesiredGroup,
    requests: list[Request],
    expected: Mapping[str, str | None],
    *,
    was_there: bool,
) -> None:
    """Plan a group of which there is nothing; one that has configs only is no drift if it ended."""
    owner_after = context.owner_after(group, adopted=False)
    if not requests and context.ownership.owner(group.address) == owner_after:
        return
    context.create(
        group,
        Kind.GROUP,
        requests,
        owner_after=owner_after,
        expects=context.expect(group.address, exists=False, fields=expected),
        missing=was_there,
    )


def _remove(context: PlanContext, removal: Removal, found: FoundGroup) -> None:
    """Delete the group, and the configs that were last applied."""
    current = normal_resource_configs(_KIND, found.configs)
    there = found.known or bool(found.offsets)
    deletes = removal.kind is RemovalKind.DELETE
    if deletes and found.active:
        context.draft.findings.append(_active(removal.source, removal.address))
        return
    requested = removed_configs(removal.owner.last_applied, current) if deletes else {}
    requests: list[Request] = []
    if deletes and there:
        requests.append(DeleteConsumerGroupRequest(group=found.name))
    requests += config_requests(_KIND, found.name, requested)
    expected = expected_configs(requested, current)
    remove(
        context,
        removal,
        Kind.GROUP,
        requests,
        before=group_view(found.name, current) if found.exists else None,
        expected={**expected, **_IDLE} if deletes and there else expected,
        basis=Basis(in_part=there and not requests),
    )


def _active(source: Source | None, address: str) -> Finding:
    return Finding(
        source=source,
        problem=f"{address} has members, and kgitops changes a group only when it has none",
        advice="stop its consumers and plan again",
    )
