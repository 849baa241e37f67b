"""Explains why no client matches a principal, a host or a quota's entity; by Kafka's own rules.

Brokers make principals of the type User (KafkaPrincipal), and compare type and name character by
character; only User:* is everyone (StandardAuthorizer). Quotas have no wildcard but the default.
"""

import ipaddress
import re
from collections.abc import Iterable
from difflib import get_close_matches

from msgspec import Struct

from kgitops.desired.findings import address, address_in_java
from kgitops.manifests.yaml.document import shown
from kgitops.model.json.declared import DesiredAcl
from kgitops.model.resources.acls import EVERYONE, host_range
from kgitops.model.source import Finding, Severity

_USER = "User"
_KNOWN_TYPES = (_USER, "Group")
"""Principal types: Kafka's own, and the one that many principal builders add."""
_ANY = "*"
_SEVERAL = re.compile(r"[,;]\s*user:", re.IGNORECASE)
# A comma that is a part of a value has a backslash before it (RFC 2253).
_SPACE_IN_DN = re.compile(r"(?<!\\),\s+(?=[A-Za-z0-9.]+=)")
_DN = re.compile(r"[A-Za-z0-9.]+=")
_BROADCAST = ipaddress.IPv4Address("255.255.255.255")


class Mismatch(Struct, frozen=True):
    """The reason why no client matches, and what to write instead."""

    problem: str
    advice: str


def principal_mismatch(principal: str) -> Mismatch | None:
    """Return why brokers see no client as this ``Type:name``; None if they may."""
    kind, _, name = principal.partition(":")
    if name != name.strip():
        name_alone = name.strip()
        problem = f"{shown(principal)} has a space around its name, which no client has"
        advice = f"write {shown(f'{kind}:{name_alone}')}" if name_alone else "write the name"
        return Mismatch(problem, advice)
    meant = _USER if _is_user(kind) else kind
    if name == _ANY and principal != EVERYONE:
        return Mismatch(
            f"to Kafka only {EVERYONE} is everyone: {shown(principal)} is a principal of the type "
            f"{kind} that is called '*'",
            f'write "{EVERYONE}"' if meant == _USER else "name the principals",
        )
    if kind not in _KNOWN_TYPES:
        user = f"{_USER}:{name if meant == _USER else principal}"
        return Mismatch(
            f"{shown(principal)} is a principal of the type {kind}, which brokers without a "
            "principal.builder.class of their own never see",
            f"write {shown(user)}" + ("" if meant == _USER else " if that is the user's name"),
        )
    return None if principal == EVERYONE else _name_mismatch(kind, name)


def _name_mismatch(kind: str, name: str) -> Mismatch | None:
    whole = shown(f"{kind}:{name}")
    if _SEVERAL.search(name):
        return Mismatch(f"{whole} is one principal to Kafka", "list them under principals")
    if name.casefold().startswith("user:"):
        inner = name[len("user:") :]
        return Mismatch(
            f"{whole} is a user whose name begins with {shown(name[: len('user:')])}",
            f"write {shown(f'{_USER}:{inner}')}",
        )
    if _ANY in name and not _DN.match(name):  # a certificate for many hosts is called CN=*.x
        return Mismatch(
            f"the '*' in {whole} is not a wildcard to Kafka, so it matches no client",
            f'name each principal, or write "{EVERYONE}" for everyone',
        )
    return _dn_mismatch(name, kind)


def user_mismatch(name: str) -> Mismatch | None:
    """Return why brokers see no user of this name, which a quota is for; None if they may."""
    if name.casefold().startswith("user:"):
        return Mismatch(
            f"a quota's user is a name, so {shown(name)} is a user whose name begins with "
            f"{shown(name[: len('user:')])}",
            f"write {shown(name[len('user:') :])}",
        )
    return _entity_mismatch(name, "user") or _dn_mismatch(name)


def client_id_mismatch(name: str) -> Mismatch | None:
    """Return why a quota's client id is no client's; None if it may be one's."""
    return _entity_mismatch(name, "client id")


def _entity_mismatch(name: str, what: str) -> Mismatch | None:
    if name != name.strip():
        advice = f"write {shown(name.strip())}" if name.strip() else "write the name"
        return Mismatch(f"the {what} {shown(name)} has a space around it, which none has", advice)
    if _ANY in name and not (what == "user" and _DN.match(name)):
        return Mismatch(
            f"quotas know no wildcard, so {shown(name)} is a {what} that has a '*' in its name",
            f"name each {what}, or write {{default: true}} for all that have no quotas of "
            "their own",
        )
    return None


def _dn_mismatch(name: str, kind: str | None = None) -> Mismatch | None:
    if not (_DN.match(name) and _SPACE_IN_DN.search(name)):
        return None
    prefix = "" if kind is None else f"{kind}:"
    return Mismatch(
        f"brokers write a certificate's name without spaces after its commas (RFC 2253), so "
        f"{shown(prefix + name)} matches no client unless ssl.principal.mapping.rules adds them",
        f"write {shown(prefix + _SPACE_IN_DN.sub(',', name))}",
    )


def host_mismatch(host: str) -> Mismatch | None:
    """Return why no client's address is spelled like this; None if one's may be."""
    if host_range(host) is not None:
        return None  # the version of the cluster decides: warn_of_ranges
    spelt = address_in_java(host)
    if spelt is None:
        return Mismatch(
            f"Kafka compares the host with the client's address, so {shown(host)} never matches",
            'write an IP address, or "*" for any',
        )
    if not _is_of_client(spelt):
        problem = f"no client connects from {host}, so it never matches"
        return Mismatch(problem, 'write the address of a client, or "*" for any')
    if spelt != host:
        return Mismatch(
            f"brokers write this address as {spelt}, so {shown(host)} never matches",
            f'write "{spelt}"',
        )
    return None


def warn_of_ranges(acls: Iterable[DesiredAcl]) -> tuple[Finding, ...]:
    """Warn of hosts that are ranges, for a cluster that is not known to match them."""
    found = {
        acl.located.at("spec", "host"): acl.binding.host
        for acl in acls
        if "/" in acl.binding.host and host_range(acl.binding.host) is not None
    }
    return tuple(
        Finding(
            source=place,
            problem=f"the host {shown(host)} is a range, which matches clients since Kafka 4.4 "
            "(metadata.version 4.4-IV1) and none before",
            advice="write IP addresses for an older cluster",
            severity=Severity.WARNING,
        )
        for place, host in found.items()
    )


def ip_mismatch(ip: str) -> Mismatch | None:
    """Return why a quota's address is no client's; None if it may be one's."""
    if _is_of_client(ip):
        return None
    return Mismatch(
        f"no client connects from {ip}, so the quota never applies",
        "write the address of a client, or {default: true} for all that have no quotas of their "
        "own",
    )


def _is_of_client(text: str) -> bool:
    """Return whether a connection may come from the address."""
    ip = address(text.partition("%")[0])
    return ip is None or not (ip.is_unspecified or ip.is_multicast or ip == _BROADCAST)


def _is_user(kind: str) -> bool:
    """Return whether User is meant by the type: ``user``, ``USER``, ``Users``, ``Usr``."""
    if kind in _KNOWN_TYPES:
        return kind == _USER
    return bool(get_close_matches(kind.casefold(), [_USER.casefold()], cutoff=0.75))
