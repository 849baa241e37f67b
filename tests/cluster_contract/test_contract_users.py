"""Users who log in by SCRAM, as every cluster changes and tells them."""

from collections.abc import Mapping

import pytest
from cluster_contract.contract import send
from patience import eventually
from used import users_of

from kgitops.apply.secrets import salt
from kgitops.cluster.port import Cluster
from kgitops.model.requests import AlterUserScramCredentialsRequest, SaltedCredentialsRequest
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.users import ScramIterations, ScramMechanism
from kgitops.model.results import ErrorCode

pytestmark = pytest.mark.default_kafka

SHA_256, SHA_512 = ScramMechanism


def setting(
    user: str, mechanism: ScramMechanism = SHA_512, iterations: int = 8192
) -> SaltedCredentialsRequest:
    salted = salt(Secret(b"correct horse"), mechanism, max(iterations, 1))
    return SaltedCredentialsRequest(
        user=user, mechanism=mechanism, iterations=iterations, salted=salted
    )


def removal(user: str, mechanism: ScramMechanism = SHA_512) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(user=user, mechanism=mechanism)


def shown(cluster: Cluster, expected: Mapping[str, ScramIterations]) -> None:
    """Wait until the cluster tells just these users: brokers learn of them after they answered."""
    eventually(
        lambda: users_of(cluster),
        lambda users: users == expected,
        what=f"the users {expected}",
    )


def test_a_user_gets_mechanisms_one_by_one_and_loses_them(cluster: Cluster) -> None:
    assert users_of(cluster) == {}
    assert send(cluster, setting("sales-app")).ok
    shown(cluster, {"sales-app": {SHA_512: 8192}})
    assert send(cluster, setting("sales-app", SHA_256, 4096)).ok
    shown(cluster, {"sales-app": {SHA_256: 4096, SHA_512: 8192}})
    assert send(cluster, setting("sales-app", SHA_512, 16384)).ok
    shown(cluster, {"sales-app": {SHA_256: 4096, SHA_512: 16384}})
    assert send(cluster, removal("sales-app")).ok
    shown(cluster, {"sales-app": {SHA_256: 4096}})
    assert send(cluster, removal("sales-app", SHA_256)).ok
    shown(cluster, {})


def test_only_the_users_that_are_asked_for_are_told(cluster: Cluster) -> None:
    batch = [setting("a"), setting("b"), setting("c", SHA_256)]
    results = cluster.execute(batch, validate_only=False, principal="User:kgitops")
    assert [result.ok for result in results] == [True] * 3
    shown(cluster, {"a": {SHA_512: 8192}, "b": {SHA_512: 8192}, "c": {SHA_256: 8192}})
    known = users_of(cluster, frozenset({"b", "nobody"}))
    assert known == {"b": {SHA_512: 8192}}
    assert users_of(cluster, frozenset()) == {}


def test_two_mechanisms_of_a_user_in_one_batch(cluster: Cluster) -> None:
    """A controller takes one alteration of a user in a request (KIP-554)."""
    batch = [setting("a", SHA_256), setting("a", SHA_512)]
    results = cluster.execute(batch, validate_only=False, principal="User:kgitops")
    assert [result.ok for result in results] == [True, True]
    shown(cluster, {"a": {SHA_256: 8192, SHA_512: 8192}})


@pytest.mark.parametrize("iterations", [4095, 16385])
def test_iterations_have_limits(cluster: Cluster, iterations: int) -> None:
    result = send(cluster, setting("a", SHA_256, iterations))
    assert result.code is ErrorCode.UNACCEPTABLE_CREDENTIAL
    assert users_of(cluster) == {}


def test_what_is_not_there_is_not_removed(cluster: Cluster) -> None:
    assert send(cluster, setting("a", SHA_256)).ok
    shown(cluster, {"a": {SHA_256: 8192}})
    assert send(cluster, removal("a", SHA_512)).code is ErrorCode.RESOURCE_NOT_FOUND
    assert send(cluster, removal("b", SHA_256)).code is ErrorCode.RESOURCE_NOT_FOUND
    assert users_of(cluster) == {"a": {SHA_256: 8192}}


def test_nothing_is_sent_without_a_password(cluster: Cluster) -> None:
    unread = AlterUserScramCredentialsRequest(user="a", mechanism=SHA_512, iterations=8192)
    with pytest.raises((TypeError, ValueError), match="the password of the user a was not read"):
        send(cluster, unread)
    assert users_of(cluster) == {}
