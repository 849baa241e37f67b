"""Builds the members of virtual clusters from documents of their own and from lists."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from kgitops.desired.findings import Declaration, Findings, check_name
from kgitops.desired.matching.clients import principal_mismatch
from kgitops.manifests.yaml.document import Document, DocumentPart
from kgitops.manifests.yaml.text import shown
from kgitops.model.json.declared import DeletionPolicy, DesiredMember
from kgitops.model.resources.acls import CLUSTER_NAME, EVERYONE
from kgitops.model.resources.addresses import member_address
from kgitops.model.resources.names import is_principal, text_problem
from kgitops.model.resources.virtual_clusters import EntityType, as_principal, physical_id

if TYPE_CHECKING:
    from kgitops.kinds.consumer_group import ConsumerGroup, ConsumerGroupSpec
    from kgitops.kinds.virtual_clusters.binding import BindingSpec
    from kgitops.kinds.virtual_clusters.virtual_cluster import GroupMember, UserMember

_NOBODY_IN_PARTICULAR = ("User:ANONYMOUS", EVERYONE)


class MemberDeclaration(Struct, frozen=True):
    """The declaration of a member; its fields are under ``fields``, or in the item of a list."""

    virtual_cluster: str
    labels: Mapping[str, str]
    located: Declaration
    fields: Declaration
    deletion_policy: str | None = None


def build_local_group(
    group: "ConsumerGroup", virtual_cluster: str, document: Document, findings: Findings
) -> DesiredMember:
    """Build the group that a document declares in a virtual cluster."""
    for name, written in (
        ("configs", bool(group.spec.configs)),
        ("resetOffsets", group.spec.reset_offsets is not None),
    ):
        if written:
            findings.error(
                document,
                ("spec", name),
                f"a group of a virtual cluster can't have {name}",
                "remove it, or metadata.virtualCluster",
                key=True,
            )
    declared = MemberDeclaration(
        virtual_cluster,
        group.metadata.labels,
        document,
        DocumentPart(document, "spec"),
        group.spec.deletion_policy,
    )
    return make_group(declared, group.metadata.name, group.spec, findings)


def make_user(
    declared: MemberDeclaration,
    user: str,
    field: str,
    written: "UserMember | BindingSpec",
    findings: Findings,
) -> DesiredMember:
    """Build a user that is named in ``field`` of the declaration."""
    principal = as_principal(user)
    if principal in _NOBODY_IN_PARTICULAR:
        problem = f"{principal} is a wildcard principal and can't be a member of a virtual cluster"
        findings.error(declared.fields, (field,), problem, "name users who log in")
    elif not is_principal(principal):
        problem = f"{shown(user)} is not a principal"
        findings.error(
            declared.fields, (field,), problem, "write it as Type:name, such as User:billing"
        )
    elif mismatch := principal_mismatch(principal):
        findings.warning(declared.fields, (field,), mismatch.problem, mismatch.advice)
    for name, source in (
        ("copyAclsFrom", written.copy_acls_from),
        ("removeOldAclsFrom", written.remove_old_acls_from),
    ):
        if source == declared.virtual_cluster:
            problem = f"{name} names the virtual cluster that the user belongs to"
            findings.error(
                declared.fields, (name,), problem, "name where the user comes from, or remove it"
            )
        elif source not in (None, CLUSTER_NAME):
            check_name(source, declared.fields, (name,), findings)
    return _member(
        declared,
        EntityType.USER,
        principal,
        findings,
        copy_acls_from=written.copy_acls_from,
        remove_old_acls_from=written.remove_old_acls_from,
        move=written.move,
    )


def make_client_id(
    declared: MemberDeclaration, name: str, findings: Findings, *, move: bool = False
) -> DesiredMember:
    """Build a client id."""
    return _member(declared, EntityType.CLIENT_ID, name, findings, move=move)


def make_group(
    declared: MemberDeclaration,
    name: str,
    written: "GroupMember | ConsumerGroupSpec",
    findings: Findings,
) -> DesiredMember:
    """Build a consumer group; by default its removal keeps its offsets (VC-119)."""
    if written.copy_offsets is not None and written.adopt is None:
        findings.error(
            declared.fields,
            ("copyOffsets",),
            "copyOffsets needs adopt, which says whose offsets",
            "add adopt, or remove copyOffsets",
            key=True,
        )
    if written.adopt == physical_id(declared.virtual_cluster, name):
        problem = f"{written.adopt} is this group itself, by its name on the cluster"
        findings.error(
            declared.fields, ("adopt",), problem, "name the group that it takes over, or remove it"
        )
    return _member(
        declared,
        EntityType.GROUP,
        name,
        findings,
        adopt=written.adopt,
        copy_offsets=written.copy_offsets is not False,
    )


def make_transactional_id(
    declared: MemberDeclaration, name: str, findings: Findings
) -> DesiredMember:
    """Build a transactional id."""
    return _member(declared, EntityType.TRANSACTIONAL_ID, name, findings)


def _member(
    declared: MemberDeclaration,
    entity_type: EntityType,
    name: str,
    findings: Findings,
    *,
    copy_acls_from: str | None = None,
    remove_old_acls_from: str | None = None,
    move: bool = False,
    adopt: str | None = None,
    copy_offsets: bool = True,
) -> DesiredMember:
    default = DeletionPolicy.ORPHAN if entity_type is EntityType.GROUP else DeletionPolicy.DELETE
    written = declared.deletion_policy
    # On the cluster the name of a group begins with that of the virtual cluster.
    if problem := text_problem(physical_id(declared.virtual_cluster, name)):
        what = f"the name of this member of {declared.virtual_cluster}, with that before it,"
        findings.error(declared.fields, (), f"{what} {problem}", "shorten it")
    return DesiredMember(
        address=member_address(declared.virtual_cluster, entity_type, name),
        virtual_cluster=declared.virtual_cluster,
        entity_type=entity_type,
        name=name,
        copy_acls_from=copy_acls_from,
        remove_old_acls_from=remove_old_acls_from,
        move=move,
        adopt=adopt,
        copy_offsets=copy_offsets,
        deletion_policy=default if written is None else DeletionPolicy(written),
        deletion_policy_written=written is not None,
        labels=declared.labels,
        located=declared.located,
    )
