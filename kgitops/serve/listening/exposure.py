"""Keeps a listener from being open to a network without a login."""

import ipaddress

from kgitops.model.errors import UsageError
from kgitops.model.resources.names import is_loopback
from kgitops.serve.listening.settings import OAUTHBEARER, PLAIN, ListenerSettings

_READABLE = {PLAIN: "PLAIN passwords", OAUTHBEARER: "OAUTHBEARER tokens"}
"""The mechanisms by which clients send what lets anybody in who has it."""


def check_exposure(settings: ListenerSettings, *, allow_anonymous: bool = False) -> None:
    """Refuse a listener that anybody on a network could use.

    Raises:
        UsageError: it is beyond loopback, and lets in whoever comes, or passwords can be read.
    """
    if is_loopback(settings.host):
        return
    address = f"the listener {settings.name} on {settings.host}"
    if not settings.asks_for_login and not allow_anonymous:
        raise UsageError(
            f"{address} would be open to everybody; set sasl.enabled.mechanisms or "
            "ssl.client.auth=required in the cluster's configs, listen on 127.0.0.1, or give "
            "--allow-anonymous"
        )
    mechanisms = settings.sasl.mechanisms if settings.sasl and not settings.protocol.tls else ()
    for mechanism, secrets in _READABLE.items():
        if mechanism in mechanisms:
            raise UsageError(
                f"{address} would take {secrets} without TLS, which anybody on the way can read; "
                "use SASL_SSL in listener.security.protocol.map, or SCRAM instead of "
                f"{mechanism}"
            )
    if settings.advertised_host is None and _is_unspecified(settings.host):
        raise UsageError(
            f"{address} needs an address that clients can connect to; give it in "
            "advertised.listeners"
        )


def _is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
