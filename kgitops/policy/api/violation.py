"""How a policy says no."""

from dataclasses import dataclass


class PolicyViolation(Exception):  # noqa: N818 (KIP-201's PolicyViolationException, in Python)
    """The request breaks the policy; the message is shown as it is (P201-64, EXP-02).

    ``field`` says which part of the object is wrong, as a path of the manifest's spec:
    ``partitions``, ``configs.retention.ms``, ``operations``. Reports point at that line.
    """

    def __init__(self, message: str = "", *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that a policy found wrong with a request; ``field`` as of PolicyViolation.

    ``rule`` is the number of the validation that found it, from 0, where the policy has several.
    """

    message: str
    field: str | None = None
    rule: int | None = None
