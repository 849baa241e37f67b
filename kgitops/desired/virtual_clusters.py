"""Checks between documents about virtual clusters, and warnings of what has no effect there."""

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct, field

from kgitops.desired.findings import Declaration, DeclaredObject, Findings, Path
from kgitops.manifests.yaml.document import DocumentPart, shown
from kgitops.model.json.declared import (
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredQuota,
    DesiredTopic,
    DesiredVirtualCluster,
    MembersMode,
)
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    EVERYONE,
    VIRTUAL_CLUSTER_OPERATIONS,
    PatternType,
    ResourceType,
)
from kgitops.model.resources.names import collision_key
from kgitops.model.resources.quotas import CLIENT_ID, USER, VIRTUAL_CLUSTER
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    virtual_cluster_name_problem,
)

_NOUNS = {EntityType.USER: "user", EntityType.CLIENT_ID: "client id"}


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
                    desired.named_at,
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
        local = desired.local
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


class _Members(Struct):
    """The declared members; ``home`` is the virtual cluster of each user.

    ``complete`` are the virtual clusters that list all of their users.
    """

    home: dict[str, str] = field(default_factory=dict)
    with_users: set[str] = field(default_factory=set)
    client_ids: dict[str, tuple[DesiredMember, Declaration]] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    complete: set[str] = field(default_factory=set)


def warn_of_ineffective(objects: Sequence[DeclaredObject], findings: Findings) -> None:
    """Warn of ACLs and quotas that apply to no one, and of client ids that prove nothing."""
    members = _members(objects)
    if not (members.declared or members.home or members.client_ids):
        return
    pairs: dict[str, set[str]] = defaultdict(set)
    reported: set[tuple[Declaration, str]] = set()
    for desired, document in objects:
        match desired:
            case DesiredAcl(binding=binding) if binding.scoped:
                literal = binding.virtual_cluster_pattern_type is PatternType.LITERAL
                whom, scope = binding.principal, binding.virtual_cluster
                if literal and scope != "*" and (document, whom) not in reported:
                    reported.add((document, whom))
                    path: Path = ("spec", "virtualCluster")
                    _check_reach(whom, scope, "ACLs", document, path, members, findings)
            case DesiredQuota(entity=entity):
                parts = dict(entity)
                user, client_id = parts.get(USER), parts.get(CLIENT_ID)
                if user is not None and client_id is not None:
                    pairs[client_id].add(f"User:{user}")
                in_scope = parts.get(VIRTUAL_CLUSTER)
                if user is not None and in_scope is not None:
                    path = ("spec", "entity", "user")
                    whom = f"User:{user}"
                    _check_reach(whom, in_scope, "quotas", document, path, members, findings)
            case _:
                pass
    for client_id, (member, document) in members.client_ids.items():
        users = (f"User:{client_id}", *sorted(pairs[client_id]))
        _check_client_id(member, document, users, members, findings)


def warn_of_other_clusters(objects: Sequence[DeclaredObject], findings: Findings) -> None:
    """Warn of ACLs on a cluster resource that is not Kafka's and that is not declared."""
    declared = {item.of_virtual_cluster for item, _ in objects} - {None}
    reported: set[Declaration] = set()
    for desired, document in objects:
        if not isinstance(desired, DesiredAcl) or document in reported:
            continue
        binding, name = desired.binding, desired.binding.resource_name
        if (
            binding.resource_type is not ResourceType.CLUSTER
            or binding.operation in VIRTUAL_CLUSTER_OPERATIONS
            or name in (CLUSTER_NAME, *declared)
            or (name != "*" and virtual_cluster_name_problem(name))
        ):
            continue
        pattern = name == "*" or binding.pattern_type is PatternType.PREFIXED
        if pattern and declared:
            continue
        reported.add(document)
        findings.warning(
            document,
            ("spec", "resource", "name"),
            f"the resource cluster {shown(name)} stands for virtual clusters, and none "
            f"{'' if pattern else 'of that name '}is in these manifests",
            f"write {CLUSTER_NAME} if you mean the cluster itself",
        )


def _members(objects: Sequence[DeclaredObject]) -> _Members:
    members = _Members()
    for desired, document in objects:
        match desired:
            case DesiredVirtualCluster(name=name, mode=mode):
                members.declared.add(name)
                if mode is MembersMode.AUTHORITATIVE:
                    members.complete.add(name)
            case DesiredMember(entity_type=EntityType.USER):
                members.home.setdefault(desired.name, desired.virtual_cluster)
                members.with_users.add(desired.virtual_cluster)
            case DesiredMember(entity_type=EntityType.CLIENT_ID):
                members.client_ids.setdefault(desired.name, (desired, document))
            case _:
                pass
    # A client with such a client id is a member too, without being declared as a user.
    members.complete -= {member.virtual_cluster for member, _ in members.client_ids.values()}
    return members


def _check_reach(
    principal: str,
    scope: str,
    what: str,
    document: Declaration,
    path: Path,
    members: _Members,
    findings: Findings,
) -> None:
    """Warn if the principal is not a member: ACLs and quotas are for members (VC-145, VC-213)."""
    home = members.home.get(principal)
    if home == scope or principal == EVERYONE:
        return
    if home is not None:
        findings.warning(
            document,
            path,
            f"{principal} belongs to {home}, so {what} in {scope} do nothing for it",
            f"link what it needs into {home}, and declare them there",
        )
    elif scope in members.complete:
        findings.warning(
            document,
            path,
            f"{principal} is not declared as a member of {scope}, so these {what} do nothing",
            f"add it to spec.members.users of {scope}",
        )


def _check_client_id(
    member: DesiredMember,
    document: Declaration,
    users: Sequence[str],
    members: _Members,
    findings: Findings,
) -> None:
    """Warn of a client id: any client may claim it, and a user who logs in takes precedence."""
    scope = member.virtual_cluster
    if scope in members.declared and scope not in members.with_users:
        findings.warning(
            document,
            member.named_at,
            f"clients need no proof of the client id {member.name}, and {scope} has no user",
            f"add the users, who log in, to spec.members.users of {scope}",
        )
    for principal in users:
        home = members.home.get(principal, scope)
        if home != scope:
            findings.warning(
                document,
                member.named_at,
                f"{principal} belongs to {home}, also when it comes with the client id "
                f"{member.name} of {scope}",
                f"let clients with this client id log in as users of {scope}",
            )
