"""Checks between documents about virtual clusters: names, links and members."""

from collections.abc import Sequence

from kgitops.desired.findings import Declaration, DeclaredObject, Findings, Path
from kgitops.manifests.yaml.document import DocumentPart
from kgitops.model.json.declared import (
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredTopic,
)
from kgitops.model.resources.acls import PatternType, ResourceType
from kgitops.model.resources.names import collision_key
from kgitops.model.resources.virtual_clusters import EntityType, LocalName

_NOUNS = {EntityType.USER: "user", EntityType.CLIENT_ID: "client id"}
_NAMED_IN: dict[EntityType, Path] = {
    EntityType.GROUP: ("metadata", "name"),
    EntityType.USER: ("spec", "user"),
    EntityType.CLIENT_ID: ("spec", "clientId"),
    EntityType.TRANSACTIONAL_ID: ("spec", "transactionalId"),
}


def check_members(objects: Sequence[DeclaredObject], findings: Findings) -> None:
    """Report members that contradict each other; ``objects`` are in the order of their files."""
    bound: dict[tuple[EntityType, str], tuple[DesiredMember, Declaration]] = {}
    adopted: dict[str, tuple[DesiredMember, Declaration]] = {}
    for desired, document in objects:
        if not isinstance(desired, DesiredMember):
            continue
        if desired.entity_type in _NOUNS:
            key = (desired.entity_type, desired.name)
            first, where = bound.setdefault(key, (desired, document))
            if first.virtual_cluster != desired.virtual_cluster:
                findings.error(
                    document,
                    cluster_source(desired),
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


def cluster_source(member: DesiredMember) -> Path:
    """Path of the member's name in a document of its own; an item of a list has no such path."""
    return _NAMED_IN[member.entity_type]


def _field(document: Declaration, name: str) -> Path:
    return (name,) if isinstance(document, DocumentPart) else ("spec", name)


def _check_removed_acls(objects: Sequence[DeclaredObject], findings: Findings) -> None:
    """Report removeOldAclsFrom that would remove a declared ACL (VC-191)."""
    declared: dict[tuple[str, str], Declaration] = {}
    for desired, document in objects:
        if isinstance(desired, DesiredAcl):
            binding = desired.binding
            # ACLs that are never copied are never removed either (VC-196).
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


_Named = DesiredTopic | DesiredLink
_NAME = ("metadata", "name")


def check_links(objects: Sequence[DeclaredObject], findings: Findings) -> None:
    """Report contradictions between names and links, and warn of confusing ones.

    Targets that are declared nowhere are not checked: they may be on the cluster.
    """
    names: dict[LocalName, tuple[_Named, Declaration]] = {}
    global_topics: set[str] = set()
    for desired, document in objects:
        local = _local(desired)
        if isinstance(desired, DesiredTopic) and local is None:
            global_topics.add(desired.name)
        elif local is not None and isinstance(desired, DesiredTopic | DesiredLink):
            first, where = names.setdefault(local, (desired, document))
            if first.address != desired.address:
                findings.error(
                    document,
                    _NAME,
                    f"the name {local} is taken: {first.address} is declared at {where.source}",
                    "give one of the two another name",
                )
    for desired, document in names.values():
        if isinstance(desired, DesiredLink) and desired.target is not None:
            _check_target(desired, desired.target, document, names, findings)
    _warn_of_shadows(names, global_topics, findings)
    _warn_of_collisions(names, findings)
    _warn_of_two_links(names, findings)


def _local(desired: DesiredObject) -> LocalName | None:
    match desired:
        case DesiredTopic(virtual_cluster=str() as scope, name=name):
            return LocalName(scope, name)
        case DesiredLink(local=local):
            return local
        case _:
            return None


def _check_target(
    link: DesiredLink,
    target: LocalName,
    document: Declaration,
    names: dict[LocalName, tuple[_Named, Declaration]],
    findings: Findings,
) -> None:
    """Check that a link leads to a topic (VC-005) that is shared with its cluster (VC-040)."""
    declared = names.get(target)
    scope = link.local.virtual_cluster
    path = ("spec", "target", "topic")
    if declared is None:
        return
    topic, where = declared
    if isinstance(topic, DesiredLink):
        findings.error(
            document,
            path,
            f"{target} is a link itself ({where.source}), and links lead to topics only",
            "name the topic that it leads to",
        )
    elif scope not in (target.virtual_cluster, *topic.share_with):
        findings.error(
            document,
            path,
            f"the topic {target} ({where.source}) is not shared with {scope}",
            f"let its owner add shareWith: [{scope}] to it, or remove the link",
        )


def _warn_of_shadows(
    names: dict[LocalName, tuple[_Named, Declaration]],
    global_topics: set[str],
    findings: Findings,
) -> None:
    for local, (desired, document) in names.items():
        leads_there = isinstance(desired, DesiredLink) and desired.topic == local.name
        if local.name in global_topics and not leads_there:
            findings.warning(
                document,
                _NAME,
                f"{local} has the name of the global topic {local.name}, "
                f"which members of {local.virtual_cluster} can't see",
                "rename it if the two could be taken for each other",
            )


def _warn_of_collisions(
    names: dict[LocalName, tuple[_Named, Declaration]], findings: Findings
) -> None:
    """Warn of names that brokers would refuse next to each other outside of it (VC-044)."""
    seen: dict[LocalName, LocalName] = {}
    for local in names:
        key = LocalName(local.virtual_cluster, collision_key(local.name))
        other = seen.setdefault(key, local)
        if other != local:
            findings.warning(
                names[local][1],
                _NAME,
                f"{local} and {other} ({names[other][1].source}) differ only in '.' and '_', "
                "and would collide outside a virtual cluster",
                "rename one of them",
            )


def _warn_of_two_links(
    names: dict[LocalName, tuple[_Named, Declaration]], findings: Findings
) -> None:
    """Warn of two names for one topic, however each of them names it (VC-039)."""
    seen: dict[tuple[str, LocalName | str], LocalName] = {}
    for local, (desired, document) in names.items():
        leads_to = (desired.target or desired.topic) if isinstance(desired, DesiredLink) else local
        if leads_to is None:
            continue
        other = seen.setdefault((local.virtual_cluster, leads_to), local)
        if other != local:
            findings.warning(
                document,
                _NAME,
                f"{local} and {other} ({names[other][1].source}) lead to one topic, so a consumer "
                "that subscribes by a pattern reads its records twice",
                "remove one of them once nobody uses it",
            )
