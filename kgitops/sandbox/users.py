"""Who may log in to a sandbox with SASL."""

from collections.abc import Mapping

ADMIN = "admin"
USERS: Mapping[str, str] = {
    ADMIN: "admin-secret",
    "alice": "alice-secret",
    "bob": "bob-secret",
}
"""Passwords by name, for PLAIN and both SCRAMs. They protect nothing: brokers are on loopback."""


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
