"""What policies may take; whoever takes more is stopped and denies."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """``seconds`` are for one policy and one request, ``loading_seconds`` for loading one policy.

    ``memory`` is in bytes, above what the process holds before policies run; only Linux enforces
    it. A policy that broke a limit ``breaches`` times is not asked any more. Closing all policies
    may take ``closing_seconds``; a process that doesn't answer for ``idle_seconds`` while no policy
    is at work has failed.
    """

    seconds: float = 10.0
    loading_seconds: float = 30.0
    closing_seconds: float = 5.0
    idle_seconds: float = 120.0
    memory: int = 1 << 30
    breaches: int = 3
