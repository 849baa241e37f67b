"""Policies of embedded brokers judge what clients ask for users, without any password."""

from cluster.clusters import admin
from cluster.policing import policed

from kgitops.cluster.embedded.controls.scram import ScramDeletion, ScramUpsertion
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.results import ErrorCode
from kgitops.policy import (
    AlterUserScramCredentialsRequest,
    ClusterState,
    PolicyViolation,
    UserManagementPolicy,
)


class OnlyMore(UserManagementPolicy):
    """Refuses what takes a mechanism away, and remembers what it saw."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int | None, dict[str, int]]] = []

    def validate_alter_user_scram_credentials(
        self, request: AlterUserScramCredentialsRequest, cluster_state: ClusterState
    ) -> None:
        held = dict(cluster_state.user_credentials(request.user))
        self.seen.append((str(request.mechanism), request.iterations, held))
        assert "word" not in repr(request)
        if request.iterations is None:
            raise PolicyViolation("logins stay")


def test_a_client_s_request_is_judged_user_by_user() -> None:
    policy = OnlyMore()
    client = admin(policed(policy))
    sha_512 = ScramMechanism.SHA_512
    setting = ScramUpsertion(
        user="app", mechanism=sha_512, iterations=4096, salt=b"salt", salted_password=b"a word"
    )
    assert client.alter_user_scram_credentials(upsertions=[setting])["app"].ok
    gone = client.alter_user_scram_credentials(
        deletions=[ScramDeletion(user="app", mechanism=sha_512)]
    )["app"]
    assert (gone.code, gone.message) == (ErrorCode.POLICY_VIOLATION, "logins stay")
    assert client.describe_user_scram_credentials()[0].iterations == {sha_512: 4096}
    assert policy.seen == [
        ("SCRAM-SHA-512", 4096, {}),
        ("SCRAM-SHA-512", None, {"SCRAM-SHA-512": 4096}),
    ]
