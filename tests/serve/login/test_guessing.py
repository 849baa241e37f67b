"""Guessing who there is, and using again what was overheard."""

import base64
from collections.abc import Mapping
from pathlib import Path

import pytest
from serve.login.logging_in import PASSWORD, SASL, authenticate, scram_final, served, shake_hands
from serve.raw_client import raw_client

from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.controls.scram import ScramUpsertion
from kgitops.cluster.embedded.image.image import ScramCredential
from kgitops.model.resources.users import ScramMechanism
from kgitops.serve.login.scram import ScramExchange
from kgitops.serve.server import KafkaServer

MECHANISM = ScramMechanism.SHA_256


def test_what_was_overheard_logs_nobody_in() -> None:
    """A proof is bound to the server's nonce, which is another each time."""
    first = "n,,n=carol,r=abc"
    with served(SASL) as server:
        with raw_client(server.endpoints[0]) as client:
            shake_hands(client, MECHANISM)
            server_first = authenticate(client, first.encode()).auth_bytes.decode()
            final, _ = scram_final(MECHANISM, PASSWORD, first, server_first)
            assert authenticate(client, final.encode()).error_code == 0
        with raw_client(server.endpoints[0]) as thief:
            shake_hands(thief, MECHANISM)
            again = authenticate(thief, first.encode()).auth_bytes.decode()
            assert again != server_first
            assert authenticate(thief, final.encode()).error_code == 58


def challenge(exchange: ScramExchange, user: str) -> Mapping[str, str]:
    """The fields of the server's first message."""
    told = exchange.step(f"n,,n={user},r=abc".encode()).answer.decode()
    return dict(field.split("=", 1) for field in told.split(","))


@pytest.mark.parametrize(("salt_bytes", "iterations"), [(26, 8192), (9, 4096), (100, 16384)])
def test_a_user_that_nobody_knows_looks_like_others(salt_bytes: int, iterations: int) -> None:
    """By the length of the salt, and the number of iterations; and always the same."""
    salt = base64.b64encode(bytes(salt_bytes)).decode()
    known = ScramCredential(salt=salt, stored_key="", server_key="", iterations=iterations)
    found = []
    for user in ("alice", "nobody", "nobody", "no one"):
        users = {"alice": known}
        exchange = ScramExchange(
            MECHANISM, users.get, salt_secret=b"secret", others=lambda: [known]
        )
        found.append(challenge(exchange, user))
    assert {told["i"] for told in found} == {str(iterations)}
    assert {len(told["s"]) for told in found} == {len(salt)}
    assert [told["s"] for told in found].count(found[1]["s"]) == 2


def test_the_others_are_those_of_the_cluster() -> None:
    """Here all of them have other iterations than the least that there may be."""
    with served(SASL) as server:
        admin = EmbeddedAdmin(server.cluster.controller, principal="User:alice")
        changed = [
            ScramUpsertion(
                user=user, mechanism=MECHANISM, iterations=8192, salt=b"s" * 30,
                salted_password=bytes(32),
            )
            for user in ("alice", "carol")
        ]  # fmt: skip
        assert all(r.ok for r in admin.alter_user_scram_credentials(upsertions=changed).values())
        with raw_client(server.endpoints[0]) as client:
            shake_hands(client, MECHANISM)
            told = authenticate(client, b"n,,n=nobody,r=abc").auth_bytes.decode()
    assert told.endswith(",i=8192")


def salts(server: KafkaServer, *users: str) -> list[str]:
    """What the server's first message says of each user: salt and iterations."""
    told = []
    for user in users:
        with raw_client(server.endpoints[0]) as client:
            shake_hands(client, MECHANISM)
            answer = authenticate(client, f"n,,n={user},r=abc".encode()).auth_bytes.decode()
            told.append(answer.partition(",")[2])
    return told


def test_a_restart_does_not_show_who_exists(tmp_path: Path) -> None:
    """A user that doesn't exist keeps its salt, as one that exists does."""
    told = []
    for _ in range(2):
        with served(SASL, tmp_path / "cluster.db") as server:
            told.append(salts(server, "nobody", "no-one", "carol"))
    assert told[0] == told[1]
    assert len(set(told[0])) == 3


def test_another_store_gives_other_salts(tmp_path: Path) -> None:
    """The secret behind them is the store's, so no client can compute them."""
    told = set()
    for store in (tmp_path / "a.db", tmp_path / "b.db", None, None):
        with served(SASL, store) as server:
            told.update(salts(server, "nobody"))
    assert len(told) == 4
