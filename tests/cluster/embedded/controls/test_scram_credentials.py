"""AlterUserScramCredentials and DescribeUserScramCredentials (KIP-554)."""

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from cluster.clusters import a_cluster, a_guarded_cluster, admin, cluster_grant
from cluster.embedded.bound.tenancies import SALES, connect, on_cluster, two_tenants

from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.controls.scram import ScramDeletion, ScramUpsertion
from kgitops.cluster.embedded.options import Compat
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.cluster.embedded.store.store import checksum
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.results import ErrorCode

SHA_256, SHA_512 = ScramMechanism
OWN = "the password"


def setting(user: str, mechanism: ScramMechanism | None = SHA_256, iterations: int = 4096):
    salted = hashlib.pbkdf2_hmac("sha256", OWN.encode(), b"salt", 4096)
    return ScramUpsertion(
        user=user,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=salted,
    )


def removing(user: str, mechanism: ScramMechanism | None = SHA_256):
    return ScramDeletion(user=user, mechanism=mechanism)


def altered(client, *items: ScramDeletion | ScramUpsertion) -> dict[str, tuple[int, str | None]]:
    results = client.alter_user_scram_credentials(
        deletions=[item for item in items if isinstance(item, ScramDeletion)],
        upsertions=[item for item in items if isinstance(item, ScramUpsertion)],
    )
    return {user: (result.code, result.message) for user, result in results.items()}


def described(client, users: Sequence[str] | None = None):
    rows = client.describe_user_scram_credentials(users)
    return {row.user: dict(row.iterations) if row.result.ok else row.result.code for row in rows}


DONE = (0, None)
TWICE = (92, "A user credential cannot be altered twice in the same request")


@pytest.mark.parametrize(
    ("items", "answer"),
    [
        ([setting("", SHA_256)], (93, "Username must not be empty")),
        ([setting("a", None)], (33, "Unknown SCRAM mechanism")),
        ([removing("a", None)], (33, "Unknown SCRAM mechanism")),
        ([setting("a", iterations=4095)], (93, "Too few iterations")),
        ([setting("a", iterations=16385)], (93, "Too many iterations")),
        ([removing("a")], (91, "Attempt to delete a user credential that does not exist")),
        ([setting("a"), setting("a", SHA_512)], TWICE),
        ([setting("a"), setting("a"), setting("a")], TWICE),
        ([removing("alice"), setting("alice")], TWICE),
    ],
)
def test_refused(items, answer):
    """As ScramControlManager says it; nothing is written for that user, all for others."""
    client = admin(a_cluster())
    altered(client, setting("alice"))
    assert altered(client, *items, setting("other")) == {items[0].user: answer, "other": DONE}
    assert described(client) == {"alice": {SHA_256: 4096}, "other": {SHA_256: 4096}}


def test_described_twice():
    client = admin(a_cluster())
    altered(client, setting("alice"))
    (row,) = client.describe_user_scram_credentials(["alice", "alice"])
    assert (row.result.code, row.result.message) == (
        92,
        "Cannot describe SCRAM credentials for the same user twice in a single request: alice",
    )


@pytest.mark.parametrize("compat", Compat)
def test_rights(compat: Compat):
    """Alter and Describe on the cluster, else 31 for the whole request; Alter implies Describe."""
    nobody = admin(a_guarded_cluster(compat), "User:a")
    assert {code for code, _ in altered(nobody, setting("x"), removing("y")).values()} == {31}
    with pytest.raises(Refusal) as refusal:
        nobody.describe_user_scram_credentials()
    assert refusal.value.result.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    reader = admin(a_guarded_cluster(compat, cluster_grant(Operation.DESCRIBE)), "User:a")
    assert described(reader) == {}
    assert altered(reader, setting("x"))["x"][0] == 31
    writer = admin(a_guarded_cluster(compat, cluster_grant(Operation.ALTER)), "User:a")
    assert altered(writer, setting("x")) == {"x": DONE}
    assert described(writer) == {"x": {SHA_256: 4096}}


def test_in_a_virtual_cluster_only_its_users():
    """VC-160c, VC-151, VC-159: names are the whole cluster's, so foreign ones are refused."""
    cluster = two_tenants(on_cluster(Operation.ALTER, SALES), on_cluster(Operation.ALTER, SALES,
                                                                         "User:admin"))  # fmt: skip
    altered(admin(cluster, "User:root"), setting("b"), setting("stranger"))
    for principal in ("User:a", "User:admin"):
        answers = altered(connect(cluster, principal), setting("a"), setting("b"), setting("new"))
        assert {user: code for user, (code, _) in answers.items()} == {"a": 0, "b": 31, "new": 31}
        assert described(connect(cluster, principal)) == {"a": {SHA_256: 4096}}
        asked = described(connect(cluster, principal), ["b", "stranger"])
        assert set(asked.values()) == {ErrorCode.RESOURCE_NOT_FOUND}
    assert altered(connect(cluster, "User:b"), setting("b"))["b"][0] == 31


def test_the_store_keeps_keys_and_no_password(tmp_path: Path):
    """RFC 5802 §3: nobody can log in with StoredKey and ServerKey alone."""
    path = tmp_path / "local.db"
    with closing(boot(path)) as cluster:
        altered(admin(cluster), setting("alice"))
        image = cluster.controller.image()
        cluster.controller._store._append_snapshot(image, cluster.controller._position.offset)
    salted = hashlib.pbkdf2_hmac("sha256", OWN.encode(), b"salt", 4096)
    data = path.read_bytes()
    assert OWN.encode() not in data
    assert salted not in data
    assert salted.hex().encode() not in data
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)
        connection.execute("DELETE FROM log")
        connection.commit()
    with closing(boot(path)) as cluster:
        assert cluster.controller.image() == image
        assert described(admin(cluster)) == {"alice": {SHA_256: 4096}}


def test_a_store_without_such_users_stays_one_that_an_older_kgitops_opens(tmp_path: Path):
    """Its snapshots have no key that the older one does not know, nor does it miss one."""
    path = tmp_path / "local.db"
    with closing(boot(path)) as cluster:
        image = cluster.controller.image()
        cluster.controller._store._append_snapshot(image, cluster.controller._position.offset)
    with closing(sqlite3.connect(path)) as connection:
        ((offset, text, crc),) = connection.execute(
            "SELECT log_offset, image, crc FROM snapshot"
        ).fetchall()
        assert "scram" not in json.loads(text)
        assert crc == checksum(offset, text)
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
