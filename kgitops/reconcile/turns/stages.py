"""The time that the stages of a turn take, under few names, as metrics need them."""

from collections.abc import Callable, MutableMapping

from kgitops.model.clock import Clock

FETCH, READ, PLAN, POLICY, APPLY = "fetch", "read", "plan", "policy", "apply"
STAGES = (FETCH, READ, PLAN, POLICY, APPLY)
_NAMES = (
    ("loading", PLAN),
    ("checking", PLAN),
    ("connecting", READ),
    ("reading", READ),
    ("comparing", PLAN),
    ("sealing", PLAN),
    ("asking", POLICY),
    ("applying", APPLY),
)


class Stages:
    """Called with the stage that begins; adds up the seconds of each."""

    def __init__(
        self, clock: Clock, seconds: MutableMapping[str, float], on_stage: Callable[[str], None]
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._on_stage = on_stage
        self._current: str | None = None
        self._since = clock.monotonic()

    def __call__(self, stage: str) -> None:
        """Begin a stage, and end the one before."""
        self.end()
        self._current = next((name for word, name in _NAMES if stage.startswith(word)), PLAN)
        self._on_stage(stage)

    def end(self) -> None:
        """End the current stage."""
        now = self._clock.monotonic()
        if self._current is not None:
            before = self._seconds.get(self._current, 0.0)
            self._seconds[self._current] = before + now - self._since
        self._current, self._since = None, now
