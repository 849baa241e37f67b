"""`kgitops gateway` beside no gateway, a relay that changes addresses only, and Kroxylicious.

One broker, started and removed by this script, with a login; without TLS, and with it on both
sides. All contestants run at the same time and take turns: a round of each, then the next round;
the first rounds are to warm up. CPU is user and system time of all processes of a contestant, so MB
and requests a core are what one second of it is good for, however busy the machine is. Latencies
are those of one-record requests, one to the broker and one through the contestant in turn.

    uv run --with uvloop python benchmarks/gateway.py
    uv run python benchmarks/gateway.py --megabytes 10 --requests 200 --warmups 0 --rounds 1
"""

import argparse
import signal
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from gateway_contest import NAMES, NONE, PLAIN, TLS, TOPICS, UVLOOP, Contest, prepare
from gateway_contestants import Contestant, enter
from gateway_load import RECORD, Place, run_load
from msgspec import Struct
from msgspec.structs import replace

from kgitops.sandbox.sandbox import start

MEMORY = Path("/dev/shm")  # noqa: S108
PROTOCOLS = {"plaintext": PLAIN, "tls": TLS}
TITLES = {PLAIN: "without TLS", TLS: "TLS on both sides"}
WORKERS = (1, 2)
STREAMS = 4
"""Clients at once where workers are compared."""


class Round(Struct, frozen=True, kw_only=True):
    """The costs of one round in CPU seconds of the contestant, and microseconds of requests."""

    produce: float
    consume: float
    ask: float
    p50: float
    p99: float
    direct_p50: float
    direct_p99: float
    rss: float
    busiest: float
    """The part of the CPU seconds that was used by the process that used most."""


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and all that it has started
    with (
        tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder,
        start(
            Path(folder) / "kafka",
            brokers=1,
            sasl=True,
            tls=True,
            users=Contest.users,
            properties={"log.retention.check.interval.ms": "2000"},
        ) as kafka,
    ):
        contest = Contest(kafka, Path(folder))
        prepare(contest)
        for name in options.protocol or list(PROTOCOLS):
            _compare(contest, PROTOCOLS[name], options)
        if options.only is None:
            _compare_workers(contest, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=80, help="of records, a round")
    parser.add_argument("--requests", type=int, default=2_000, help="of one record, a round")
    parser.add_argument("--warmups", type=int, default=2, help="rounds that do not count")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that count: the median")
    parser.add_argument("--only", action="append", choices=list(TOPICS), help="default: all")
    parser.add_argument("--protocol", action="append", choices=list(PROTOCOLS))
    return parser.parse_args()


def _compare(contest: Contest, protocol: str, options: argparse.Namespace) -> None:
    """Print a table of all contestants."""
    with ExitStack() as stack:
        entered = [
            stack.enter_context(enter(contest, name, protocol))
            for name in options.only or _default()
        ]
        rounds = _rounds(contest, entered, options, streams=1)
    _table(
        TITLES[protocol],
        ("produce MB/s a core", "consume MB/s a core", "requests/s a core", "us CPU a request",
         "p50 us", "added", "p99 us", "added", "RSS MB"),
    )  # fmt: skip
    for contestant, found in zip(entered, rounds, strict=True):
        cells = _costs(found, options) if contestant.name != NONE else ["-"] * 4
        cells += [f"{found.p50:.0f}", f"{found.p50 - found.direct_p50:+.0f}"]
        cells += [f"{found.p99:.0f}", f"{found.p99 - found.direct_p99:+.0f}"]
        cells.append(f"{found.rss:.0f}" if contestant.process else "-")
        print(f"| {contestant.name} | {' | '.join(cells)} |", flush=True)


def _default() -> list[str]:
    """All contestants that are installed."""
    return [name for name in TOPICS if name != UVLOOP or find_spec("uvloop")]


def _compare_workers(contest: Contest, options: argparse.Namespace) -> None:
    """Print a table of one and of two processes, whose cost a byte should be the same."""
    with ExitStack() as stack:
        entered = [
            stack.enter_context(enter(contest, NAMES, PLAIN, workers=count)) for count in WORKERS
        ]
        rounds = _rounds(contest, entered, options, streams=STREAMS)
    _table(
        f"workers, {STREAMS} clients",
        ("produce MB/s a core", "consume MB/s a core", "requests/s a core", "us CPU a request",
         "CPU of the busiest %", "RSS MB"),
    )  # fmt: skip
    for count, found in zip(WORKERS, rounds, strict=True):
        cells = [*_costs(found, options), f"{found.busiest * 100:.0f}", f"{found.rss:.0f}"]
        print(f"| {count} | {' | '.join(cells)} |", flush=True)


def _table(title: str, heads: Sequence[str]) -> None:
    print(f"\n| {' | '.join((title, *heads))} |")
    print(f"| --- |{' ---: |' * len(heads)}", flush=True)


def _costs(found: Round, options: argparse.Namespace) -> list[str]:
    return [
        f"{options.megabytes / found.produce:.0f}",
        f"{options.megabytes / found.consume:.0f}",
        f"{options.requests / found.ask:,.0f}",
        f"{found.ask / options.requests * 1e6:.0f}",
    ]


def _rounds(
    contest: Contest, entered: Sequence[Contestant], options: argparse.Namespace, streams: int
) -> list[Round]:
    """For each contestant the medians of the rounds that count."""
    found: list[list[Round]] = [[] for _ in entered]
    for _ in range(options.warmups + options.rounds):
        for contestant, rounds in zip(entered, found, strict=True):
            rounds.append(_round(contest, contestant, options, streams))
    return [_median(rounds[options.warmups :]) for rounds in found]


def _median(rounds: Sequence[Round]) -> Round:
    fields = Round.__struct_fields__
    return Round(
        **{name: statistics.median(getattr(one, name) for one in rounds) for name in fields}
    )


def _round(
    contest: Contest, contestant: Contestant, options: argparse.Namespace, streams: int
) -> Round:
    """Write, read again, ask; forget the records then."""
    before = contest.end(contestant.physical)
    place = Place(
        servers=contestant.servers,
        direct=contest.kafka.layout.servers(contestant.protocol),
        protocol=contestant.protocol,
        authority=str(contest.authority),
        logins=contest.logins(contestant.user),
        topic=contestant.topic,
        physical=contestant.physical,
        count=options.megabytes * 1_000_000 // RECORD // streams,
        offset=before,
    )
    asked = replace(place, count=max(options.requests // streams, 2))
    costs: dict[str, dict[int, float]] = {}
    answers: dict[str, float] = {}
    for task, given in (("produce", place), ("consume", place), ("ask", asked)):
        used = contestant.processor_seconds()
        answers = run_load(task, given, streams)
        costs[task] = {
            pid: now - used.get(pid, 0) for pid, now in contestant.processor_seconds().items()
        }
    contest.forget(contestant.physical)
    spent = {task: max(sum(parts.values()), 1e-6) for task, parts in costs.items()}
    by_process = [sum(parts[pid] for parts in costs.values()) for pid in costs["ask"]]
    return Round(
        **spent,
        **answers,
        rss=contestant.megabytes(),
        busiest=max(by_process, default=0) / sum(spent.values()),
    )


if __name__ == "__main__":
    main()
