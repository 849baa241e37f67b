"""Collects problems with the declarations, of names too, and hides values of the environment."""

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.manifests.expanded import ExpandedDocument, given_by
from kgitops.manifests.yaml.document import Document, DocumentPart
from kgitops.model.json.declared import DesiredObject
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.virtual_clusters import virtual_cluster_name_problem
from kgitops.model.source import Finding, Severity, Source

Path = tuple[str | int, ...]
Declaration = Document | DocumentPart
"""The declaration of an object: a document, or an item of a list in one."""
DeclaredObject = tuple[DesiredObject, Declaration]

_LEAST_SECRET = 4
ADVICE = "use up to 249 letters, digits, '.', '_' and '-'"


def counted(number: int, noun: str) -> str:
    """Return the number with its noun: ``1 replica``, ``2 replicas``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class UnknownConfig(Struct, frozen=True, kw_only=True):
    """A declared config that kgitops has no definition of, which the brokers may know.

    ``kind`` is the type of the resource, None for a topic; ``listed``: the value is written as a
    list. ``refusal`` is the error if the brokers don't know it; ``offline`` the finding where there
    is no cluster to ask, which is the same one if the key looks like a mistake.
    """

    kind: ConfigResourceType | None
    key: str
    text: str
    listed: bool
    document: Declaration
    path: Path
    refusal: Finding
    offline: Finding


class Findings(Struct):
    """Collects the findings of one build; errors stop it, warnings do not.

    A finding about a value that a profile or a default gives stands where the object asks for it,
    and names the value's origin; ``also`` are the paths of other values that have a part in it.
    ``unknown_configs`` become findings only where no brokers know them.
    """

    found: list[Finding] = field(default_factory=list)
    unknown_configs: list[UnknownConfig] = field(default_factory=list)

    def error(
        self,
        document: Declaration,
        path: Path,
        problem: str,
        advice: str,
        *,
        key: bool = False,
        also: Sequence[Path] = (),
    ) -> None:
        """Add an error about the value under ``path``, or about its key."""
        place = _place(document, path, key=key)
        problem += given_by(document, path, *also)
        self.found.append(Finding(source=place, problem=problem, advice=advice))

    def warning(
        self,
        document: Declaration,
        path: Path,
        problem: str,
        advice: str,
        also: Sequence[Path] = (),
        *,
        key: bool = False,
    ) -> None:
        """Add a warning about the value under ``path``, or about its key."""
        self.found.append(
            Finding(
                source=_place(document, path, key=key),
                problem=problem + given_by(document, path, *also),
                advice=advice,
                severity=Severity.WARNING,
            )
        )

    def unknown_config(
        self,
        document: Declaration,
        path: Path,
        problem: str,
        advice: str,
        *,
        kind: ConfigResourceType | None,
        text: str,
        listed: bool,
        doubt: str | None,
    ) -> None:
        """Add a config that the brokers have to know; one from a profile or default counts there.

        ``problem`` and ``advice`` are the error if they don't. ``doubt`` is the warning where there
        is no cluster to ask; without it the key looks like a mistake.
        """
        if isinstance(document, ExpandedDocument):
            given = document.given_at(path)
            if given is not None and given.kind is not None:
                return
        place = _place(document, path, key=True)
        refusal = Finding(source=place, problem=problem, advice=advice)
        self.unknown_configs.append(
            UnknownConfig(
                kind=kind,
                key=str(path[-1]),
                text=text,
                listed=listed,
                document=document,
                path=path,
                refusal=refusal,
                offline=refusal
                if doubt is None
                else Finding(
                    source=place,
                    problem=doubt,
                    advice="a plan on a cluster asks its brokers",
                    severity=Severity.WARNING,
                ),
            )
        )


def _place(document: Declaration, path: Path, *, key: bool = False) -> Source:
    if isinstance(document, ExpandedDocument):
        given = document.given_at(path)
        if given is not None and given.kind is not None:
            return document.own_place(path)
    return document.key_at(*path) if key else document.at(*path)


def without_env_values(
    findings: Iterable[Finding], env_values: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Replace every value that came from the environment by the name of its variable.

    Values of up to three characters stay: they are not secrets, and appear in any sentence.
    """
    env_values = {value: name for value, name in env_values.items() if len(value) >= _LEAST_SECRET}
    if not env_values:
        return tuple(findings)
    # Plain and as in quoted texts; the longest first, because one may be part of another.
    spellings = {
        spelling: f"${{env:{name}}}"
        for value, name in env_values.items()
        for spelling in (value, repr(value)[1:-1], ascii(value)[1:-1])
    }
    longest_first = sorted(spellings, key=len, reverse=True)
    secret = re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in longest_first))

    def hide(text: str) -> str:
        return secret.sub(lambda found: spellings[found[0]], text)

    return tuple(
        replace(finding, problem=hide(finding.problem), advice=hide(finding.advice))
        for finding in findings
    )


def scope_of(name: str | None) -> str | None:
    """Return the virtual cluster; None for the physical one, named or not (VC-100)."""
    return None if name == CLUSTER_NAME else name


def check_name(name: str, document: Declaration, path: Path, findings: Findings) -> None:
    """Report a name that a virtual cluster can't have (VC-007, VC-104)."""
    if problem := virtual_cluster_name_problem(name):
        advice = "name a virtual cluster" if name == CLUSTER_NAME else ADVICE
        findings.error(document, path, problem, advice)


def address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an IP address; None if it is not one, or is bound to an interface (``%eth0``)."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def address_in_java(text: str) -> str | None:
    """Spell an IP address as brokers do (InetAddress.getHostAddress); None if it is not one.

    Authorizers compare this spelling of a client's address with the host of an ACL.
    """
    if "%" in text:  # for a link-local client they write the interface as well
        at, _, interface = text.partition("%")
        spelt = address_in_java(at)
        return f"{spelt}%{interface}" if spelt and interface and ":" in spelt else None
    ip = address(text)
    if ip is None:
        return None
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped:
        return str(ip.ipv4_mapped)
    return ":".join(f"{int(group, 16):x}" for group in ip.exploded.split(":"))
