"""Which jars a broker and Kafka's tools need: ``jars.txt``."""

from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class Jar:
    """One line of ``jars.txt``."""

    group: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """What its file is called."""
        return f"{self.name}-{self.version}.jar"


def pinned_jars() -> tuple[Jar, ...]:
    """Every jar that a broker and Kafka's tools need, each in one version."""
    text = files("kgitops.sandbox").joinpath("jars.txt").read_text("utf-8")
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    split = ((*coordinates.split(":"), digest) for coordinates, digest in rows)
    return tuple(Jar(group=g, name=n, version=v, sha256=digest) for g, n, v, digest in split)
