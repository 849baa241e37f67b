"""Subscriptions to clients' metrics, key by key."""

from builders import (
    a_cluster,
    a_desired,
    a_topic,
    an_owner,
    change_of,
    only_change,
    plan_of,
    some_client_metrics,
    some_configs,
)

from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredClientMetrics
from kgitops.model.requests import AlterConfigResourceRequest
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change

OTHER = a_topic("else")


def cluster(*owned: DesiredClientMetrics, **configs: str) -> ClusterState:
    """A cluster with the subscription ``lag``, if it has any configs."""
    given = {key.replace("_", "."): value for key, value in configs.items()}
    held = [some_configs(ConfigResourceType.CLIENT_METRICS, "lag", given)] if given else []
    return a_cluster(*held, owners={declared.address: an_owner(declared) for declared in owned})


def requested(change: Change) -> dict[str, str | None]:
    (planned,) = change.requests
    assert isinstance(planned.request, AlterConfigResourceRequest)
    assert planned.request.resource_name == "lag"
    return dict(planned.request.configs)


def test_a_new_subscription() -> None:
    change = only_change(plan_of(a_desired(some_client_metrics()), cluster()))
    assert change.actions == (Action.CREATE,)
    assert requested(change) == {"interval.ms": "60000"}
    assert change.risk is risks.CLIENT_METRICS_SET


def test_lists_are_compared_as_sets() -> None:
    declared = some_client_metrics(metrics="a.,b.")
    assert not plan_of(a_desired(declared), cluster(declared, metrics="b., a.")).changes


def test_an_existing_one_is_adopted_and_changed() -> None:
    declared = some_client_metrics(interval_ms="1000")
    state = cluster(interval_ms="2000", match="client_id=x")
    change = only_change(plan_of(a_desired(declared), state))
    assert change.actions == (Action.ADOPT, Action.UPDATE)
    assert requested(change) == {"interval.ms": "1000"}


def test_a_key_that_leaves_the_document_is_removed() -> None:
    before = some_client_metrics(interval_ms="1000", match="client_id=x")
    state = cluster(before, interval_ms="1000", match="client_id=x")
    declared = some_client_metrics(interval_ms="1000")
    assert requested(only_change(plan_of(a_desired(declared), state))) == {"match": None}


def test_removing_the_document_ends_it_but_for_keys_of_others() -> None:
    before = some_client_metrics(interval_ms="1000")
    state = cluster(before, interval_ms="1000", match="client_id=x")
    change = change_of(plan_of(a_desired(OTHER), state), before)
    assert change.actions == (Action.DELETE,)
    assert requested(change) == {"interval.ms": None}
    assert change.after is not None
    assert change.after["configs"] == {"match": "client_id=x"}


def test_an_orphan_is_forgotten() -> None:
    before = some_client_metrics(deletion_policy=DeletionPolicy.ORPHAN)
    state = cluster(before, interval_ms="60000")
    change = change_of(plan_of(a_desired(OTHER), state), before)
    assert (change.actions, change.requests) == ((Action.FORGET,), ())


def test_what_others_took_away_is_missing_and_made_again() -> None:
    declared = some_client_metrics()
    plan = plan_of(a_desired(declared), cluster(declared))
    assert [row.rule for row in plan.drift] == ["missing"]
    assert only_change(plan).actions == (Action.CREATE,)
