"""SCRAM users on the wire: what one client sets, another logs in with."""

import logging
from contextlib import closing
from pathlib import Path

import pytest
from cluster.embedded.bound.tenancies import SALES, change, execute, on_cluster
from serve.login.logging_in import PASSWORD, SASL, authenticate, log_in, scram_final, shake_hands
from serve.login.logging_in import served as with_logins
from serve.raw_client import RawClient, raw_client
from serve.served import client_of

from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.options import Options
from kgitops.model.requests import CreateVirtualClusterRequest
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.wire import messages

ALTER = messages.AlterUserScramCredentialsRequest
DESCRIBE = messages.DescribeUserScramCredentialsRequest
REQUESTS = ("AlterUserScramCredentials", "DescribeUserScramCredentials")


def upsertion(user: str, mechanism: int = 2, iterations: int = 4096):
    return ALTER.ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=b"x" * 64,
    )


def describe(client: RawClient, *users: str):
    named = [DESCRIBE.UserName(name=user) for user in users]
    return client.ask(REQUESTS[1], 0, DESCRIBE(users=named or None))


def test_set_and_described() -> None:
    """Keys and salts are told to nobody."""
    with client_of(brokers=1) as client:
        request = ALTER(
            upsertions=[upsertion("alice"), upsertion("bob", 9), upsertion("carol", 1, 1)],
            deletions=[ALTER.ScramCredentialDeletion(name="dave", mechanism=1)],
        )
        answer = client.ask(REQUESTS[0], 0, request)
        assert {(row.user, row.error_code, row.error_message) for row in answer.results} == {
            ("alice", 0, None),
            ("bob", 33, "Unknown SCRAM mechanism"),
            ("carol", 93, "Too few iterations"),
            ("dave", 91, "Attempt to delete a user credential that does not exist"),
        }
        (row,) = describe(client).results
        assert row.user == "alice"
        assert [(info.mechanism, info.iterations) for info in row.credential_infos] == [(2, 4096)]
        assert [row.error_code for row in describe(client, "alice", "bob").results] == [0, 91]


def test_in_a_virtual_cluster_only_its_members(tmp_path: Path) -> None:
    """VC-160c, VC-151, VC-159: for a user who logs in and administers its virtual cluster."""
    path = tmp_path / "served.db"
    with closing(boot(path, brokers=1, options=Options(static_configs=SASL))) as cluster:
        execute(cluster, CreateVirtualClusterRequest(virtual_cluster=SALES))
        change(cluster, SALES, EntityType.USER, "User:bob")
        rights = [on_cluster(Operation.ALTER, SALES, "User:bob")]
        assert all(result.ok for result in EmbeddedAdmin(cluster.controller).create_acls(rights))
    with with_logins(SASL, path) as server, raw_client(server.endpoints[0]) as client:
        assert log_in(client, "bob", "bob's").error_code == 0
        asked = [upsertion("bob"), upsertion("carol"), upsertion("new")]
        answer = client.ask(REQUESTS[0], 0, ALTER(upsertions=asked))
        codes = {row.user: row.error_code for row in answer.results}
        assert codes == {"bob": 0, "carol": 31, "new": 31}
        gone = [ALTER.ScramCredentialDeletion(name="carol", mechanism=2)]
        (row,) = client.ask(REQUESTS[0], 0, ALTER(deletions=gone)).results
        assert row.error_code == 31
        assert [row.user for row in describe(client).results] == ["bob"]
        assert [row.error_code for row in describe(client, "carol", "bob").results] == [91, 0]


def test_librdkafka_adds_a_user_who_then_logs_in(caplog: pytest.LogCaptureFixture) -> None:
    """And the password, which the client hashes, is in no line of the log."""
    from confluent_kafka.admin import (
        AdminClient,
        ScramCredentialInfo,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )
    from confluent_kafka.admin import ScramMechanism as Mechanism

    configs = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
    }
    with caplog.at_level(logging.DEBUG, "kgitops"), with_logins(SASL) as server:
        admin = AdminClient(
            {"bootstrap.servers": str(server.endpoints[0]), **configs},
            logger=logging.getLogger("silent"),
        )
        info = ScramCredentialInfo(Mechanism.SCRAM_SHA_256, 4096)
        added = [UserScramCredentialUpsertion("erin", info, b"erin's own word")]
        for done in admin.alter_user_scram_credentials(added).values():
            done.result(20)
        assert log_in_by_scram(server.endpoints[0]) == 0
        gone = [UserScramCredentialDeletion("erin", Mechanism.SCRAM_SHA_256)]
        for done in admin.alter_user_scram_credentials(gone).values():
            done.result(20)
        assert log_in_by_scram(server.endpoints[0]) == 58
    assert "erin's own word" not in caplog.text


def log_in_by_scram(endpoint) -> int:
    with raw_client(endpoint) as client:
        shake_hands(client, "SCRAM-SHA-256")
        first = "n,,n=erin,r=abc"
        server_first = authenticate(client, first.encode()).auth_bytes.decode()
        final, _ = scram_final(ScramMechanism.SHA_256, "erin's own word", first, server_first)
        return authenticate(client, final.encode()).error_code
