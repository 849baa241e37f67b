"""Who may log in to a sandbox with SASL."""

import re
from collections.abc import Mapping

from kgitops.model.errors import UsageError

_PLAIN = "[A-Za-z0-9._-]+"
ADMIN = "admin"
USERS: Mapping[str, str] = {
    ADMIN: "admin-secret",
    "alice": "alice-secret",
    "bob": "bob-secret",
}
"""Passwords by name, for PLAIN and both SCRAMs. They protect nothing: brokers are on loopback."""


def check_users(users: Mapping[str, str]) -> None:
    """Refuse what Kafka's options and properties would have to quote.

    Raises:
        UsageError: a name or a password has other characters, or there is no administrator.
    """
    for name, password in users.items():
        if not (re.fullmatch(_PLAIN, name) and re.fullmatch(_PLAIN, password)):
            raise UsageError(
                f"the sandbox's user {name!r} or its password has characters that Kafka would have "
                "to quote; use letters, digits, '.', '_' and '-'"
            )
    if ADMIN not in users:
        raise UsageError(f"the sandbox needs the user {ADMIN!r}, which its brokers log in as")


def login_configs(name: str, password: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
    """What librdkafka needs to log in."""
    return {"sasl.mechanism": mechanism, "sasl.username": name, "sasl.password": password}


def login_module(name: str, password: str, mechanism: str = "SCRAM-SHA-512") -> str:
    """The same for Java: the value of ``sasl.jaas.config``."""
    kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    return (
        f"org.apache.kafka.common.security.{kind}LoginModule required "
        f'username="{name}" password="{password}";'
    )


def plain_module(users: Mapping[str, str]) -> str:
    """``sasl.jaas.config`` of a broker: whom PLAIN lets in, and who the broker itself is."""
    known = " ".join(f'user_{name}="{password}"' for name, password in users.items())
    return f"{login_module(ADMIN, users[ADMIN], 'PLAIN')[:-1]} {known};"
