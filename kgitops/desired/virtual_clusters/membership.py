"""What must hold between members: each user and client id in one virtual cluster, and so on."""

from collections.abc import Sequence

from kgitops.desired.findings import DeclaredIn, Declaring, Findings, Path
from kgitops.desired.state import DesiredAcl, DesiredMember
from kgitops.manifests.yaml.document import Part
from kgitops.model.resources.acls import PatternType, ResourceType
from kgitops.model.resources.virtual_clusters import EntityType

_NOUNS = {EntityType.USER: "user", EntityType.CLIENT_ID: "client id"}
_NAMED_IN: dict[EntityType, Path] = {
    EntityType.GROUP: ("metadata", "name"),
    EntityType.USER: ("spec", "user"),
    EntityType.CLIENT_ID: ("spec", "clientId"),
    EntityType.TRANSACTIONAL_ID: ("spec", "transactionalId"),
}


def check_members(objects: Sequence[DeclaredIn], findings: Findings) -> None:
    """Report what does not hold; ``objects`` come in the order of their files."""
    bound: dict[tuple[EntityType, str], tuple[DesiredMember, Declaring]] = {}
    adopted: dict[str, tuple[DesiredMember, Declaring]] = {}
    for desired, document in objects:
        if not isinstance(desired, DesiredMember):
            continue
        if desired.entity_type in _NOUNS:
            key = (desired.entity_type, desired.name)
            first, where = bound.setdefault(key, (desired, document))
            if first.virtual_cluster != desired.virtual_cluster:
                findings.error(
                    document,
                    place_of(desired),
                    f"the {_NOUNS[desired.entity_type]} {desired.name} belongs to "
                    f"{first.virtual_cluster} ({where.source}), and to one virtual cluster at most",
                    "remove it from one of the two",
                )
        if desired.adopt is not None:
            first, where = adopted.setdefault(desired.adopt, (desired, document))
            if first.address != desired.address:
                findings.error(
                    document,
                    _field(document, "adopt"),
                    f"the group {desired.adopt} is adopted by {first.address} ({where.source})",
                    "let one of the two adopt it",
                )
    _check_removed_acls(objects, findings)


def place_of(member: DesiredMember) -> Path:
    """Where a document of its own names the member; as an item of a list it stands for itself."""
    return _NAMED_IN[member.entity_type]


def _field(document: Declaring, name: str) -> Path:
    return (name,) if isinstance(document, Part) else ("spec", name)


def _check_removed_acls(objects: Sequence[DeclaredIn], findings: Findings) -> None:
    """What one document declares is not another's to remove (VC-191)."""
    declared: dict[tuple[str, str], Declaring] = {}
    for desired, document in objects:
        if isinstance(desired, DesiredAcl):
            binding = desired.binding
            # What no copy is made of is not removed either (VC-196).
            copied = binding.resource_type is not ResourceType.CLUSTER
            if copied and binding.virtual_cluster_pattern_type is PatternType.LITERAL:
                declared.setdefault((binding.principal, binding.virtual_cluster), document)
    for desired, document in objects:
        if not isinstance(desired, DesiredMember) or desired.remove_old_acls_from is None:
            continue
        source = desired.remove_old_acls_from
        if (where := declared.get((desired.name, source))) is not None:
            findings.error(
                document,
                _field(document, "removeOldAclsFrom"),
                f"the ACLs of {desired.name} in {source} are to be removed, and {where.source} "
                "declares one of them",
                "remove that document, which is enough",
            )
