"""Checks between documents: duplicates, name collisions, and Tombstones of declared objects."""

from collections.abc import Iterable, Sequence
from typing import TypeGuard, assert_never

from kgitops.desired.findings import Declaration, DeclaredObject, Findings, Path
from kgitops.desired.virtual_clusters import (
    check_links,
    check_members,
    cluster_source,
    warn_of_ineffective,
    warn_of_other_clusters,
)
from kgitops.manifests.yaml.document import Document, shown
from kgitops.model.json.declared import (
    DesiredAcl,
    DesiredConfigs,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredUser,
    DesiredVirtualCluster,
    Tombstone,
)
from kgitops.model.resources.addresses import split_scoped_address, virtual_cluster_address
from kgitops.model.resources.names import collision_key

DeclaredTombstone = tuple[Tombstone, Document]


def check_references(
    objects: Sequence[DeclaredObject], tombstones: Sequence[DeclaredTombstone], findings: Findings
) -> None:
    """Report documents that contradict each other; ``objects`` are in the order of their files."""
    declared: dict[str, Declaration] = {}
    metric_names: dict[str, tuple[str, Declaration]] = {}
    for desired, document in objects:
        first = declared.setdefault(desired.address, document)
        if first is not document:
            _report_twice(desired, document, first, findings)
        elif _may_collide(desired):
            key = collision_key(desired.name)
            other, where = metric_names.setdefault(key, (desired.name, document))
            if other != desired.name:
                _report_collision(desired.name, document, other, where, findings)
    _check_repeated_bindings(objects, findings)
    _check_tombstones(declared, tombstones, findings)
    check_links(objects, findings)
    check_members(objects, findings)
    warn_of_ineffective(objects, findings)
    warn_of_other_clusters(objects, findings)


def _may_collide(desired: DesiredObject) -> TypeGuard[DesiredTopic]:
    """Return whether the name could collide; one in a virtual cluster has a UUID in it (VC-044)."""
    if not isinstance(desired, DesiredTopic) or desired.virtual_cluster is not None:
        return False
    return "." in desired.name or "_" in desired.name


def _report_twice(
    desired: DesiredObject, document: Declaration, first: Declaration, findings: Findings
) -> None:
    findings.error(
        document,
        _place_of_name(desired),
        f"{desired.address} is declared already at {first.source}",
        "keep one of the two documents, or take this object out of one of them",
    )


def _report_collision(
    name: str, document: Declaration, other: str, where: Declaration, findings: Findings
) -> None:
    findings.error(
        document,
        ("metadata", "name"),
        f"the topics {shown(name)} and {shown(other)} ({where.source}) collide: "
        "'.' and '_' are the same in Kafka's metric names",
        "rename one of them",
    )


def _check_repeated_bindings(objects: Sequence[DeclaredObject], findings: Findings) -> None:
    """Report documents that list a principal or an operation twice."""
    seen: set[tuple[str, Declaration]] = set()
    reported: set[Declaration] = set()
    for desired, document in objects:
        if not isinstance(desired, DesiredAcl):
            continue
        binding = (desired.address, document)
        if binding in seen and document not in reported:
            reported.add(document)
            findings.error(
                document,
                ("spec",),
                f"the document declares {desired.address} twice",
                "list each principal and operation once",
            )
        seen.add(binding)


def _check_tombstones(
    declared: dict[str, Declaration], tombstones: Sequence[DeclaredTombstone], findings: Findings
) -> None:
    tombstones_by_address: dict[str, Document] = {}
    within = _first_within(declared) if tombstones else {}
    for tombstone, document in tombstones:
        first = tombstones_by_address.setdefault(tombstone.address, document)
        if first is not document:
            findings.error(
                document,
                ("spec", "target"),
                f"{tombstone.address} has a Tombstone already at {first.source}",
                "keep one of the two",
            )
        elif tombstone.address in declared:
            findings.error(
                document,
                ("spec", "target"),
                f"{tombstone.address} has a Tombstone and is declared at "
                f"{declared[tombstone.address].source}",
                "remove one of the two documents",
            )
        elif tombstone.address in within:
            inner = within[tombstone.address]
            findings.error(
                document,
                ("spec", "target"),
                f"{tombstone.address} has a Tombstone, and {inner}, which is in it, is declared "
                f"at {declared[inner].source}",
                "remove that document too, and all others of the virtual cluster",
            )


def _first_within(declared: Iterable[str]) -> dict[str, str]:
    """Return the first declared object inside each virtual cluster, by that one's address."""
    first: dict[str, str] = {}
    for address in declared:
        scope = split_scoped_address(address)
        if scope is not None and not scope.prefixed:
            first.setdefault(virtual_cluster_address(scope.virtual_cluster), address)
    return first


def _place_of_name(desired: DesiredObject) -> Path:
    match desired:
        case (
            DesiredTopic()
            | DesiredUser()
            | DesiredVirtualCluster()
            | DesiredLink()
            | DesiredConfigs()
        ):
            return ("metadata", "name")
        case DesiredAcl():
            return ("spec", "resource")
        case DesiredQuota():
            return ("spec", "entity")
        case DesiredMember():
            return cluster_source(desired)
        case other:
            assert_never(other)
