"""Users, mechanism by mechanism: what is declared against what Kafka tells of them."""

from collections.abc import Mapping

import pytest
from builders import (
    ALL_CAPABILITIES,
    UID,
    a_cluster,
    a_desired,
    a_tombstone,
    a_topic,
    a_user,
    an_owner,
    only_change,
    plan_of,
)
from msgspec.structs import replace

from kgitops.model.cluster_state import Client, ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredUser
from kgitops.model.requests import AlterUserScramCredentialsRequest
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.users import (
    UNKNOWN_PASSWORD,
    PasswordSource,
    ScramIterations,
    ScramMechanism,
    found_users,
)
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.model.verdict import ExitCode
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Drift
from kgitops.plan.document.risks import Risk

SHA_256, SHA_512 = ScramMechanism
BOTH = (SHA_256, SHA_512)


def there(
    held: Mapping[str, ScramIterations], *mine: DesiredUser, adopted: bool = False
) -> ClusterState:
    """A cluster with these users, of which the project has applied ``mine``."""
    owners = {user.address: an_owner(user, adopted=adopted) for user in mine}
    return a_cluster(owners=owners).with_objects(found_users(held), Kind.USER)


def requests(change: Change) -> list[tuple[str, int | None]]:
    return [
        (planned.request.mechanism.value, planned.request.iterations)
        for planned in change.requests
        if isinstance(planned.request, AlterUserScramCredentialsRequest)
    ]


def fields(change: Change) -> dict[str, tuple[str | None, str | None, Risk | None]]:
    return {field.path: (field.before, field.after, field.risk) for field in change.fields}


def test_a_new_user_needs_no_secret_to_be_planned() -> None:
    user = a_user(mechanisms=BOTH, version="1")
    change = only_change(plan_of(a_desired(user), there({})))
    assert change.actions == (Action.CREATE,)
    assert requests(change) == [("SCRAM-SHA-256", 8192), ("SCRAM-SHA-512", 8192)]
    assert [len(planned.depends_on) for planned in change.requests] == [0, 1]
    assert fields(change)["scram.SCRAM-SHA-512.password"] == (
        None,
        "env SALES_APP_PASSWORD (version 1)",
        risks.USER_CREATE,
    )
    second = change.requests[1].expects
    assert second.exists
    assert second.fields["scram.SCRAM-SHA-256.iterations"] == "8192"
    assert second.fields["scram.SCRAM-SHA-512.iterations"] is None


def test_what_was_applied_plans_to_nothing() -> None:
    user = a_user(version="1")
    assert not plan_of(a_desired(user), there({"sales-app": {SHA_512: 8192}}, user)).changes


def test_only_another_version_sets_the_password_again() -> None:
    before, held = a_user(version="1"), {"sales-app": {SHA_512: 8192}}
    change = only_change(plan_of(a_desired(a_user(version="2")), there(held, before)))
    assert requests(change) == [("SCRAM-SHA-512", 8192)]
    assert change.risk is risks.PASSWORD_RENEW
    assert fields(change)["scram.SCRAM-SHA-512.password"][:2] == (
        "env SALES_APP_PASSWORD (version 1)",
        "env SALES_APP_PASSWORD (version 2)",
    )
    elsewhere = a_user(version="1", password=PasswordSource(file="pw"))
    change = only_change(plan_of(a_desired(elsewhere), there(held, before)))
    assert requests(change) == []
    assert change.risks == (risks.REGISTRY_ONLY,)
    without = only_change(plan_of(a_desired(a_user()), there(held, before)))
    assert requests(without) == []


@pytest.mark.parametrize(
    ("iterations", "risk"), [(16384, risks.ITERATIONS_RAISE), (4096, risks.ITERATIONS_LOWER)]
)
def test_other_iterations_set_the_password_again(iterations: int, risk: Risk) -> None:
    before = a_user()
    state = there({"sales-app": {SHA_512: 8192}}, before)
    change = only_change(plan_of(a_desired(a_user(iterations=iterations)), state))
    assert requests(change) == [("SCRAM-SHA-512", iterations)]
    assert change.risk is risk


def test_a_mechanism_is_added_and_another_taken_away() -> None:
    state = there({"sales-app": {SHA_256: 4096}}, a_user(mechanisms=[SHA_256], iterations=4096))
    change = only_change(plan_of(a_desired(a_user(mechanisms=[SHA_512])), state))
    assert requests(change) == [("SCRAM-SHA-512", 8192), ("SCRAM-SHA-256", None)]
    assert change.risk is risks.MECHANISM_REMOVE
    assert fields(change)["scram.SCRAM-SHA-256.iterations"] == (
        "4096",
        None,
        risks.MECHANISM_REMOVE,
    )
    added = only_change(plan_of(a_desired(a_user(mechanisms=BOTH, iterations=4096)), state))
    assert requests(added) == [("SCRAM-SHA-512", 4096)]
    assert added.risk is risks.MECHANISM_ADD


def test_an_undeclared_mechanism_is_left_alone_and_told() -> None:
    user = a_user()
    state = there({"sales-app": {SHA_256: 4096, SHA_512: 8192}}, user)
    plan = plan_of(a_desired(user), state)
    assert not plan.changes
    assert plan.drift == (
        Drift(
            address="user/sales-app",
            path="scram.SCRAM-SHA-256.iterations",
            last_applied=None,
            found="4096",
            rule="undeclared",
        ),
    )


