"""Answers about topics that may have to wait: a call answers when each topic is done (A4-06)."""

import time
from collections.abc import Callable, Mapping

from kgitops.cluster.embedded.controller import Controller
from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.refusal import TIMED_OUT
from kgitops.model.results import RequestResult

POLL_SECONDS = 0.005

IsDone = Callable[[Image, str], bool]
"""Tells if the topic of a name or id has become what a call asked for."""
Results = dict[str, RequestResult]


class PendingResults:
    """Decided results of topics, some of which are not done; failed, or late, each is answered.

    With a timeout of 0 or less there is no waiting: accepted counts as not done (A4-42, A4-43).
    """

    def __init__(
        self,
        results: Mapping[str, RequestResult],
        *,
        controller: Controller,
        is_done: IsDone | None,
        timeout_ms: int,
        shape: Callable[[Results], Results],
    ) -> None:
        """``is_done`` None: nothing is waited for. ``shape`` gives the results their last form."""
        self._results = results
        self._controller = controller
        self._is_done = is_done
        self._timeout_ms = timeout_ms
        self._shape = shape
        self._deadline = time.monotonic() + timeout_ms / 1000
        self._pending = {name for name, result in results.items() if is_done and result.ok}

    def is_over(self) -> bool:
        """Return whether all topics are done, or the time is up."""
        if not self._pending or self._timeout_ms <= 0 or self._is_done is None:
            return True
        image = self._controller.recent_image()
        self._pending = {name for name in self._pending if not self._is_done(image, name)}
        return not self._pending or time.monotonic() >= self._deadline

    def results(self) -> Results:
        """The results now: topics that are not done have timed out."""
        return self._shape(
            {
                name: TIMED_OUT if name in self._pending else result
                for name, result in self._results.items()
            }
        )

    def wait(self) -> Results:
        """The results, once it is over."""
        while not self.is_over():
            time.sleep(POLL_SECONDS)
        return self.results()
