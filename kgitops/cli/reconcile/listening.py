"""``--listen``: the loop over HTTP, while it runs."""

import os
from collections.abc import Callable
from contextlib import ExitStack

from kgitops.cli.reconcile.options import LookOptions
from kgitops.cli.reconcile.output import Telling
from kgitops.cli.running.streams import print_notice
from kgitops.model.clock import SystemClock
from kgitops.model.errors import UsageError
from kgitops.reconcile.looping.loop import ReconcileLoop
from kgitops.reconcile.status import TurnResult


class Listening:
    """The listener that was asked for, if one was; checked before anything begins."""

    def __init__(self, options: LookOptions, *, once: bool) -> None:
        """Check the options.

        Raises:
            UsageError: one has an impossible value, or does nothing.
        """
        self._options = None
        self._observe: Callable[[TurnResult], None] = lambda _: None
        if options.listen is None:
            if options.allow_anonymous:
                raise UsageError("--allow-anonymous is for --listen; give it, or leave this out")
            return
        if once:
            raise UsageError("--listen is for a loop, and --once ends at once; leave one out")
        # Only who listens waits for what this imports.
        from kgitops.reconcile.http.options import listen_options
        from kgitops.reconcile.metrics.loop_metrics import LoopMetrics

        self._options = listen_options(
            options.listen, allow_anonymous=options.allow_anonymous, environ=os.environ
        )
        self._metrics = LoopMetrics()
        self._observe = self._metrics.observe

    def turn(self, result: TurnResult) -> None:
        """Count a turn."""
        self._observe(result)

    def open(self, loop: ReconcileLoop, stack: ExitStack, telling: Telling) -> None:
        """Listen until the stack ends, and tell where; ``telling`` counts what it delivers.

        Raises:
            UnreachableError: the address is taken, or not of this machine.
        """
        if self._options is None:
            return
        from kgitops.reconcile.http.routes import open_listener

        self._metrics.watch_sinks(telling.sinks)
        listener = stack.enter_context(
            open_listener(self._options, loop, self._metrics, SystemClock(), telling.notice)
        )
        print_notice(f"kgitops: status, metrics and a page for people at {listener.url}")
