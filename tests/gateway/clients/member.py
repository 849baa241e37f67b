"""A member of ``emea.sales`` for clients of other languages than Java: logins and names."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateway.clients.entrance import Entrance
from gateway.clients.tenants import LISTENER, SALES, USERS, Tenant
from msgspec import Struct

from kgitops.sandbox.layout import login_configs

USER = "sales-app"


class Member(Struct, frozen=True, kw_only=True):
    """Where and as whom a client logs in, and what it calls its topics and groups.

    ``physical`` is the brokers' name of ``out``, by which no member may reach it. Names are the
    brokers' own where there is no gateway.
    """

    servers: str
    authority: Path
    into: str
    out: str
    quiet: str
    prefix: str
    physical: str
    topics: tuple[str, ...]
    is_gateway: bool
    pattern: str
    """A regular expression that both topics match, and no other."""

    def librdkafka(self, mechanism: str = "SCRAM-SHA-512") -> dict[str, Any]:
        """The configs of librdkafka."""
        return {
            "bootstrap.servers": self.servers,
            "security.protocol": LISTENER,
            "ssl.ca.location": str(self.authority),
            **login_configs(USER, USERS[USER], mechanism),
        }

    def kafka_python(self) -> dict[str, Any]:
        """The settings of kafka-python."""
        return {
            "bootstrap_servers": self.servers.split(","),
            "security_protocol": LISTENER,
            "ssl_cafile": str(self.authority),
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": USER,
            "sasl_plain_password": USERS[USER],
        }

    def told(self) -> str:
        """JSON for the programs in other languages."""
        return json.dumps(
            {
                "servers": self.servers.split(","),
                "user": USER,
                "password": USERS[USER],
                "authority": str(self.authority),
                "in": self.into,
                "out": self.out,
                "quiet": self.quiet,
                "prefix": self.prefix,
                "physical": self.physical,
                "topics": self.topics,
                "pattern": self.pattern,
                "gateway": self.is_gateway,
            }
        )


def member(entrance: Entrance, tenants: Mapping[str, Tenant], client: str) -> Member:
    """That of one client, whose topics begin with its name, as do its groups."""
    links = tenants[SALES].links
    login = entrance.login(USER)
    into, out = f"{client}.in", f"{client}.out"
    own, shared = re.escape(links[into]), re.escape(links[out])
    return Member(
        servers=entrance.servers,
        authority=entrance.authority,
        into=login.topic(into),
        out=login.topic(out),
        quiet=login.topic(f"{client}.quiet"),
        prefix=login.group(f"{client}-"),
        physical=links[out] if entrance.is_gateway else "no.such.either",
        topics=tuple(sorted({*map(login.topic, links)})),
        is_gateway=entrance.is_gateway,
        pattern=rf"^{client}\.(in|out)$" if entrance.is_gateway else f"^({own}|{shared})$",
    )
