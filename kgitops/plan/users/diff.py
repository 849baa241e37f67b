"""Plans users: compares the declared credentials with those on the cluster, by mechanism.

Kafka tells mechanisms and iterations and nothing else, so that a password is set again only where
the document's version differs from the one that was last applied.
"""

from collections.abc import Sequence

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import Client, ClusterState
from kgitops.model.json.declared import DesiredCredential, DesiredUser
from kgitops.model.requests import AlterUserScramCredentialsRequest, Request
from kgitops.model.resources.addresses import CREDENTIALS, user_address
from kgitops.model.resources.users import ScramIterations, ScramMechanism, user_principal
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Kind, Precondition
from kgitops.plan.draft import PlanDraft
from kgitops.plan.link_index import index_links
from kgitops.plan.normal_form import user_view
from kgitops.plan.ownership import Ownership
from kgitops.plan.removal import Removal, RemovalKind, find_removals, remove
from kgitops.plan.users.credentials import (
    Credentials,
    changed_fields,
    drift_rows,
    iterations_path,
    last_credentials,
)
from kgitops.plan.users.own_login import lockouts

_PREFIX = "user/"
_NOBODY: ScramIterations = {}


def concerned_users(desired: DesiredState, current: ClusterState) -> frozenset[str]:
    """Return the users that a plan has to know: those declared, and those that anyone manages."""
    return managed_users(current) | {user.name for user in desired.users}


def managed_users(current: ClusterState) -> frozenset[str]:
    """Return the users that any project manages."""
    return frozenset(
        owner.last_applied["name"]
        for address, owner in (current.registry.owners if current.registry else {}).items()
        if address.startswith(_PREFIX) and not owner.spent
    )


def plan_users(
    desired: DesiredState, current: ClusterState, ownership: Ownership, client: Client | None
) -> PlanDraft:
    """Plan every difference between the declared users and the cluster's.

    ``client`` is kgitops itself, whose own login is left as it is.
    """
    context = PlanContext(
        desired=desired,
        current=current,
        ownership=ownership,
        links=index_links(desired, current),
    )
    if current.users is None:
        if desired.users or any(True for _ in ownership.mine(CREDENTIALS)):
            context.draft.refuse(
                "the users of this cluster were not read, so declared and managed users can't be "
                "planned; take the snapshot with --users"
            )
        return context.draft
    for user in desired.users:
        if context.may_plan(user) and _is_member(context, user):
            _plan(context, user, current.users.get(user.name, _NOBODY))
    declared = frozenset(user.address for user in desired.users)
    for removal in find_removals((CREDENTIALS,), declared, context):
        _remove(context, removal, current)
    context.keep_others(dict.fromkeys(map(user_address, current.users)), declared)
    for sentence in lockouts(context.draft.changes, client, desired.principal):
        context.draft.refuse(sentence)
    return context.draft


def _is_member(context: PlanContext, user: DesiredUser) -> bool:
    """Return whether the user is a member of its virtual cluster, or becomes one (VC-160c)."""
    name = user.virtual_cluster
    if name is None:
        return True
    source = user.located.at("metadata", "virtualCluster")
    if not context.has_virtual_cluster(name, source, user.address):
        return False
    principal = user_principal(user.name)
    known = context.current.virtual_clusters.get(name)
    declared = any(
        member.entity_type is EntityType.USER
        and (member.virtual_cluster, member.name) == (name, principal)
        for member in context.desired.members
    )
    if declared or (known is not None and principal in known.users):
        return True
    context.draft.findings.append(
        Finding(
            source=source,
            problem=f"{user.address} is declared in the virtual cluster {name}, of which "
            f"{principal} is not a member",
            advice=f"add {principal} to the virtual cluster's users, or remove virtualCluster",
        )
    )
    return False


def _plan(context: PlanContext, user: DesiredUser, held: ScramIterations) -> None:
    address = user.address
    last = last_credentials(context.ownership.last_applied(address))
    if last and held:
        context.draft.drift += drift_rows(user, held, last)
    removed = sorted(key for key in last if key not in user.credentials and key in held)
    requests: list[Request] = []
    for mechanism, credential in sorted(user.credentials.items()):
        if changed_fields(mechanism, credential, held, last):
            _check_known(context, user, mechanism, credential)
            requests.append(
                AlterUserScramCredentialsRequest(
                    user=user.name,
                    mechanism=mechanism,
                    iterations=credential.iterations,
                    password=credential.password,
                    virtual_cluster=user.virtual_cluster,
                )
            )
    requests += [_removal(user.name, mechanism, user.virtual_cluster) for mechanism in removed]
    expected = _expected(context, address, bool(held), user.credentials, removed, held)
    if not held:
        context.create(user, Kind.USER, requests, expects=expected)
        return
    before = user_view(user.name, held)
    context.adopt_or_update(user, Kind.USER, requests, before=before, expects=expected)


def _check_known(
    context: PlanContext,
    user: DesiredUser,
    mechanism: ScramMechanism,
    credential: DesiredCredential,
) -> None:
    if not credential.password.known:
        context.stop(
            user.address,
            Finding(
                source=user.located.at("spec", "scram"),
                problem=f"{user.address}: the password for {mechanism} must be set, but it has no "
                "source",
                advice="write where it comes from, such as {env: VARIABLE}, in place of "
                "{unknown: true}",
            ),
        )


def _remove(context: PlanContext, removal: Removal, current: ClusterState) -> None:
    """Take away the mechanisms that were last applied; others that the user has stay."""
    name = removal.owner.last_applied["name"]
    scope = removal.owner.last_applied.get("virtualCluster")
    held = (current.users or {}).get(name, _NOBODY)
    owned = sorted(key for key in last_credentials(removal.owner.last_applied) if key in held)
    removed = owned if removal.kind is RemovalKind.DELETE else []
    remove(
        context,
        removal,
        Kind.USER,
        [_removal(name, mechanism, scope) for mechanism in removed],
        before=user_view(name, held) if held else None,
        expected={iterations_path(key): str(held[key]) for key in removed},
    )


def _removal(
    name: str, mechanism: ScramMechanism, virtual_cluster: str | None
) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        user=name, mechanism=mechanism, virtual_cluster=virtual_cluster
    )


def _expected(
    context: PlanContext,
    address: str,
    exists: bool,
    declared: Credentials,
    removed: Sequence[ScramMechanism],
    held: ScramIterations,
) -> Precondition:
    """Return the precondition that each of these mechanisms is as it was read."""
    fields = {
        iterations_path(key): str(held[key]) if key in held else None
        for key in (*declared, *removed)
    }
    return context.expect(address, exists=exists, fields=fields)
