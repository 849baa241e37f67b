"""What is legal in virtual clusters and seldom meant, as warnings of a plan."""

from collections.abc import Iterator, Mapping

from kgitops.desired.state import DesiredQuota, DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.quotas import (
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    make_entity,
    quota_text,
)
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.source import Finding, Severity
from kgitops.plan.document.plan import Change
from kgitops.plan.outcome import Outcome
from kgitops.plan.virtual_clusters.links.after import LinksAfter


def lints(
    outcome: Outcome, desired: DesiredState, current: ClusterState, links: LinksAfter
) -> list[Finding]:
    """Names that mislead, of links that are added; quotas that their virtual cluster caps."""
    found: list[Finding] = []
    names: dict[str, dict[str, list[str]]] = {}
    # By address: which name of a topic is told first must not hang on the order of documents.
    for change in sorted(outcome.changes, key=lambda change: change.address):
        for planned in change.requests:
            request = planned.request
            if (
                isinstance(request, AlterVirtualClusterRequest)
                and request.change is ChangeType.ADD
                and request.entity_type is EntityType.TOPIC
            ):
                at = request.virtual_cluster
                if at not in names:
                    names[at] = _by_topic(links.of(at))
                found += _names(change, request, current, links, names[at])
                # Once for all names of a topic.
                names[at].pop(links.of_one(at, request.entity_name or "") or "", None)
    return [*found, *_capped(desired, current)]


def _by_topic(links: Mapping[str, str | None]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, topic in links.items():
        if topic is not None:
            names.setdefault(topic, []).append(name)
    return names


def _names(
    change: Change,
    request: AlterVirtualClusterRequest,
    current: ClusterState,
    links: LinksAfter,
    names: Mapping[str, list[str]],
) -> Iterator[Finding]:
    at, name = request.virtual_cluster, request.entity_name or ""
    topic = links.of_one(at, name)
    if topic is None:
        return
    if topic != name and name in current.topics:
        yield _warning(
            change,
            f"{at}/{name} has the name of a topic of the cluster, and leads to {topic}",
            "nothing to do if it is meant: members never see the other one",
        )
    others = sorted(other for other in names.get(topic, ()) if other != name)
    if others:
        yield _warning(
            change,
            f"{at} has more than one name for the topic {topic}: {', '.join([name, *others])}; "
            "whoever subscribes by a pattern that matches both reads it twice",
            "remove the old name as soon as no client uses it",
        )


def _capped(desired: DesiredState, current: ClusterState) -> Iterator[Finding]:
    """VC-202: a quota above the cap of its virtual cluster never counts."""
    wanted = {quota.entity: quota.quotas for quota in desired.quotas}
    for quota in desired.quotas:
        at = dict(quota.entity).get(VIRTUAL_CLUSTER)
        if at is None or len(quota.entity) == 1:
            continue
        for key, value in sorted(quota.quotas.items()):
            cap = _cap(at, key, wanted, current)
            if cap is not None and value > cap:
                yield _above(quota, at, key, value, cap)


def _cap(
    at: str,
    key: str,
    wanted: Mapping[ClientQuotaEntity, Mapping[str, float]],
    current: ClusterState,
) -> float | None:
    """Its own, else that of all (VC-203)."""
    for name in (at, None):
        entity = make_entity({VIRTUAL_CLUSTER: name})
        there = current.quotas.get(entity)
        found = wanted.get(entity, there.quotas if there else {})
        if key in found:
            return found[key]
    return None


def _above(quota: DesiredQuota, at: str, key: str, value: float, cap: float) -> Finding:
    return Finding(
        source=quota.located.at("spec", "quotas", key),
        problem=f"{quota.address} sets {key} to {quota_text(value)}, above the cap of {at}, "
        f"{quota_text(cap)}, which holds for all of it together",
        advice="lower it, or raise the cap",
        severity=Severity.WARNING,
    )


def _warning(change: Change, problem: str, advice: str) -> Finding:
    return Finding(source=change.source, problem=problem, advice=advice, severity=Severity.WARNING)
