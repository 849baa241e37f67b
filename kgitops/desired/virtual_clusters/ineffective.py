"""Warnings about declarations in virtual clusters that have no effect, or an unexpected one."""

from collections import defaultdict
from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct, field

from kgitops.desired.findings import Declaration, DeclaredObject, Findings, Path
from kgitops.desired.virtual_clusters.checks import cluster_source
from kgitops.manifests.yaml.text import shown
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
    MembersMode,
)
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    EVERYONE,
    VIRTUAL_CLUSTER_OPERATIONS,
    PatternType,
    ResourceType,
)
from kgitops.model.resources.quotas import CLIENT_ID, USER, VIRTUAL_CLUSTER
from kgitops.model.resources.virtual_clusters import EntityType, virtual_cluster_name_problem


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
    declared = {name for item, _ in objects if (name := _virtual_cluster(item)) is not None}
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


def _virtual_cluster(item: DesiredObject) -> str | None:
    """Return the virtual cluster that an object is, or belongs to."""
    match item:
        case DesiredVirtualCluster(name=name):
            return name
        case DesiredTopic(virtual_cluster=name) | DesiredMember(virtual_cluster=name):
            return name
        case DesiredUser(virtual_cluster=name):
            return name
        case DesiredLink(local=local):
            return local.virtual_cluster
        case DesiredQuota(entity=entity):
            return dict(entity).get(VIRTUAL_CLUSTER)
        case DesiredAcl(binding=binding):
            literal = binding.virtual_cluster_pattern_type is PatternType.LITERAL
            return binding.virtual_cluster if binding.scoped and literal else None
        case DesiredConfigs():
            return None
        case other:
            assert_never(other)


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
            cluster_source(member),
            f"clients need no proof of the client id {member.name}, and {scope} has no user",
            f"add the users, who log in, to spec.members.users of {scope}",
        )
    for principal in users:
        home = members.home.get(principal, scope)
        if home != scope:
            findings.warning(
                document,
                cluster_source(member),
                f"{principal} belongs to {home}, also when it comes with the client id "
                f"{member.name} of {scope}",
                f"let clients with this client id log in as users of {scope}",
            )
