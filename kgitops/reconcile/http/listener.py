"""The listener of a loop, in a thread of its own: it answers also while the loop hangs."""

from collections.abc import Iterator
from contextlib import contextmanager

from kgitops.model.clock import Clock
from kgitops.reconcile.http.options import ListenOptions
from kgitops.reconcile.http.routes import Routes
from kgitops.reconcile.loop_status import LoopView
from kgitops.reconcile.metrics.loop_metrics import LoopMetrics
from kgitops.serve.http.listener import HttpListener
from kgitops.serve.http.thread import in_thread


@contextmanager
def open_listener(
    options: ListenOptions, view: LoopView, metrics: LoopMetrics, clock: Clock
) -> Iterator[HttpListener]:
    """Answer while the ``with`` statement lasts; ``url`` of what it yields is the address.

    Raises:
        UnreachableError: it can't listen there.
    """
    routes = Routes(options, view, metrics, clock)
    listener = HttpListener(routes, host=options.host, port=options.port, option="--listen")
    try:
        with in_thread(listener, "kgitops reconcile listener") as started:
            yield started
    finally:
        routes.close()
