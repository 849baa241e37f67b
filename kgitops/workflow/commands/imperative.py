"""Changes asked for by a command: planned, judged, approved and applied like any plan.

The command owns nothing afterwards. Objects that a project manages are refused: they change by its
manifests.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState, VirtualClusterSupport
from kgitops.model.errors import KgitopsError, SafetyError
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.declared import DesiredObject, Tombstone, last_applied
from kgitops.model.registry import COMMAND_PROJECT, Owner, RegistryState
from kgitops.model.resources.addresses import local_topic_address, split_scoped_address
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.source import Finding, Source
from kgitops.model.verdict import Reason
from kgitops.plan.document import risks
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.planner import make_plan, registry_end
from kgitops.plan.warnings import warn_of_shown_names
from kgitops.virtual_clusters import deciding
from kgitops.virtual_clusters.image import VirtualClustersDelta, build_image
from kgitops.virtual_clusters.refusals import VirtualClusterRefusal
from kgitops.workflow.pipeline import OF_COMMANDS, seal_now
from kgitops.workflow.policies import OpenPolicies
from kgitops.workflow.project.selection import Workspace
from kgitops.workflow.stages import Planning

_LINE = Source("the command line", 1, 1)
_REASON = "it was asked for by a command"


class CommandLine(Struct, frozen=True):
    """The place of an object that a command asks for: there is no file to name."""

    @property
    def source(self) -> Source:
        return _LINE

    def at(self, *path: str | int) -> Source:
        """The command line, for any path."""
        del path
        return _LINE


class ImperativeChange(Struct, frozen=True, kw_only=True):
    """The objects that a command creates or updates, and those that it removes."""

    objects: Sequence[DesiredObject] = ()
    removed: Sequence[DesiredObject] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of all objects."""
        return tuple(item.address for item in (*self.objects, *self.removed))


def plan_command(
    cluster: Cluster,
    current: ClusterState,
    change: ImperativeChange,
    workspace: Workspace,
    policies: OpenPolicies,
) -> SealedPlan:
    """Plan the change on the cluster as it is, judged by policies and brokers.

    Raises:
        SafetyError: a project manages one of the objects.
        KgitopsError: brokers that know virtual clusters would refuse it, or it concerns one on a
            cluster without them.
    """
    if cluster.capabilities.virtual_clusters is VirtualClusterSupport.NONE and any(
        address.startswith("vc/") for address in change.addresses
    ):
        raise KgitopsError(
            "this cluster has no virtual clusters; name another one with -c or --bootstrap-server"
        )
    refuse_managed(change.addresses, current.registry)
    desired = replace(_desired(change, workspace.principal), gateway=workspace.cluster.gateway)
    made = make_plan(
        desired,
        _as_if_applied(current, change.removed),
        target_name=workspace.target_name,
        capabilities=cluster.capabilities,
    )
    plan = _strip_ownership(made, current)
    warnings = warn_of_shown_names({change.address for change in plan.changes})
    plan = replace(plan, warnings=(*plan.warnings, *warnings))
    refuse_managed((change.address for change in plan.changes), current.registry)
    _check_decidable(plan, current)
    at = Planning(cluster=cluster, desired=desired, current=current, policies=policies)
    for stage in OF_COMMANDS:
        plan = stage(plan, at)
    return seal_now(plan, current)


def as_command(workspace: Workspace) -> Workspace:
    """The workspace as the project of commands, in whose name a run makes nobody an owner."""
    return replace(workspace, project=Project(name=COMMAND_PROJECT))


def refuse_managed(addresses: Iterable[str], registry: RegistryState | None) -> None:
    """Refuse objects that a project manages.

    Raises:
        SafetyError: a project manages one of them.
    """
    for address in addresses:
        for name in _same(address):
            owner = registry.owners.get(name) if registry else None
            if registry is None or owner is None or owner.spent:
                continue
            label = registry.projects.get(owner.project, owner.project)
            raise SafetyError(
                f"{address} is managed by the project {label!r}; change its manifests and apply "
                "them there"
            )


