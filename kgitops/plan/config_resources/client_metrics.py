"""Plans subscriptions to clients' metrics: compares the declared configs with the cluster's."""

from collections.abc import Mapping

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredClientMetrics
from kgitops.model.resources.addresses import client_metrics_address
from kgitops.model.resources.config_resources import ConfigResourceType, normal_resource_configs
from kgitops.plan.config_resources.configs import (
    config_drift,
    config_requests,
    expected_configs,
    last_configs,
    removed_configs,
    requested_configs,
)
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Kind
from kgitops.plan.draft import PlanDraft
from kgitops.plan.normal_form import client_metrics_view
from kgitops.plan.ownership import Ownership
from kgitops.plan.removal import Removal, RemovalKind, find_removals, remove

_KIND = ConfigResourceType.CLIENT_METRICS


def plan_client_metrics(
    desired: DesiredState, current: ClusterState, ownership: Ownership
) -> PlanDraft:
    """Plan every difference between the declared subscriptions and the cluster's."""
    context = PlanContext(desired=desired, current=current, ownership=ownership)
    for declared in desired.client_metrics:
        if context.may_plan(declared):
            _plan(context, declared, _current(current, declared.name))
    addresses = frozenset(declared.address for declared in desired.client_metrics)
    for removal in find_removals(("client-metrics",), addresses, context):
        name = removal.owner.last_applied["name"]
        _remove(context, removal, name, _current(current, name))
    context.keep_others(
        dict.fromkeys(map(client_metrics_address, current.client_metrics)), addresses
    )
    return context.draft


def _current(current: ClusterState, name: str) -> Mapping[str, str]:
    state = current.client_metrics.get(name)
    return normal_resource_configs(_KIND, state.configs) if state else {}


def _plan(context: PlanContext, declared: DesiredClientMetrics, current: Mapping[str, str]) -> None:
    address, name = declared.address, declared.name
    managed = context.ownership.last_applied(address)
    last = last_configs(managed)
    if managed and current:
        context.draft.drift += config_drift(address, declared.configs, last, current)
    requested = requested_configs(declared.configs, last, current)
    requests = config_requests(_KIND, name, requested)
    expects = context.expect(
        address, exists=bool(current), fields=expected_configs(requested, current)
    )
    if not current:
        context.create(declared, Kind.CLIENT_METRICS, requests, expects=expects)
        return
    before = client_metrics_view(name, current)
    context.adopt_or_update(declared, Kind.CLIENT_METRICS, requests, before=before, expects=expects)


def _remove(context: PlanContext, removal: Removal, name: str, current: Mapping[str, str]) -> None:
    """Remove the keys that were last applied; the subscription ends with its last key."""
    owned = removed_configs(removal.owner.last_applied, current)
    requested = owned if removal.kind is RemovalKind.DELETE else {}
    remove(
        context,
        removal,
        Kind.CLIENT_METRICS,
        config_requests(_KIND, name, requested),
        before=client_metrics_view(name, current) if current else None,
        expected=expected_configs(requested, current),
    )
