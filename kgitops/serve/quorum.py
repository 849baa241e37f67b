"""The controllers of a served cluster: which is active, and which are down."""

from collections.abc import Sequence

from kgitops.model.errors import UsageError


class Quorum:
    """Controllers by id, used in the event loop; reading the active one is safe in any thread.

    All of them decide from one store, so an election loses nothing (F590-03).
    """

    def __init__(self, controllers: Sequence[int]) -> None:
        self.controllers = tuple(controllers)
        self.active: int | None = self.controllers[0]
        """The controller that decides; None while none does."""
        self.epoch = 1
        """Grows with each election."""
        self._down: set[int] = set()

    def move(self, to: int | None) -> None:
        """Make another controller the active one; None: none is, until the next move.

        Raises:
            UsageError: there is no such controller, or it is down.
        """
        if to is not None:
            self._known(to)
            if to in self._down:
                raise UsageError(f"controller {to} is down; start it first")
        self.active = to
        self.epoch += 1

    def stop(self, controller: int) -> None:
        """Count a controller as down; another one becomes active if it was.

        Raises:
            UsageError: there is no such controller.
        """
        self._known(controller)
        self._down.add(controller)
        if self.active == controller:
            living = (item for item in self.controllers if item not in self._down)
            self.move(next(living, None))

    def start(self, controller: int) -> None:
        """Count a controller as up again; it becomes active if none is.

        Raises:
            UsageError: there is no such controller.
        """
        self._known(controller)
        self._down.discard(controller)
        if self.active is None:
            self.move(controller)

    def _known(self, controller: int) -> None:
        if controller not in self.controllers:
            known = ", ".join(map(str, self.controllers))
            raise UsageError(f"there is no controller {controller}; the controllers are {known}")
