"""The options of ``kgitops gateway``, each group one value."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct


class EntranceOptions(Struct, frozen=True, kw_only=True):
    """The addresses that clients connect to, and the certificate that they see there."""

    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Where clients begin. Broker N has port PORT+1+N, unless --sni is given; port 0 "
            "takes free ones.",
        ),
    ]
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="What clients are told instead of the host of --listen; the port is for --sni.",
        ),
    ] = None
    virtual_cluster: Annotated[
        list[str] | None,
        typer.Option(
            "--virtual-cluster",
            metavar="NAME[=HOST:PORT]",
            help="Everybody who comes by --listen, or by this address, is in this virtual cluster; "
            "else it depends on who logs in. May be repeated.",
        ),
    ] = None
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            "--tls-cert",
            metavar="FILE",
            help="The certificate for clients and its chain, PEM; read again when it changes.",
        ),
    ] = None
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key, without a password.")
    ] = None
    client_ca: Annotated[
        Path | None,
        typer.Option(
            "--client-ca",
            metavar="FILE",
            help="Clients log in by certificates of these authorities, PEM; needs "
            "--client-credentials.",
        ),
    ] = None
    client_credentials: Annotated[
        Path | None,
        typer.Option(
            "--client-credentials",
            metavar="FILE",
            help="What each of them logs in with at the brokers, YAML: by the certificate's "
            "principal, configs of a login.",
        ),
    ] = None
    principal_mapping: Annotated[
        str | None,
        typer.Option(
            "--principal-mapping",
            metavar="RULES",
            help="How names of certificates become principals, as ssl.principal.mapping.rules of "
            "the brokers. Default: as they are.",
        ),
    ] = None
    sni: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="One port for all brokers, told apart by host names in TLS, such as "
            "'broker-$(id).kafka.example'.",
        ),
    ] = None
    allow_plaintext: Annotated[
        bool,
        typer.Option(
            "--allow-plaintext",
            help="Let clients of other machines log in without TLS although the brokers ask for "
            "it.",
        ),
    ] = False
    proxy_protocol: Annotated[
        list[str] | None,
        typer.Option(
            "--proxy-protocol",
            metavar="NETWORK",
            help="Load balancers in this network, such as 10.0.0.0/24, tell clients' addresses by "
            "a PROXY header. May be repeated.",
        ),
    ] = None
    principal_claim: Annotated[
        str,
        typer.Option(
            "--principal-claim",
            metavar="CLAIM",
            help="The claim of an OAUTHBEARER token that names the user, as the brokers have it.",
        ),
    ] = "sub"


class LimitOptions(Struct, frozen=True, kw_only=True):
    """The limits of connections, and the age of the names."""

    workers: Annotated[
        int, typer.Option(metavar="N", min=1, max=64, help="How many processes share the ports.")
    ] = 1
    max_connections: Annotated[
        int,
        typer.Option("--max-connections", metavar="N", min=1, help="Of clients, in each process."),
    ] = 10_000
    max_request: Annotated[
        int,
        typer.Option("--max-request", metavar="MIB", min=1, max=1024, help="Of one request."),
    ] = 100
    max_memory: Annotated[
        int | None,
        typer.Option(
            "--max-memory",
            metavar="MIB",
            min=1,
            help="Of all requests and responses over 1 MiB under way, in each process; others of "
            "this size wait. Default: any.",
        ),
    ] = None
    max_age: Annotated[
        str | None,
        typer.Option(
            "--max-age",
            metavar="TIME",
            help="Close connections of this age, such as 12h, between two requests.",
        ),
    ] = None
    idle_timeout: Annotated[
        str, typer.Option("--idle-timeout", metavar="TIME", help="Close what is idle for so long.")
    ] = "11m"
    login_timeout: Annotated[
        str, typer.Option("--login-timeout", metavar="TIME", help="Time for TLS and the login.")
    ] = "30s"
    drain: Annotated[
        str, typer.Option(metavar="TIME", help="At the end, the time for requests under way.")
    ] = "30s"
    max_table_age: Annotated[
        str,
        typer.Option(
            "--max-table-age",
            metavar="TIME",
            help="While the registry can't be read, take new connections for so long.",
        ),
    ] = "5m"


class WatchOptions(Struct, frozen=True, kw_only=True):
    """The ways to look at the gateway."""

    ready_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the line that says it is ready here, too."),
    ] = None
    metrics: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Answer /metrics, /healthz and /readyz here."),
    ] = None
    access_log: Annotated[
        Path | None,
        typer.Option(
            "--access-log",
            metavar="FILE",
            help="Write refusals here, a line of JSON each; else to the standard error stream.",
        ),
    ] = None
