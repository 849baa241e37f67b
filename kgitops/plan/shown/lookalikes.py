"""Warns of names on the cluster that look like declared ones, or that a plan shows."""

from collections.abc import Collection, Iterator

from msgspec import Struct

from kgitops.desired.matching.declared_lookalikes import TWIN_ADVICE
from kgitops.desired.matching.lookalikes import appearance, bare_name, is_plain, lookalike_problem
from kgitops.desired.state import DesiredState
from kgitops.desired.virtual_clusters.checks import cluster_source
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import (
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
)
from kgitops.model.resources.quotas import CLIENT_ID
from kgitops.model.source import Finding, Severity, Source

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
            yield _Place(bare_name(item.name), item, tuple(map(str, cluster_source(item))))
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
