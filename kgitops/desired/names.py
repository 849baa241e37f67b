"""Names of virtual clusters and IP addresses, as documents write them."""

import ipaddress

from kgitops.desired.findings import Declaration, Findings, Path
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.virtual_clusters import virtual_cluster_name_problem

ADVICE = "use up to 249 letters, digits, '.', '_' and '-'"


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
