"""A thread a sink: takes what waits for it, tries again what failed, and drops what is too old."""

import random
import threading
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from kgitops.model.errors import KgitopsError
from kgitops.reconcile.events import ReconcileEvent
from kgitops.reconcile.notifications.sending import Answer, send
from kgitops.reconcile.notifications.sinks import HttpPost, Sink

Tell = Callable[[str], None]
Send = Callable[[HttpPost, float], Answer]


class Patience(Struct, frozen=True, kw_only=True):
    """Limits of waiting for a sink; seconds, but ``attempts`` and ``waiting``."""

    timeout: float = 10.0
    attempts: int = 6
    first_wait: float = 1.0
    longest_wait: float = 60.0
    waiting: int = 100


class SinkCounts(Struct, frozen=True, kw_only=True):
    """The events for a sink since the start, by their fate; ``problem`` is of the last one."""

    name: str
    delivered: int = 0
    failed: int = 0
    dropped: int = 0
    waiting: int = 0
    problem: str | None = None


class Delivery:
    """The events on their way to one sink; ``put`` returns at once."""

    def __init__(self, sink: Sink, patience: Patience, tell: Tell, deliver: Send = send) -> None:
        """Start the thread; ``tell`` takes a sentence when the sink begins to fail."""
        self._sink = sink
        self._patience = patience
        self._tell = tell
        self._send = deliver
        self._changed = threading.Condition()
        self._waiting: deque[ReconcileEvent] = deque()
        self._closing = False
        self._delivered = self._failed = self._dropped = 0
        self._problem: str | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"kgitops-notify-{sink.name}", daemon=True
        )
        self._thread.start()

    def put(self, event: ReconcileEvent) -> None:
        """Let the event wait; where too many do, the oldest is dropped."""
        with self._changed:
            if self._closing:
                return
            if len(self._waiting) >= self._patience.waiting:
                self._waiting.popleft()
                self._dropped += 1
            self._waiting.append(event)
            self._changed.notify_all()

    def counts(self) -> SinkCounts:
        """The events so far, by their fate."""
        with self._changed:
            return SinkCounts(
                name=self._sink.name,
                delivered=self._delivered,
                failed=self._failed,
                dropped=self._dropped,
                waiting=len(self._waiting),
                problem=self._problem,
            )

    def end(self) -> None:
        """Try what waits once more, and then stop; it is not waited for."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def join(self, seconds: float) -> None:
        """Wait for the end."""
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if not self._waiting:
                    return
                event = self._waiting.popleft()
            self._deliver(event)

    def _deliver(self, event: ReconcileEvent) -> None:
        answer = Answer()
        try:
            post = self._sink.post(event)
        except KgitopsError as error:
            post, answer = None, Answer(str(error))
        if post is None and answer.problem is None:
            return
        for attempt in range(self._patience.attempts if post else 0):
            if attempt and not self._pause(attempt, answer):
                break
            answer = self._attempt(post)
            if not answer.again:
                break
        self._count(answer)

    def _attempt(self, post: HttpPost | None) -> Answer:
        if post is None:
            return Answer()
        try:
            return self._send(post, self._patience.timeout)
        except Exception as error:  # noqa: BLE001 (else no later event would be delivered)
            return Answer(f"it failed: {type(error).__name__}")

    def _pause(self, attempt: int, answer: Answer) -> bool:
        """Wait for the next try; False if there is none, since all is being closed."""
        longest = min(self._patience.first_wait * 2 ** (attempt - 1), self._patience.longest_wait)
        seconds = random.uniform(longest / 2, longest)  # noqa: S311 (only spreads the load)
        if answer.wait is not None:
            seconds = max(seconds, answer.wait)
        with self._changed:
            self._changed.wait_for(lambda: self._closing, seconds)
            return not self._closing

    def _count(self, answer: Answer) -> None:
        with self._changed:
            before, self._problem = self._problem, answer.problem
            if answer.problem is None:
                self._delivered += 1
            else:
                self._failed += 1
        if answer.problem is not None and before is None:
            self._tell(
                f"the notification {self._sink.name!r} was not delivered: {answer.problem}; "
                "check the receiver and its variable in the environment"
            )