def _same(address: str) -> tuple[str, ...]:
    """The address, and for a link that of the topic declared under its name."""
    at = split_scoped_address(address)
    if at is None or at.segment != "link":
        return (address,)
    return address, f"{local_topic_address(LocalName(at.virtual_cluster, ''))}{at.tail}"


def _check_decidable(plan: Plan, current: ClusterState) -> None:
    """Decide like brokers that know virtual clusters, also where there are none."""
    delta = VirtualClustersDelta(build_image(current.virtual_clusters.values()))

    def topic_id(name: str) -> str | None:
        topic = current.topics.get(name)
        return topic.topic_id if topic else None

    for planned in plan.requests:
        try:
            match planned.request:
                case req.CreateVirtualClusterRequest() as request:
                    records = list(deciding.create(delta, request))
                case req.AlterVirtualClusterRequest() as request:
                    records = list(deciding.alter(delta, request, topic_id))
                case req.DeleteVirtualClusterRequest() as request:
                    records = list(deciding.delete(delta, request))
                case _:
                    continue
        except VirtualClusterRefusal as refusal:
            raise KgitopsError(
                f"{planned.expects.object}: {refusal}; kgitops vc describe shows what there is"
            ) from None
        for record in records:
            delta.replay(record)


def _desired(change: ImperativeChange, principal: str) -> DesiredState:
    return DesiredState(
        project=Project(name=COMMAND_PROJECT),
        scope=ManagedScope(whole=False),
        # Limits guard against mistakes: here every object that goes is named.
        safety=Safety(max_deletes=len(change.removed), max_delete_percent=100),
        principal=principal,
        tombstones=tuple(
            Tombstone(name="command", address=it.address, reason=_REASON, located=CommandLine())
            for it in change.removed
        ),
        digest=sha256(canonical_json(sorted(change.addresses))),
    ).with_objects(change.objects)


def _as_if_applied(current: ClusterState, removed: Sequence[DesiredObject]) -> ClusterState:
    """The cluster with the objects to remove as ours: the planner removes no unmanaged ones."""
    if not removed:
        return current
    registry = current.registry or RegistryState(topic_id="", offset=0)
    owners = {
        item.address: Owner(project=COMMAND_PROJECT, last_applied=last_applied(item))
        for item in removed
    }
    return replace(current, registry=replace(registry, owners={**registry.owners, **owners}))


def _strip_ownership(plan: Plan, current: ClusterState) -> Plan:
    """The plan without owners: its objects stay unmanaged, and nothing is adopted."""
    return replace(
        plan,
        base=replace(plan.base, registry=registry_end(current)),
        changes=tuple(_unowned(change) for change in plan.changes if change.requests),
        drift=(),
        kept=(),
        managed_counts={},
        findings=tuple(_without_place(finding) for finding in plan.findings),
        warnings=tuple(_without_place(finding) for finding in plan.warnings),
        refusals=tuple(
            Reason(exit=it.exit, sentence=it.sentence.removeprefix(f"{_LINE}: "))
            for it in plan.refusals
        ),
    )


def _unowned(change: Change) -> Change:
    actions = tuple(action for action in change.actions if action is not Action.ADOPT)
    # A command takes a group out of a virtual cluster; what it has committed stays (VC-119).
    kept = [it for it in change.requests if not isinstance(it.request, req.DeleteGroupRequest)]
    dropped = {it.id for it in change.requests} - {it.id for it in kept}
    requests = tuple(
        replace(
            it,
            expects=replace(it.expects, owner=None),
            depends_on=tuple(name for name in it.depends_on if name not in dropped),
        )
        for it in kept
    )
    return replace(
        change,
        source=None,
        actions=actions or (Action.UPDATE,),
        because=_REASON,
        fields=tuple(it for it in change.fields if not it.path.startswith("lastApplied.")),
        preconditions=tuple(replace(it, owner=None) for it in change.preconditions),
        requests=requests,
        risks=change.risks if len(requests) == len(change.requests) else (risks.GROUP_REMOVE,),
        owner_before=None,
        owner_after=None,
    )


def _without_place(finding: Finding) -> Finding:
    return replace(finding, source=None) if finding.source == _LINE else finding
