"""``kind: VirtualCluster`` → the virtual cluster, and its members as objects of their own."""

from collections.abc import Iterator

from kgitops.desired.findings import Findings
from kgitops.desired.members import (
    Declared,
    make_client_id,
    make_group,
    make_transactional_id,
    make_user,
)
from kgitops.desired.scopes import check_name
from kgitops.desired.state import (
    DeletionPolicy,
    DesiredMember,
    DesiredVirtualCluster,
    MembersMode,
)
from kgitops.manifests.document import Document, Part
from kgitops.manifests.virtual_cluster import VirtualCluster
from kgitops.model.addresses import virtual_cluster_address
from kgitops.model.virtual_clusters import CapLowering, LoweringOptions

_DELETION = {policy.value: policy for policy in DeletionPolicy}
_LONG_NAME = 100


def build_virtual_cluster(
    declared: VirtualCluster, document: Document, findings: Findings
) -> DesiredVirtualCluster:
    """The virtual cluster without its members."""
    name, spec = declared.metadata.name, declared.spec
    path = ("metadata", "name")
    check_name(name, document, path, findings)
    if len(name) > _LONG_NAME:
        findings.warning(
            document,
            path,
            f"the name has {len(name)} characters, and stands before each of its group ids and "
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
) -> Iterator[tuple[DesiredMember, Part]]:
    """What ``spec.members`` lists; each is declared where it is listed, with the same labels."""
    members = declared.spec.members
    name, labels = declared.metadata.name, declared.metadata.labels

    def parts(field: str, count: int) -> Iterator[tuple[Part, Declared]]:
        for index in range(count):
            part = Part(document, "spec", "members", field, index)
            yield part, Declared(name, labels, part, part)

    users = parts("users", len(members.users))
    for user, (part, at) in zip(members.users, users, strict=True):
        yield make_user(at, user.principal, "principal", user, findings), part
    client_ids = parts("clientIds", len(members.client_ids))
    for client_id, (part, at) in zip(members.client_ids, client_ids, strict=True):
        yield make_client_id(at, client_id), part
    groups = parts("groups", len(members.groups))
    for group, (part, at) in zip(members.groups, groups, strict=True):
        yield make_group(at, group.name, group, findings), part
    transactional_ids = parts("transactionalIds", len(members.transactional_ids))
    for transactional_id, (part, at) in zip(
        members.transactional_ids, transactional_ids, strict=True
    ):
        yield make_transactional_id(at, transactional_id), part
