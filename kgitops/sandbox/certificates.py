"""A certificate authority of a sandbox's own, and what it signed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """PEM files; ``broker`` and ``clients`` hold a private key (PKCS #8) and its chain."""

    authority: Path
    broker: Path
    clients: dict[str, Path]


def issue_certificates(folder: Path, names: Sequence[str]) -> Certificates:
    """A new authority, a certificate for brokers on loopback, and one for each client."""
    raise NotImplementedError
