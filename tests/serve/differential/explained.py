"""Where an answer on the wire differs from Kafka's, and why."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from serve.differential.comparing import Difference


class WireReason(Struct, frozen=True):
    """Why fields differ whose paths match; ``real`` and ``served`` are patterns of their values."""

    path: str
    shown: str
    why: str
    real: str = ".*"
    served: str = ".*"

    def explains(self, difference: Difference) -> bool:
        """It is a difference of this kind."""
        pairs = (
            (self.path, difference.path),
            (self.real, difference.real),
            (self.served, difference.served),
        )
        return all(re.fullmatch(pattern, text, re.DOTALL) for pattern, text in pairs)


EXPLAINED_ON_THE_WIRE: Sequence[WireReason] = ()


def wire_section() -> Iterator[str]:
    """The lines of the section about the wire in ``docs/internals/differences.md``."""
    yield "## On the wire"
    yield ""
    yield "Random administrative requests in all versions that Kafka 4.3 takes, sent to a served"
    yield "cluster and to a real one. Their answers are compared field by field, but for ids,"
    yield "addresses and the order of rows. These fields differ"
    yield "(`tests/serve/differential/explained.py`), each of them at least once in a run:"
    yield ""
    yield "| field | why |"
    yield "| --- | --- |"
    yield from (f"| {reason.shown} | {reason.why} |" for reason in EXPLAINED_ON_THE_WIRE)
