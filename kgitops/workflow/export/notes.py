"""What an export does not say of the cluster, and why: collected per reason, told in sentences."""

from dataclasses import dataclass, field

_SHOWN = 3


@dataclass(slots=True)
class Notes:
    """Reason to the addresses that it is about, in the order in which they came."""

    _found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, address: str, reason: str) -> None:
        """Say of an object what the export leaves out or says otherwise."""
        self._found.setdefault(reason, []).append(address)

    def sentences(self) -> tuple[str, ...]:
        """One for each reason, with the first few objects by address."""
        return tuple(_sentence(reason, found) for reason, found in self._found.items())


def _sentence(reason: str, found: list[str]) -> str:
    more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    return f"{', '.join(found[:_SHOWN])}{more}: {reason}"
