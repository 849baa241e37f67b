"""Warnings about a plan: names that look alike, kgitops' own quotas, and the changes since 0.1.

Brokers throttle kgitops' requests like those of any client: a low quota would stop an apply at its
own journal, so a plan sets these after everything else.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.declared_lookalikes import TWIN_ADVICE
from kgitops.desired.lookalikes import appearance, bare_name, is_plain, lookalike_problem
from kgitops.desired.state import DesiredState
from kgitops.manifests.value_origin import OriginKind, ValueOrigin, origins_of
from kgitops.model.cluster_state import Client, ClusterState
from kgitops.model.json.declared import (
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
)
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    USER,
    ClientQuotaEntity,
    ClientQuotaState,
    make_entity,
    quota_text,
)
from kgitops.model.resources.virtual_clusters import user_name
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.values import overlaid
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Change

_PRINCIPAL = ("spec", "principal")
_MOST = 100
"""The most objects of one plan that are named; of more, only the number is reported."""


def warn_of_twins(desired: DesiredState, current: ClusterState) -> list[Finding]:
    """Warn of each declared name that looks the same as one that only the cluster has."""
    on_cluster = {bare_name(name) for name in _names_on(current)}
    plain = all(map(is_plain, on_cluster))
    if plain and all(is_plain(item.address) for item in desired.objects):
        return []
    declared = [place for item in desired.objects for place in _names_of(item)]
    alike: dict[str, set[str]] = {}
    for name in on_cluster - {place.name for place in declared}:
        alike.setdefault(appearance(name), set()).add(name)
    twins = {
        (place.name, twin): place
        for place in reversed(declared)
        for twin in alike.get(appearance(place.name), ())
    }
    return [
        _warning(
            place.source,
            f"{name!a} looks the same as {twin!a}, which is on the cluster",
            TWIN_ADVICE,
        )
        for (name, twin), place in twins.items()
    ]


def warn_of_shown_names(addresses: Collection[str]) -> list[Finding]:
    """Warn of those of these objects whose names are easily taken for others."""
    problems = [
        found.problem
        for address in sorted(addresses)
        if (found := lookalike_problem(address)) is not None
    ]
    if len(problems) > _MOST:
        more = f"{len(problems) - _MOST:,} more objects have names that look like others"
        problems = [*problems[:_MOST], more]
    advice = "compare each character before you approve the plan"
    return [_warning(None, problem, advice) for problem in problems]


class _Place(Struct, frozen=True):
    name: str
    item: DesiredObject
    path: tuple[str, ...]

    @property
    def source(self) -> Source:
        """The place of the name, or of the list that it is in."""
        at = self.item.located.at
        several = self.path == _PRINCIPAL and at(*self.path) == at("spec")
        return at("spec", "principals") if several else at(*self.path)


def _names_of(item: DesiredObject) -> Iterator[_Place]:
    match item:
        case DesiredAcl(binding=binding):
            yield _Place(bare_name(binding.principal), item, _PRINCIPAL)
            yield _Place(binding.resource_name, item, ("spec", "resource", "name"))
        case DesiredQuota():
            for kind, name in item.entity:
                if name is not None:
                    key = "clientId" if kind == CLIENT_ID else kind
                    yield _Place(name, item, ("spec", "entity", key))
        case DesiredMember():
            yield _Place(bare_name(item.name), item, item.named_at)
        case DesiredLink():
            yield _Place(item.local.name, item, ("metadata", "name"))
        case _:
            yield _Place(item.name, item, ("metadata", "name"))


def _names_on(current: ClusterState) -> Iterator[str]:
    yield from current.topics
    yield from (found.name for found in current.objects.values())
    for acl in current.acls:
        yield acl.principal
        yield acl.resource_name
    for entity in current.quotas:
        yield from (name for _, name in entity if name is not None)
    for virtual_cluster in current.virtual_clusters.values():
        yield virtual_cluster.name
        yield from virtual_cluster.links
        yield from virtual_cluster.users
        yield from virtual_cluster.client_ids
        yield from virtual_cluster.groups
        yield from virtual_cluster.transactional_ids


def _warning(source: Source | None, problem: str, advice: str) -> Finding:
    return Finding(source=source, problem=problem, advice=advice, severity=Severity.WARNING)


_CONFIGS = "configs."
_PRODUCER = "producer"


def warn_of_defaults_under_profiles(changes: Iterable[Change]) -> list[Finding]:
    """Explain each value of a default that is new to managed topics of a profile, in one line."""
    topics: Counter[tuple[str, str, ValueOrigin]] = Counter()
    for change in changes:
        applied = change.owner_before.last_applied if change.owner_before else {}
        configs = applied.get("configs") or {}
        for field_path, origin in change.origins.items():
            path = field_path.removeprefix("lastApplied.")
            is_new = path.startswith(_CONFIGS) and path.removeprefix(_CONFIGS) not in configs
            is_weaker = path == "deletionPolicy" and applied.get(path) == "Protect"
            if applied and origin.profile and origin.removed is None and (is_new or is_weaker):
                topics[origin.profile, path.removeprefix(_CONFIGS), origin] += 1
    return [
        Finding(
            source=origin.source,
            problem=f"{key} of the {origin.text} is new to {counted(count, 'topic')} of the "
            f"profile {profile}, which adds to the defaults now and replaced them up to 0.1",
            advice="to keep what was, write "
            f"{key}: {'Protect' if key == 'deletionPolicy' else 'null'} in the profile",
            severity=Severity.WARNING,
        )
        for (profile, key, origin), count in topics.items()
    ]


def warn_of_producers_without_create(
    declared: Iterable[DesiredAcl], leaving: Set[str]
) -> list[Finding]:
    """Explain the managed bindings that the role producer gave before, a line for each document.

    ``leaving`` are the addresses that the plan removes, or keeps because they are protected.
    """
    creates: dict[Source, set[str]] = {}
    for acl in declared:
        origin = origins_of(acl.located).get("operations")
        if origin and (origin.kind, origin.name) == (OriginKind.ROLE, _PRODUCER):
            create = acl_address(replace(acl.binding, operation=Operation.CREATE))
            if create in leaving:
                creates.setdefault(origin.source, set()).add(create)
    return [
        Finding(
            source=source,
            problem="the role producer gives no Create now, which it gave up to 0.1, so this "
            f"document declares {counted(len(addresses), 'binding')} less",
            advice="to keep what was, write create: true beside the role",
            severity=Severity.WARNING,
        )
        for source, addresses in creates.items()
    ]


_NOBODY = "User:ANONYMOUS"
"""The principal of a project that does not name one."""

_Quotas = Mapping[ClientQuotaEntity, Mapping[str, float]]


def own_entities(client: Client | None, principal: str) -> dict[str, list[ClientQuotaEntity]]:
    """Return the entities whose quotas apply to kgitops, narrowest first, by its possible names.

    These are the user that logs in and the principal that the project names; ``""`` if neither is
    known.
    """
    if client is None:
        return {}
    users = {client.user, None if principal == _NOBODY else user_name(principal)}
    names = sorted(name for name in users if name) or [""]
    return {name: list(_entities(name, client.client_id)) for name in names}


def own_quota_ranks(client: Client | None, principal: str) -> dict[str, int]:
    """Return the addresses of quotas that apply to kgitops, with their order: narrower first."""
    return {
        quota_address(entity): rank
        for entities in own_entities(client, principal).values()
        for rank, entity in enumerate(entities)
    }


def warn_of_own_throttles(
    changes: Sequence[Change],
    current: Mapping[ClientQuotaEntity, ClientQuotaState],
    client: Client | None,
    principal: str,
) -> list[Finding]:
    """Warn of each change after which kgitops itself may do less than before."""
    own = own_entities(client, principal)
    if client is None or not any(change.address.startswith("quota/") for change in changes):
        return []
    before = {entity: state.quotas for entity, state in current.items()}
    after, changed_by = _afterwards(changes, before)
    warnings: list[Finding] = []
    for user, entities in own.items():
        lowered: dict[str, tuple[Change, list[str]]] = {}
        for key in sorted({key for entity in entities for key in after.get(entity, ())}):
            was, now = _effective(entities, key, before), _effective(entities, key, after)
            if now is None or (was is not None and now[1] >= was[1]):
                continue
            change = changed_by.get(now[0]) or (changed_by.get(was[0]) if was else None)
            if change is not None:
                text = f"{key} {quota_text(now[1])}"
                lowered.setdefault(change.address, (change, []))[1].append(text)
        warnings += [
            _own_quota_warning(change, limits, user, client.client_id)
            for change, limits in lowered.values()
        ]
    return warnings


def _entities(user: str, client_id: str) -> Iterator[ClientQuotaEntity]:
    """Yield entities in the order in which brokers look for a quota (ClientQuotaManager)."""
    if user:
        yield make_entity({USER: user, CLIENT_ID: client_id})
        yield make_entity({USER: user, CLIENT_ID: None})
        yield make_entity({USER: user})
    yield make_entity({USER: None, CLIENT_ID: client_id})
    yield make_entity({USER: None, CLIENT_ID: None})
    yield make_entity({USER: None})
    yield make_entity({CLIENT_ID: client_id})
    yield make_entity({CLIENT_ID: None})


def _afterwards(
    changes: Iterable[Change], before: _Quotas
) -> tuple[_Quotas, Mapping[ClientQuotaEntity, Change]]:
    """Return the quotas once the changes are applied, and the change of each entity."""
    after = {entity: dict(quotas) for entity, quotas in before.items()}
    changed_by = {}
    for change in changes:
        for planned in change.requests:
            request = planned.request
            if isinstance(request, AlterClientQuotaRequest):
                changed_by[request.entity] = change
                after[request.entity] = overlaid(after.get(request.entity, {}), request.quotas)
    return after, changed_by


def _effective(
    entities: Iterable[ClientQuotaEntity], key: str, quotas: _Quotas
) -> tuple[ClientQuotaEntity, float] | None:
    limits = ((entity, quotas[entity][key]) for entity in entities if key in quotas.get(entity, ()))
    return next(limits, None)


def _own_quota_warning(change: Change, limits: Sequence[str], user: str, client_id: str) -> Finding:
    who = f"User:{user} with the client id {client_id}" if user else f"the client id {client_id}"
    return Finding(
        source=change.source,
        problem=f"{change.address} throttles kgitops itself, which is {who}, to "
        f"{', '.join(limits)}; it is changed last here, and holds for every later plan and apply",
        advice=f"give {f'the user {user}' if user else f'the client id {client_id}'} a quota of "
        "its own that is high enough",
        severity=Severity.WARNING,
    )
