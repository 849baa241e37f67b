"""``kind: VirtualCluster``, with members: created first, deleted last and only when empty."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Annotated, Literal

from kgitops.desired.findings import Findings, Path, check_name, counted
from kgitops.kinds.base import NO_VALUES, Requested, Steps, Values, ValuesKind, differing
from kgitops.kinds.exports import Exporting, Item
from kgitops.kinds.virtual_clusters.exported import export_virtual_clusters
from kgitops.kinds.virtual_clusters.members import (
    MemberDeclaration,
    make_client_id,
    make_group,
    make_transactional_id,
    make_user,
)
from kgitops.manifests.expanded import part_of
from kgitops.manifests.kinds.fields import Flag, NotNull, Shorthand, Text, manifest
from kgitops.manifests.kinds.parts import Metadata
from kgitops.manifests.yaml.document import Document
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import (
    DeletionPolicy,
    DesiredMember,
    DesiredVirtualCluster,
    MembersMode,
    Record,
    read_part,
)
from kgitops.model.registry import Json
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CreateVirtualClusterRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.resources import virtual_clusters as found
from kgitops.model.resources.addresses import virtual_cluster_address
from kgitops.model.resources.names import MAX_TOPIC_NAME
from kgitops.model.resources.virtual_clusters import CapLowering, LoweringOptions, physical_id
from kgitops.model.source import Finding, Severity
from kgitops.model.values import overlaid
from kgitops.plan.context import PlanContext
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change
from kgitops.plan.document.risks import Risk
from kgitops.plan.normal_form import option_texts, options_of, virtual_cluster_view
from kgitops.plan.phases import Phase
from kgitops.plan.removal import Removal, RemovalKind, remove_whole
from kgitops.plan.shown_values import (
    ContradictionError,
    Shown,
    Surroundings,
    altered,
    created,
    is_adopted,
    releases_ownership,
    removed_whole,
    requests_of,
)

_SHOWN = 5


_LONG_NAME = 100


@manifest
class UserMember:
    """A user of a virtual cluster; may be written as the name alone."""

    principal: Text
    """The principal; a bare name gets "User:"."""
    copy_acls_from: Annotated[Text | None, NotNull()] = None
    """The virtual cluster whose ACLs are copied for the user, or kafka-cluster for global ones."""
    remove_old_acls_from: Text | None = None
    """The virtual cluster, or kafka-cluster, to remove the user's copied ACLs from, in a commit
    after the one that copies them."""
    move: Flag = False
    """True lets the user be taken out of another virtual cluster."""


@manifest
class GroupMember:
    """A consumer group of a virtual cluster; may be written as the name alone."""

    name: Text
    """The name of the group in the virtual cluster."""
    adopt: Annotated[Text | None, NotNull()] = None
    """The existing global group that it replaces."""
    copy_offsets: Annotated[Flag | None, NotNull()] = None
    """True (the default) copies the committed offsets of the adopted group."""


User = Annotated[UserMember, Shorthand("principal")]
Group = Annotated[GroupMember, Shorthand("name")]


@manifest
class Members:
    """The members of a virtual cluster; each may be a document of its own instead."""

    mode: Literal["authoritative", "additive"] = "authoritative"
    """The treatment of members that are not declared: authoritative reports them as drift, additive
    ignores them."""
    users: list[User] = field(default_factory=list)
    """The users: names, or mappings with more fields."""
    client_ids: list[Text] = field(default_factory=list)
    """The client ids."""
    groups: list[Group] = field(default_factory=list)
    """The consumer groups: names, or mappings with more fields."""
    transactional_ids: list[Text] = field(default_factory=list)
    """The transactional ids."""


@manifest
class Lowering:
    """The way to express the virtual cluster on a Kafka that has none."""

    cap_lowering: Literal["clamp", "divide", "none"] = "clamp"
    """The use of a cap: clamp every quota to it, divide it among the users, or none."""
    deny_wins: Flag = False
    """True accepts that a Deny on one link also affects other links to the same topic."""


@manifest
class VirtualClusterSpec:
    """A virtual cluster."""

    members: Members = field(default_factory=Members)
    """The members."""
    lowering: Lowering = field(default_factory=Lowering)
    """The way to express the virtual cluster on a Kafka that has none."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Protect (the default) refuses the plan, Delete deletes
    the virtual cluster, which must be empty by then, Orphan leaves it on the cluster and forgets
    it."""


@manifest
class VirtualCluster:
    """A virtual cluster: a name space for topics, groups and transactional ids of its members.

    Example:
        apiVersion: kgitops/v1
        kind: VirtualCluster
        metadata:
          name: emea.sales
          labels: {team: sales}
        spec:
          members:
            users:
              - {principal: User:sales-app, copyAclsFrom: kafka-cluster}
              - sales-web
            clientIds: [sales-batch]
            groups:
              - {name: sales-etl, adopt: sales-etl}
            transactionalIds: [sales-tx-1]
          lowering: {capLowering: clamp}
          deletionPolicy: Protect
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["VirtualCluster"]
    """The kind of the document."""
    metadata: Metadata
    """The metadata of the document."""
    spec: VirtualClusterSpec
    """The virtual cluster."""


