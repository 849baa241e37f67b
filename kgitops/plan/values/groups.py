"""Plans consumer groups of the cluster: their configs, a reset of offsets, their deletion.

What a group commits is not compared: a reset is made once, when its declaration changes.
"""

from collections.abc import Mapping
from functools import cached_property

from kgitops.model.json.declared import DesiredGroup, last_applied
from kgitops.model.requests import (
    AlterConsumerGroupOffsetsRequest,
    DeleteConsumerGroupRequest,
    Request,
)
from kgitops.model.resources.addresses import group_address
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.virtual_clusters import physical_id
from kgitops.model.source import Finding, Source
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Basis
from kgitops.plan.engine import ConfigsPlanner, Requested, differing
from kgitops.plan.removal import Removal, RemovalKind, remove
from kgitops.plan.values.resets import committed, planned_reset

_IDLE: Mapping[str, str | None] = {"active": "false"}


class GroupPlanner(ConfigsPlanner[DesiredGroup]):
    """The consumer groups outside of virtual clusters."""

    declares, changed = DesiredGroup, risks.GROUP_CONFIG
    adopted, removed = risks.GROUP_ADOPT, risks.GROUP_CONFIG_REMOVE
    forgotten, created = risks.GROUP_FORGET, (risks.GROUP_CREATE,)

    def fits(self, item: DesiredGroup) -> bool:
        """Return whether the group is in no virtual cluster; else add a finding."""
        if item.name not in self._local:
            return True
        self.context.draft.findings.append(
            Finding(
                source=item.located.source,
                problem=f"{item.address} is a group of the virtual cluster "
                f"{self._local[item.name]}",
                advice="declare it by its name there, with metadata.virtualCluster",
            )
        )
        return False

    def plan_one(self, item: DesiredGroup) -> None:
        """Plan the configs and the reset of a group."""
        context, record, found = self.context, last_applied(item), self._found(item.name)
        managed = context.ownership.last_applied(item.address)
        held, last = self.held(record), self.values(managed)
        if managed and found.exists:
            self.report_drift(item.address, item.configs, last, held)
        reset = planned_reset(context, item, found, managed)
        if reset is None:
            return
        if reset and found.active:
            context.stop(
                item.address, _active(item.located.at("spec", "resetOffsets"), item.address)
            )
            return
        requested = differing(item.configs, last, held)
        # Offsets first: a group that has got members is refused as a whole.
        requests: list[Request] = []
        if reset:
            requests.append(AlterConsumerGroupOffsetsRequest(group=item.name, topics=reset))
        if requested:
            requests += self.requests(record, requested)
        expected = {**self.expected(requested, held), **committed(reset, found)}
        if not found.exists:
            self._create(item, requests, expected, was_there=bool(last))
            return
        context.change(
            item,
            self.declares.kind,
            requests,
            before=self.view(record, held),
            expects=context.expect(item.address, fields={**expected, **(_IDLE if reset else {})}),
        )

    def _create(
        self,
        item: DesiredGroup,
        requests: list[Request],
        expected: Mapping[str, str | None],
        *,
        was_there: bool,
    ) -> None:
        """Plan a group of which there is nothing; one of configs only is no drift if it ended."""
        context = self.context
        owner_after = context.owner_after(item, adopted=False)
        if not requests and context.ownership.owner(item.address) == owner_after:
            return
        context.change(
            item,
            self.declares.kind,
            requests,
            owner_after=owner_after,
            expects=context.expect(item.address, exists=False, fields=expected),
            missing=was_there,
        )

    def remove_one(self, removal: Removal) -> None:
        """Delete the group, and the configs that were last applied."""
        record = removal.owner.last_applied
        found, held = self._found(record["name"]), self.held(record)
        there = found.known or bool(found.offsets)
        deletes = removal.kind is RemovalKind.DELETE
        if deletes and found.active:
            self.context.draft.findings.append(_active(removal.source, removal.address))
            return
        requested: Requested = dict.fromkeys(self.owned(record, held)) if deletes else {}
        requests: list[Request] = []
        if deletes and there:
            requests.append(DeleteConsumerGroupRequest(group=found.name))
        if requested:
            requests += self.requests(record, requested)
        expected = self.expected(requested, held)
        remove(
            self.context,
            removal,
            self.declares.kind,
            requests,
            before=self.view(record, held) if found.exists else None,
            expected={**expected, **_IDLE} if deletes and there else expected,
            basis=Basis(in_part=there and not requests),
        )

    def _found(self, name: str) -> FoundGroup:
        return self.current.find(FoundGroup, group_address(name)) or FoundGroup(name=name)

    @cached_property
    def _local(self) -> Mapping[str, str]:
        """The virtual cluster of each of their groups, by physical id."""
        return {
            physical_id(name, group): name
            for name, virtual_cluster in self.current.virtual_clusters.items()
            for group in virtual_cluster.groups
        }


def _active(source: Source | None, address: str) -> Finding:
    return Finding(
        source=source,
        problem=f"{address} has members, and kgitops changes a group only when it has none",
        advice="stop its consumers and plan again",
    )
