"""IP addresses as Kafka reads and compares them."""

import ipaddress


def address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address; None where it is none, or only means something on one machine (``%eth0``)."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def address_in_java(text: str) -> str | None:
    """How brokers write the address of a client (InetAddress.getHostAddress); None: it is none.

    Authorizers compare it letter by letter with the host of an ACL.
    """
    if "%" in text:  # of a link-local client they write the interface as well
        at, _, interface = text.partition("%")
        spelt = address_in_java(at)
        return f"{spelt}%{interface}" if spelt and interface and ":" in spelt else None
    found = address(text)
    if found is None:
        return None
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return ":".join(f"{int(group, 16):x}" for group in found.exploded.split(":"))
