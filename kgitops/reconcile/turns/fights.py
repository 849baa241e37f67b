"""Fights: objects that somebody else changes again and again, as a value over the last heals."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct, field

from kgitops.manifests.project_document import ReconcileSettings
from kgitops.model import clock as moments


class HealHistory(Struct, frozen=True, kw_only=True):
    """The moments at which objects were healed, by a clock that never goes back; and the fights."""

    heals: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    fights: frozenset[str] = frozenset()

    def seen(
        self, drifted: Collection[str], now: float, settings: ReconcileSettings
    ) -> "HealHistory":
        """Return the history once these addresses were found drifted.

        A fight continues as long as its object is drifted, and ends when it no longer is. What was
        healed counts until the window has passed, so that the next change begins a fight again.
        """
        since = now - settings.heal_within_s
        heals = {
            address: left
            for address, moments in self.heals.items()
            if (left := tuple(moment for moment in moments if moment >= since))
        }
        fights = {
            address
            for address in drifted
            if address in self.fights or len(heals.get(address, ())) >= settings.heal_times
        }
        return HealHistory(heals=heals, fights=frozenset(fights))

    def healed(self, addresses: Collection[str], now: float) -> "HealHistory":
        """Return the history once these objects were healed."""
        heals = {**self.heals}
        for address in addresses:
            heals[address] = (*heals.get(address, ()), now)
        return HealHistory(heals=heals, fights=self.fights)


class _HealsFile(Struct, frozen=True, kw_only=True):
    """A history in a file, for later processes: moments by the calendar, RFC 3339."""

    heals: dict[str, list[str]]
    fights: list[str]


def history_to_text(history: HealHistory, now: datetime, ticks: float) -> str:
    """The text of a history; ``ticks`` are those of the clock that never goes back, now."""
    heals = {
        address: [moments.to_text(now - timedelta(seconds=ticks - at)) for at in heals]
        for address, heals in sorted(history.heals.items())
    }
    file = _HealsFile(heals=heals, fights=sorted(history.fights))
    return msgspec.json.encode(file).decode() + "\n"


def history_from_text(text: str, now: datetime, ticks: float) -> HealHistory:
    """The history of a text; what seems to lie in the future was currently.

    Raises:
        ValueError: the text is no history.
    """
    file = msgspec.json.decode(text, type=_HealsFile)
    heals = {
        address: tuple(
            ticks - max(0.0, (now - moments.from_text(moment)).total_seconds()) for moment in found
        )
        for address, found in file.heals.items()
    }
    return HealHistory(heals=heals, fights=frozenset(file.fights))
