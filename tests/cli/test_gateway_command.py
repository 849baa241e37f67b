"""``kgitops gateway``: wrong words, and command lines that can't be served."""

from pathlib import Path

import pytest
from cli.conftest import Kgitops

from kgitops.cli.gateway.options import EntranceOptions, LimitOptions
from kgitops.cli.gateway.settings import settings_of
from kgitops.gateway.settings import Entrance

LOCAL = ("--listen", "127.0.0.1:0")
TLS = ("--tls-cert", "a.pem", "--tls-key", "a.pem")
CERTIFICATES = ("--client-ca", "ca.pem", "--client-credentials", "clients.yaml")
FAR = ("-c", "kafka://127.0.0.1:1", *LOCAL)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "missing option '--listen'"),
        (("--listen", "9092"), "--listen '9092' is not an address"),
        (("--listen", "0.0.0.0:9092"), "say by --advertise which host clients shall connect to"),
        ((*LOCAL, "--tls-cert", "a.pem"), "--tls-cert is given without --tls-key"),
        ((*LOCAL, "--sni", "broker-$(id).x"), "--sni tells brokers apart by TLS"),
        (
            (*LOCAL, "--sni", "broker.x", "--tls-cert", "a", "--tls-key", "b"),
            "--sni 'broker.x' is not a host name with $(id) in it",
        ),
        ((*LOCAL, "--advertise", "kafka:9092"), "--advertise has a port, but each broker has one"),
        ((*LOCAL, "--advertise", "a b"), "--advertise 'a b' is not a host"),
        (
            (*LOCAL, "--virtual-cluster", "a", "--virtual-cluster", "b"),
            "--listen can be for one virtual cluster, not for a and b",
        ),
        (
            (*LOCAL, "--virtual-cluster", "a", "--virtual-cluster", "a=127.0.0.1:0"),
            "--virtual-cluster a is given twice",
        ),
        ((*LOCAL, "--virtual-cluster", "a=9092"), "--virtual-cluster '9092' is not an address"),
        ((*LOCAL, "--proxy-protocol", "10.0.0.1/8"), "is not a network"),
        ((*LOCAL, *TLS, *CERTIFICATES[:2]), "together; --client-credentials is missing"),
        ((*LOCAL, *TLS, *CERTIFICATES[2:]), "together; --client-ca is missing"),
        ((*LOCAL, *CERTIFICATES), "--client-ca needs TLS; give --tls-cert and --tls-key"),
        ((*LOCAL, "--principal-mapping", "DEFAULT"), "--client-credentials are missing"),
        (
            (*LOCAL, *TLS, *CERTIFICATES, "--principal-mapping", "RULE:x"),
            "--principal-mapping can't be read from 'RULE:x' on",
        ),
        ((*FAR, *TLS, *CERTIFICATES), "the cluster's security.protocol is plaintext"),
        ((*LOCAL, "--drain", "soon"), "--drain 'soon' is not a time"),
        ((*LOCAL, "--workers", "2"), "--workers shares the ports of --listen"),
        ((*LOCAL, "--metrics", "9090"), "is not an address"),
        ((*LOCAL, "--access-log", "nowhere/log"), "there is no folder nowhere"),
        ((*LOCAL, "--ready-file", "nowhere/ready"), "there is no folder nowhere"),
    ],
)
def test_wrong_words(words: tuple[str, ...], sentence: str, here: Path, kgitops: Kgitops) -> None:
    refused = kgitops("gateway", *words)
    assert refused.code == 64
    assert sentence in " ".join(refused.err.split())
    assert refused.out == ""


def test_an_embedded_cluster_needs_none(here: Path, kgitops: Kgitops) -> None:
    refused = kgitops("gateway", "-c", "embedded:", *LOCAL)
    assert refused.code == 64
    assert "knows virtual clusters itself" in refused.err


def test_a_cluster_that_cant_be_reached(here: Path, kgitops: Kgitops) -> None:
    refused = kgitops("gateway", *FAR, "--ready-file", "ready")
    assert refused.code == 8
    assert "127.0.0.1:1" in refused.err
    assert not (here / "ready").exists()


def test_addresses_of_all_entrances() -> None:
    options = EntranceOptions(
        listen="0.0.0.0:9092",
        advertise="kafka.example",
        virtual_cluster=["emea.sales", "emea.audit=[::1]:9192"],
    )
    first, second = settings_of(options, LimitOptions(), None).entrances
    assert first == Entrance(
        host="0.0.0.0",  # noqa: S104 (it is not bound)
        port=9092,
        advertised_host="kafka.example",
        virtual_cluster="emea.sales",
    )
    assert second == Entrance(
        host="::1", port=9192, advertised_host="kafka.example", virtual_cluster="emea.audit"
    )
