"""The course of ``kgitops gateway``: read the names, listen, say so, and end on a signal."""

import asyncio
import gc
import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from msgspec import Struct

from kgitops.cli.gateway.options import EntranceOptions, LimitOptions, WatchOptions
from kgitops.cli.gateway.settings import settings_of
from kgitops.cli.running.listening import (
    check_ready_file,
    end_on_signals,
    remove_ready_file,
    say_ready,
)
from kgitops.cli.running.signals import InterruptedRunError
from kgitops.cli.running.streams import print_notice
from kgitops.gateway.running.process import GatewayProcess
from kgitops.gateway.running.workers import WorkerChannel, Workers, worker_channel
from kgitops.gateway.settings import GatewayOptions
from kgitops.gateway.watching.listener import StatusListener
from kgitops.gateway.watching.status import GatewayStatus
from kgitops.model.verdict import ExitCode
from kgitops.serve.http.listener import parse_address
from kgitops.workflow.project.clusters import ChosenCluster
from kgitops.workflow.project.selection import Selection, open_workspace

_READY_FILE = "--ready-file"
_GARBAGE_AFTER = (5_000, 10, 10)


class GatewayCommand(Struct, frozen=True, kw_only=True):
    """The words of a command line."""

    path: Path | None
    cluster: str | None
    entrance: EntranceOptions
    limits: LimitOptions
    watch: WatchOptions


def run_gateway(command: GatewayCommand) -> int:
    """Stand between clients and brokers until a signal ends it; the exit code.

    Raises:
        UsageError: an option has an impossible value.
        KgitopsError: the cluster or its registry can't be read, or a listener can't be opened.
    """
    settings = settings_of(command.entrance, command.limits, command.watch.access_log)
    if command.watch.metrics is not None:
        parse_address(command.watch.metrics)
    check_ready_file(command.watch.ready_file)
    channel = worker_channel(os.environ)
    try:
        chosen = _cluster(command)
        if channel is not None:
            return _run(lambda: _work(settings, chosen, channel))
        if settings.workers > 1:
            return _run(lambda: _supervise(settings, command.watch))
        process = GatewayProcess(settings, chosen, _tell)
        try:
            return _run(lambda: _serve(process, command.watch))
        finally:
            process.close()
            remove_ready_file(command.watch.ready_file)
    except InterruptedRunError:  # a signal that came before there was anything to end
        return int(ExitCode.SUCCESS)


def _cluster(command: GatewayCommand) -> ChosenCluster:
    paths = (command.path,) if command.path else ()
    selection = Selection(paths=paths, cluster=command.cluster, environ=dict(os.environ))
    return open_workspace(selection).cluster


def _run(course: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run a course in an event loop: uvloop's where it is installed, which is a little faster."""
    # Connections come and go for weeks, and what is left of each is found by looking for garbage.
    gc.set_threshold(*_GARBAGE_AFTER)
    try:
        import uvloop
    except ImportError:
        return asyncio.run(course())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return int(runner.run(course()))


async def _serve(process: GatewayProcess, watch: WatchOptions) -> int:
    ended = end_on_signals()

    def status() -> GatewayStatus:
        return GatewayStatus(processes=(process.status,))

    async with AsyncExitStack() as opened:
        await process.start()
        opened.push_async_callback(process.stop)
        await _watch(status, watch, opened)
        say_ready(process.gateway.url, watch.ready_file)
        await ended.wait()
    return int(ExitCode.SUCCESS)


async def _work(settings: GatewayOptions, chosen: ChosenCluster, channel: WorkerChannel) -> int:
    ended = end_on_signals()
    process = GatewayProcess(settings, chosen, _tell)
    try:
        await process.start()
        await channel.start(process.gateway.url, lambda: process.status, ended.set)
        await ended.wait()
        await process.stop()
    finally:
        process.close()
    return int(ExitCode.SUCCESS)


async def _supervise(settings: GatewayOptions, watch: WatchOptions) -> int:
    ended = end_on_signals()
    workers = Workers(
        settings.workers,
        sys.argv[1:],
        os.environ,
        tell=_tell,
        drain_s=settings.limits.drain_s,
    )
    async with AsyncExitStack() as opened:
        opened.push_async_callback(workers.stop)
        starting = asyncio.create_task(workers.start())
        waiting = asyncio.create_task(ended.wait())
        await asyncio.wait((starting, waiting), return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            return int(ExitCode.SUCCESS)
        code = starting.result()
        if code:
            return code  # the worker has said why
        opened.callback(remove_ready_file, watch.ready_file)
        await _watch(lambda: workers.status, watch, opened)
        say_ready(workers.url, watch.ready_file)
        await waiting
    return int(ExitCode.SUCCESS)


async def _watch(
    status: Callable[[], GatewayStatus], watch: WatchOptions, opened: AsyncExitStack
) -> None:
    if watch.metrics is None:
        return
    listener = StatusListener(status, *parse_address(watch.metrics))
    await listener.start()
    opened.push_async_callback(listener.stop)
    _tell(f"metrics and health at {listener.url}")


def _tell(sentence: str) -> None:
    print_notice(f"kgitops: {sentence}")
