"""Commit statuses as a stand-in for GitHub's API takes them: one for each cluster and commit."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter
from reconcile.notifications.github_stand_in import TOKEN, GithubStandIn, github
from reconcile.notifications.receivers import event

from kgitops.manifests.project_document import NotificationDocument
from kgitops.reconcile.events import EventKind
from kgitops.reconcile.notifications.delivery import Patience, SinkCounts
from kgitops.reconcile.notifications.notifying import Notifications, subscriptions_of

COMMIT = "a" * 40
LATER = "b" * 64
WRONG = "ghs_of-somebody"


def tell(
    stand_in: GithubStandIn, *events: object, token: str = TOKEN, told: list[str] | None = None
) -> SinkCounts:
    """Tell of events; the counts at the end."""
    status = {"repository": "org/repo", "token": {"env": "TOKEN"}, "apiUrl": f"{stand_in.url}/"}
    document = TypeAdapter(NotificationDocument).validate_python(
        {"name": "commits", "githubStatus": status}
    )
    subscriptions = subscriptions_of([document], Path(), {"TOKEN": token})
    said = told if told is not None else []
    notifications = Notifications(subscriptions, said.append, Patience(attempts=1))
    for one in events:
        notifications.notify(one)
    notifications.close()
    return notifications.counts()[0]


@pytest.mark.parametrize("kind", EventKind)
def test_every_kind_of_event_makes_a_status_that_is_taken_or_none(kind: EventKind) -> None:
    with github() as stand_in:
        counts = tell(stand_in, event(kind, sentence="é" * 300, plan_digest=None))
    assert (stand_in.refused, counts.failed) == ([], 0)
    assert len(stand_in.statuses) == counts.delivered
    silent = {EventKind.RESUMED, EventKind.SOURCE_FAILED, EventKind.SOURCE_RECOVERED}
    assert counts.delivered == (0 if kind in silent else 1)
    descriptions = [status["description"] for status in stand_in.statuses.values()]
    assert {len(description) for description in descriptions} <= {140}


def test_the_last_state_of_each_cluster_stands_on_each_commit() -> None:
    with github() as stand_in:
        counts = tell(
            stand_in,
            event(EventKind.PENDING),
            event(EventKind.PENDING, cluster="dev"),
            event(EventKind.APPLIED),
            event(EventKind.FAILED, revision=LATER),
            event(EventKind.FAILED, revision="sha256:0"),
            event(EventKind.FAILED, revision=None, sentence="no revision"),
        )
    assert (counts.delivered, counts.failed, stand_in.refused) == (4, 0, [])
    states = {where: status["state"] for where, status in stand_in.statuses.items()}
    assert states == {
        (COMMIT, "kgitops/prod"): "success",
        (COMMIT, "kgitops/dev"): "pending",
        (LATER, "kgitops/prod"): "failure",
    }
    description = stand_in.statuses[LATER, "kgitops/prod"]["description"]
    assert event().sentence.startswith(description[:20])


def test_a_wrong_token_is_told_and_not_shown() -> None:
    told: list[str] = []
    with github() as stand_in:
        counts = tell(stand_in, event(), token=WRONG, told=told)
    assert (counts.delivered, counts.failed, stand_in.statuses) == (0, 1, {})
    assert stand_in.refused == ["401 the token"]
    assert "'commits' was not delivered: it answered 401" in told[0]
    assert "ghs_" not in told[0]