class VirtualClusterKind(ValuesKind[DesiredVirtualCluster]):
    """The virtual clusters themselves: their values are the options of lowering."""

    declares, field, files = DesiredVirtualCluster, "lowering", "virtual-clusters"
    phases = Phase.VIRTUAL_CLUSTER, Phase.VIRTUAL_CLUSTER_DELETE
    adopted, removed = risks.VIRTUAL_CLUSTER_ADOPT, risks.VIRTUAL_CLUSTER_DELETE
    forgotten, created = risks.VIRTUAL_CLUSTER_FORGET, (risks.VIRTUAL_CLUSTER_CREATE,)

    @classmethod
    def build(
        cls, declared: VirtualCluster, document: Document, findings: Findings
    ) -> Iterator[DesiredVirtualCluster | DesiredMember]:
        """Return the virtual cluster, and the members that its document lists."""
        yield _build(declared, document, findings)
        yield from _build_members(declared, document, findings)

    def existing(self) -> Iterable[str]:
        """Return the addresses of all virtual clusters."""
        return map(virtual_cluster_address, sorted(self.current.virtual_clusters))

    @classmethod
    def values(cls, record: Record) -> Values:
        """Return the options."""
        options = record.get(cls.field)
        return option_texts(read_part(LoweringOptions, options)) if options else NO_VALUES

    @classmethod
    def path(cls, key: str) -> str:
        """Return the path of an option, which is its key."""
        return key

    def held(self, record: Record) -> Values:
        """Return the options of the virtual cluster."""
        existing = self.current.virtual_clusters.get(record["name"])
        return option_texts(existing.options) if existing else NO_VALUES

    @classmethod
    def view(cls, record: Record, values: Values) -> dict[str, Json]:
        """Return the virtual cluster with its options."""
        return virtual_cluster_view(record["name"], options_of(values))

    def expected_keys(self, record: Record, requested: Requested, held: Values) -> Iterable[str]:
        """Return the options that change; one that is created has none yet."""
        del record
        return requested if held else ()

    def requests(self, record: Record, requested: Requested) -> Sequence[Request]:
        """Return the creation, or the change of all options."""
        del requested
        name, options = record["name"], read_part(LoweringOptions, record[self.field])
        if name not in self.current.virtual_clusters:
            return [CreateVirtualClusterRequest(virtual_cluster=name, options=options)]
        return [AlterVirtualClusterRequest(virtual_cluster=name, options=options)]

    def remove_one(self, removal: Removal) -> None:
        """Delete it, which only an empty one can be."""
        record = removal.owner.last_applied
        name = record["name"]
        existing = self.current.virtual_clusters.get(name)
        if existing is not None and removal.kind is RemovalKind.DELETE:
            _warn_of_lost_offsets(self.context, removal, existing)
        remove_whole(
            self.context,
            removal,
            self.declares.kind,
            DeleteVirtualClusterRequest(virtual_cluster=name),
            before=self.view(record, self.held(record)) if existing else None,
        )

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown of a change of a virtual cluster itself."""
        del around
        before = change.before
        if releases_ownership(change):
            return removed_whole(change, cls.removed, cls.forgotten)
        (request,) = requests_of(change) or (None,)
        if before is None:
            if not isinstance(request, CreateVirtualClusterRequest):
                raise ContradictionError("is not created by its request")
            return created(
                change,
                after=virtual_cluster_view(request.virtual_cluster, request.options),
                risky=cls.created,
            )
        held = cls.held_before(change)
        requested: Requested = {}
        if isinstance(request, AlterVirtualClusterRequest) and request.options is not None:
            requested = differing(option_texts(request.options), NO_VALUES, held)
        elif request is not None:
            raise ContradictionError("has a request for something else")
        return altered(
            change,
            after=cls.view(before, overlaid(held, requested)),
            fields=cls.changed_fields(change, requested),
            adoption=cls.adopted if is_adopted(change) else None,
        )

    @classmethod
    def risk(cls, key: str, before: str | None, after: str | None) -> Risk:
        """Return the risk of another option."""
        del key, before, after
        return risks.LOWERING_OPTIONS

    @classmethod
    def written_at(cls, item: DesiredVirtualCluster, steps: Steps) -> Iterable[Path]:
        """Return the place of the value; the mode is that of the members."""
        if steps == ("mode",):
            return [("spec", "members", "mode")]
        return super().written_at(item, steps)

    @classmethod
    def audited(cls, current: ClusterState) -> Iterable[Request]:
        """Return a request for each virtual cluster, by name; members have their own."""
        for name, cluster in sorted(current.virtual_clusters.items()):
            yield CreateVirtualClusterRequest(virtual_cluster=name, options=cluster.options)

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return every virtual cluster that the project may declare, with its members."""
        return export_virtual_clusters(of)


