"""Fights: objects that somebody else changes again and again, as a value over the last heals."""

from collections.abc import Collection, Mapping

from msgspec import Struct, field

from kgitops.manifests.project.reconcile import ReconcileSettings


class HealHistory(Struct, frozen=True, kw_only=True):
    """The moments at which objects were healed, by a clock that never goes back; and the fights."""

    heals: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    fights: frozenset[str] = frozenset()

    def seen(
        self, drifted: Collection[str], now: float, settings: ReconcileSettings
    ) -> "HealHistory":
        """Return the history once these addresses were found drifted.

        A fight goes on as long as its object is drifted, and ends when it no longer is. What was
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
