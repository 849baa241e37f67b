"""What a long run tells while it works, for whoever waits."""

from collections.abc import Callable

OnStage = Callable[[str], None]
"""Is told what is going on now: ``reading the cluster``."""


def in_silence(_stage: str) -> None:
    """Nobody waits."""
