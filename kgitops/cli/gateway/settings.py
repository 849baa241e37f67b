"""The settings of a gateway from the words of a command line."""

import ipaddress
import re
from pathlib import Path

from kgitops.cli.gateway.options import EntranceOptions, LimitOptions
from kgitops.cli.reconcile.options import parse_seconds
from kgitops.cli.running.streams import check_place
from kgitops.gateway.listening.addresses import ID
from kgitops.gateway.settings import Entrance, GatewayOptions
from kgitops.gateway.sockets.limits import GatewayLimits
from kgitops.model.errors import UsageError
from kgitops.serve.http.listener import parse_address
from kgitops.serve.listening.reading_logins import parse_principal_rules
from kgitops.serve.listening.settings import PrincipalRule

_MIB = 1024 * 1024
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_PATTERN = re.compile(r"[A-Za-z0-9.-]*\$\(id\)[A-Za-z0-9.-]*")


def settings_of(
    options: EntranceOptions, limits: LimitOptions, access_log: Path | None
) -> GatewayOptions:
    """Read the options.

    Raises:
        UsageError: one has an impossible value, or two don't go together.
    """
    if (options.tls_cert is None) != (options.tls_key is None):
        has, lacks = ("key", "cert") if options.tls_cert is None else ("cert", "key")
        raise UsageError(f"--tls-{has} is given without --tls-{lacks}; TLS needs both")
    _check_client_certificates(options)
    check_place(access_log, "--access-log")
    entrances = _entrances(options)
    if limits.workers > 1 and any(entrance.port == 0 for entrance in entrances):
        raise UsageError("--workers shares the ports of --listen, so port 0 can't be; choose one")
    return GatewayOptions(
        entrances=entrances,
        certificate=options.tls_cert,
        key=options.tls_key,
        client_ca=options.client_ca,
        credentials=options.client_credentials,
        principal_rules=_principal_rules(options.principal_mapping),
        allow_plaintext=options.allow_plaintext,
        limits=GatewayLimits(
            connections=limits.max_connections,
            request_bytes=limits.max_request * _MIB,
            memory_bytes=(limits.max_memory or 0) * _MIB,
            login_s=parse_seconds(limits.login_timeout, "--login-timeout"),
            idle_s=parse_seconds(limits.idle_timeout, "--idle-timeout"),
            age_s=parse_seconds(limits.max_age, "--max-age") if limits.max_age else 0,
            drain_s=parse_seconds(limits.drain, "--drain"),
        ),
        load_balancers=tuple(map(_network, options.proxy_protocol or ())),
        claim=options.principal_claim,
        stale_s=parse_seconds(limits.max_table_age, "--max-table-age"),
        workers=limits.workers,
        access_log=access_log,
    )


def _check_client_certificates(options: EntranceOptions) -> None:
    given = {"--client-ca": options.client_ca, "--client-credentials": options.client_credentials}
    missing = [option for option, file in given.items() if file is None]
    if missing and (len(missing) == 1 or options.principal_mapping is not None):
        raise UsageError(
            "clients log in by certificates with --client-ca and --client-credentials together; "
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        )
    if not missing and options.tls_cert is None:
        raise UsageError("--client-ca needs TLS; give --tls-cert and --tls-key")


def _principal_rules(text: str | None) -> tuple[PrincipalRule, ...]:
    if text is None:
        return (PrincipalRule(),)
    problems: list[str] = []
    rules = parse_principal_rules(text, problems.append)
    if problems:
        raise UsageError(f"--principal-mapping {problems[0]}")
    return rules


def _entrances(options: EntranceOptions) -> tuple[Entrance, ...]:
    host, port = _address(options.listen, "--listen")
    told, told_port = _advertised(options.advertise)
    if told is None:
        if _is_unspecified(host):
            raise UsageError(
                f"--listen {options.listen} is every address of this machine; say by --advertise "
                "which host clients shall connect to"
            )
        told = host
    if options.sni is not None:
        if not _PATTERN.fullmatch(options.sni):
            raise UsageError(
                f"--sni {options.sni!r} is not a host name with {ID} in it, as in "
                f"broker-{ID}.kafka.example"
            )
        if options.tls_cert is None:
            raise UsageError("--sni tells brokers apart by TLS; give --tls-cert and --tls-key")
    elif told_port is not None:
        raise UsageError(
            "--advertise has a port, but each broker has one of its own; leave it out, or give "
            "--sni"
        )
    bound, others = _bound(options.virtual_cluster or [])
    first = Entrance(
        host=host,
        port=port,
        advertised_host=told,
        advertised_port=told_port,
        virtual_cluster=bound,
        sni=options.sni,
    )
    return (first, *(_other(name, text, options, first) for name, text in others))


def _bound(words: list[str]) -> tuple[str | None, list[tuple[str, str]]]:
    """The virtual cluster of the first listener, and those with listeners of their own."""
    plain = [word for word in words if "=" not in word]
    if len(plain) > 1:
        raise UsageError(
            f"--listen can be for one virtual cluster, not for {' and '.join(plain)}; give the "
            "others an address, as in --virtual-cluster NAME=HOST:PORT"
        )
    others = [(name, text) for name, _, text in (w.partition("=") for w in words if "=" in w)]
    names = [*plain, *(name for name, _ in others)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--virtual-cluster {twice} is given twice; leave one out")
    return (plain[0] if plain else None), others


def _other(name: str, text: str, options: EntranceOptions, first: Entrance) -> Entrance:
    host, port = _address(text, "--virtual-cluster")
    told = first.advertised_host if options.advertise is not None else host
    if _is_unspecified(told):
        raise UsageError(
            f"--virtual-cluster {name}={text} is every address of this machine; say by --advertise "
            "which host clients shall connect to"
        )
    return Entrance(
        host=host, port=port, advertised_host=told, virtual_cluster=name, sni=options.sni
    )


def _address(text: str, option: str) -> tuple[str, int]:
    try:
        return parse_address(text)
    except UsageError as error:
        raise UsageError(str(error).replace("--listen", option, 1)) from None


def _advertised(text: str | None) -> tuple[str | None, int | None]:
    if text is None:
        return None, None
    if _HOST.fullmatch(text):
        return text, None
    try:
        host, port = parse_address(text)
    except UsageError:
        host, port = "", 0
    if not host or not port:
        raise UsageError(f"--advertise {text!r} is not a host; write HOST, or HOST:PORT with --sni")
    return host, port


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text))
    except ValueError:
        raise UsageError(
            f"--proxy-protocol {text!r} is not a network; write one such as 10.0.0.0/24, or an "
            "address"
        ) from None


def _is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