def _warn_of_lost_offsets(
    context: PlanContext, removal: Removal, virtual_cluster: found.VirtualCluster
) -> None:
    """Warn of offsets that a renamed virtual cluster would not have (VC-009).

    A group's id on the cluster begins with the name of the virtual cluster.
    """
    copied = {member.adopt for member in context.desired.of(DesiredMember) if member.copy_offsets}
    groups = sorted(
        {physical_id(virtual_cluster.name, group) for group in virtual_cluster.groups} - copied
    )
    if not groups:
        return
    more = f" and {len(groups) - _SHOWN} more" if len(groups) > _SHOWN else ""
    context.draft.warnings.append(
        Finding(
            source=removal.source,
            problem=f"{removal.address} is deleted, and a virtual cluster of another name begins "
            f"without the offsets of {counted(len(groups), 'group')}: "
            f"{', '.join(groups[:_SHOWN])}{more}",
            advice="keep the name; or declare the groups in the new one, each with adopt and the "
            "name that is shown here",
            severity=Severity.WARNING,
        )
    )


def _build(
    declared: VirtualCluster, document: Document, findings: Findings
) -> DesiredVirtualCluster:
    """Build the virtual cluster without its members."""
    name, spec = declared.metadata.name, declared.spec
    path = ("metadata", "name")
    check_name(name, document, path, findings)
    if _LONG_NAME < len(name) <= MAX_TOPIC_NAME:
        findings.warning(
            document,
            path,
            f"the name has {len(name)} characters, and precedes each of its group ids and "
            "transactional ids",
            f"choose one of up to {_LONG_NAME}: it can't be changed later",
        )
    return DesiredVirtualCluster(
        address=virtual_cluster_address(name),
        name=name,
        mode=MembersMode(spec.members.mode),
        options=LoweringOptions(
            cap_lowering=CapLowering(spec.lowering.cap_lowering),
            deny_wins=spec.lowering.deny_wins,
        ),
        deletion_policy=DeletionPolicy(spec.deletion_policy or "Protect"),
        deletion_policy_written=spec.deletion_policy is not None,
        labels=declared.metadata.labels,
        located=document,
    )


def _build_members(
    declared: VirtualCluster, document: Document, findings: Findings
) -> Iterator[DesiredMember]:
    """Build the members that ``spec.members`` lists; each is located at its item."""
    members = declared.spec.members
    name, labels = declared.metadata.name, declared.metadata.labels

    def listed(field: str, index: int) -> MemberDeclaration:
        item = part_of(document, "spec", "members", field, index)
        return MemberDeclaration(name, labels, item, item)

    for index, user in enumerate(members.users):
        at = listed("users", index)
        yield make_user(at, user.principal, "principal", user, findings)
    for index, client_id in enumerate(members.client_ids):
        at = listed("clientIds", index)
        yield make_client_id(at, client_id, findings)
    for index, group in enumerate(members.groups):
        at = listed("groups", index)
        yield make_group(at, group.name, group, findings)
    for index, transactional_id in enumerate(members.transactional_ids):
        at = listed("transactionalIds", index)
        yield make_transactional_id(at, transactional_id, findings)