def test_drift_of_iterations_is_restored() -> None:
    user = a_user()
    plan = plan_of(a_desired(user), there({"sales-app": {SHA_512: 4096}}, user))
    assert [(row.rule, row.last_applied, row.found) for row in plan.drift] == [
        ("restored", "8192", "4096")
    ]
    assert requests(only_change(plan)) == [("SCRAM-SHA-512", 8192)]


def test_a_user_that_was_deleted_elsewhere_is_made_again() -> None:
    user = a_user()
    plan = plan_of(a_desired(user), there({}, user))
    assert [row.rule for row in plan.drift] == ["missing"]
    assert only_change(plan).actions == (Action.CREATE,)


def test_an_existing_user_is_adopted_with_the_password_that_it_has() -> None:
    user = a_user(version="1")
    change = only_change(plan_of(a_desired(user), there({"sales-app": {SHA_512: 8192}})))
    assert change.actions == (Action.ADOPT,)
    assert requests(change) == []
    assert change.risk is risks.USER_ADOPT
    differs = only_change(plan_of(a_desired(user), there({"sales-app": {SHA_512: 4096}})))
    assert differs.actions == (Action.ADOPT, Action.UPDATE)


def test_an_unknown_password_can_be_adopted_and_not_set() -> None:
    user = a_user(password=UNKNOWN_PASSWORD)
    adopted = plan_of(a_desired(user), there({"sales-app": {SHA_512: 8192}}))
    assert requests(only_change(adopted)) == []
    plan = plan_of(a_desired(user), there({}))
    assert plan.verdict.exit is ExitCode.ERROR
    assert "it has no source" in str(plan.findings[0])


def test_removal_goes_by_the_policy_that_was_applied() -> None:
    held = {"sales-app": {SHA_256: 4096, SHA_512: 8192}}
    rest = a_desired(a_topic())
    protected = plan_of(rest, there(held, a_user()))
    assert protected.verdict.exit is ExitCode.REFUSED
    deleted = a_user(deletion_policy=DeletionPolicy.DELETE)
    plan = plan_of(rest, there(held, deleted))
    (change,) = [each for each in plan.changes if each.address == "user/sales-app"]
    assert change.actions == (Action.DELETE,)
    assert requests(change) == [("SCRAM-SHA-512", None)]  # the other was never declared
    assert change.risk is risks.USER_DELETE
    assert change.after == {
        "kind": "User",
        "name": "sales-app",
        "scram": {"SCRAM-SHA-256": {"iterations": 4096}},
    }
    orphan = a_user(deletion_policy=DeletionPolicy.ORPHAN)
    (forgotten,) = [
        each
        for each in plan_of(rest, there(held, orphan)).changes
        if each.address == "user/sales-app"
    ]
    assert forgotten.actions == (Action.FORGET,)
    assert not forgotten.requests
    buried = a_desired(a_topic(), a_tombstone("user/sales-app"))
    plan = plan_of(
        replace(buried, tombstones=(a_tombstone("user/sales-app"),)), there(held, a_user())
    )
    (change,) = [each for each in plan.changes if each.address == "user/sales-app"]
    assert requests(change) == [("SCRAM-SHA-512", None)]


@pytest.mark.parametrize("way", ["login", "principal"])
def test_kgitops_does_not_shut_itself_out(way: str) -> None:
    capabilities = replace(
        ALL_CAPABILITIES,
        client=Client(client_id="kgitops", user="sales-app" if way == "login" else "else"),
    )
    principal = "User:sales-app" if way == "principal" else "User:else"
    before = a_user(version="1")
    state = there({"sales-app": {SHA_512: 8192}}, before)
    desired = a_desired(a_user(version="2"), principal=principal)
    plan = plan_of(desired, state, capabilities)
    assert plan.verdict.exit is ExitCode.REFUSED
    assert "kgitops itself logs in as User:sales-app" in str(plan.verdict.reasons)
    unchanged = plan_of(a_desired(before, principal=principal), state, capabilities)
    assert not unchanged.verdict.stops


def test_users_that_were_not_read_stop_a_plan() -> None:
    plan = plan_of(a_desired(a_user()), a_cluster())
    assert plan.verdict.exit is ExitCode.REFUSED
    assert "--users" in plan.verdict.reasons[0].sentence
    assert not plan_of(a_desired(a_topic()), a_cluster()).verdict.stops


def test_a_user_of_a_virtual_cluster_must_be_its_member() -> None:
    """VC-160c."""
    user = a_user(at="emea.sales")
    inside = VirtualCluster(name="emea.sales", users=frozenset({"User:sales-app"}))
    state = replace(there({}), virtual_clusters={"emea.sales": inside})
    (planned, *_) = only_change(plan_of(a_desired(user), state)).requests
    assert isinstance(planned.request, AlterUserScramCredentialsRequest)
    assert planned.request.virtual_cluster == "emea.sales"
    outside = VirtualCluster(name="emea.sales", users=frozenset({"User:other"}))
    plan = plan_of(a_desired(user), replace(state, virtual_clusters={"emea.sales": outside}))
    assert "User:sales-app is not a member" in str(plan.findings[0])
    gone = plan_of(a_desired(user), replace(state, virtual_clusters={}))
    assert "neither on the cluster nor in this plan" in str(gone.findings[0])


def test_another_projects_user_is_left_alone() -> None:
    user = a_user()
    owners = {user.address: an_owner(user, project="theirs")}
    state = a_cluster(owners=owners, projects={"theirs": "theirs"}).with_objects([], Kind.USER)
    plan = plan_of(a_desired(user), state)
    assert plan.verdict.exit is ExitCode.REFUSED
    assert UID not in str(plan.verdict.reasons)
