"""Builds virtual clusters from ``kind: VirtualCluster`` documents, and their listed members."""

from collections.abc import Iterator

from kgitops.desired.findings import DeclaredObject, Findings
from kgitops.desired.names import check_name
from kgitops.desired.state import (
    DeletionPolicy,
    DesiredVirtualCluster,
    MembersMode,
)
from kgitops.desired.virtual_clusters.members import (
    MemberDeclaration,
    make_client_id,
    make_group,
    make_transactional_id,
    make_user,
)
from kgitops.manifests.kinds.virtual_cluster import VirtualCluster
from kgitops.manifests.yaml.document import Document, DocumentPart
from kgitops.model.resources.addresses import virtual_cluster_address
from kgitops.model.resources.names import MAX_TOPIC_NAME
from kgitops.model.resources.virtual_clusters import CapLowering, LoweringOptions

_DELETION = {policy.value: policy for policy in DeletionPolicy}
_LONG_NAME = 100


def build_virtual_cluster(
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
        deletion_policy=_DELETION[spec.deletion_policy or "Protect"],
        deletion_policy_written=spec.deletion_policy is not None,
        labels=declared.metadata.labels,
        located=document,
    )


def build_members(
    declared: VirtualCluster, document: Document, findings: Findings
) -> Iterator[DeclaredObject]:
    """Build the members that ``spec.members`` lists; each is located at its item."""
    members = declared.spec.members
    name, labels = declared.metadata.name, declared.metadata.labels

    def listed(field: str, index: int) -> MemberDeclaration:
        item = DocumentPart(document, "spec", "members", field, index)
        return MemberDeclaration(name, labels, item, item)

    for index, user in enumerate(members.users):
        at = listed("users", index)
        yield make_user(at, user.principal, "principal", user, findings), at.located
    for index, client_id in enumerate(members.client_ids):
        at = listed("clientIds", index)
        yield make_client_id(at, client_id, findings), at.located
    for index, group in enumerate(members.groups):
        at = listed("groups", index)
        yield make_group(at, group.name, group, findings), at.located
    for index, transactional_id in enumerate(members.transactional_ids):
        at = listed("transactionalIds", index)
        yield make_transactional_id(at, transactional_id, findings), at.located
