"""One process of a gateway: the names that it follows, and what listens."""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kgitops.cluster.kafka.configs.client_configs import normalize_configs
from kgitops.gateway.connections.rewriter import NamesRewriter
from kgitops.gateway.credentials.credentials_file import CredentialsFile
from kgitops.gateway.credentials.reading import CredentialsSource
from kgitops.gateway.listening.brokers import BrokerAddress
from kgitops.gateway.naming.name_table import NameTables
from kgitops.gateway.rewriting.topic_ids import TopicIds
from kgitops.gateway.running.gateway import Gateway
from kgitops.gateway.running.names import ByNode, FollowedNames
from kgitops.gateway.settings import GatewayOptions
from kgitops.gateway.sockets.memory import KeptMemory
from kgitops.gateway.watching.status import ProcessStatus
from kgitops.model.errors import UsageError
from kgitops.model.resources.names import is_loopback
from kgitops.workflow.project.clusters import ChosenCluster

_STDERR = 2
_OTHER_FILES = 200
_SWITCH_S = 0.0005
"""The time for which a thread that changes a long frame may hold up the event loop."""
Tell = Callable[[str], None]


class GatewayProcess:
    """Reads the names first, so that nothing listens where they can't be read."""

    def __init__(self, settings: GatewayOptions, chosen: ChosenCluster, tell: Tell) -> None:
        """Read the registry, and begin to follow it.

        Raises:
            KgitopsError: it can't be reached or read, or the certificate can't be used.
            UsageError: clients' logins would go over a network without TLS.
        """
        credentials = _credentials(settings, chosen)
        self._names = FollowedNames(chosen, stale_s=settings.stale_s, tell=tell)
        behind = self._names.start()
        raise_open_files(settings.limits.connections, tell)
        try:
            if behind.tls is not None and settings.certificate is None:
                _check_plaintext(settings)
            topic_ids = TopicIds()
            most = settings.limits.memory_bytes
            kept = KeptMemory(most) if most else None
            sys.setswitchinterval(_SWITCH_S)
            self.gateway = Gateway(
                settings,
                behind,
                self._names,
                lambda: NamesRewriter(topic_ids, kept),
                tell=tell,
                write=log_writer(settings.access_log),
                credentials=credentials,
            )
            for entrance in settings.entrances:
                bound = entrance.virtual_cluster
                if bound is not None and bound not in self._names.tables.by_virtual_cluster:
                    tell(f"virtual cluster {bound} does not exist yet; its listener refuses all")
        except BaseException:
            self._names.close()
            raise

    @property
    def status(self) -> ProcessStatus:
        """The state of now."""
        now = self._names.follower.now
        return ProcessStatus(
            counts=self.gateway.counts,
            table_version=now.tables.version,
            table_offset=now.offset,
            age_s=self._names.follower.age_s,
            too_old=self._names.too_old,
            problem=now.error,
        )

    async def start(self) -> None:
        """Listen.

        Raises:
            UnreachableError: a port is taken, or the address is not this machine's.
        """
        await self.gateway.start()
        loop = asyncio.get_running_loop()

        def later(call: Callable[[], None]) -> None:
            with suppress(RuntimeError):  # the event loop has ended meanwhile
                loop.call_soon_threadsafe(call)

        self._names.follow(
            lambda tables: later(lambda: self._swap(tables)),
            lambda by_node: later(lambda: self._learn(by_node)),
        )

    async def stop(self) -> None:
        """Take no more connections, and let requests in flight end."""
        await self.gateway.stop()
        self.close()

    def close(self) -> None:
        """Follow the names no more."""
        self._names.close()

    def _swap(self, tables: NameTables) -> None:
        self._names.tables = tables
        self.gateway.connections.check_members()

    def _learn(self, by_node: ByNode) -> None:
        known: dict[int, BrokerAddress] = dict(by_node)
        self.gateway.learn(known)


def log_writer(file: Path | None) -> Callable[[bytes], object]:
    """A function that writes lines of the access log, to the standard error stream by default."""
    if file is None:
        return lambda line: os.write(_STDERR, line)

    def append(line: bytes) -> None:
        # Opened for each line, so that it may be renamed at any time; the lines are few.
        with suppress(OSError), file.open("ab", buffering=0) as opened:
            opened.write(line)

    return append


def raise_open_files(connections: int, tell: Tell) -> None:
    """Let this process open the two sockets of so many connections, as far as it may."""
    try:
        import resource  # not on Windows
    except ImportError:
        return
    wanted = 2 * connections + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most < wanted:
        enough = max(0, most - _OTHER_FILES) // 2
        tell(
            f"this process may open {most} files, enough for {enough} of the {connections} "
            "connections that it would take; raise the limit (LimitNOFILE of systemd), or give a "
            "smaller --max-connections"
        )


def _credentials(settings: GatewayOptions, chosen: ChosenCluster) -> CredentialsFile | None:
    """The credentials of clients that log in by certificates.

    Raises:
        KgitopsError: they can't be used.
    """
    if settings.credentials is None:
        return None
    with chosen.secrets_hidden():
        configs = normalize_configs(chosen.configs, chosen.base)
    source = CredentialsSource(settings.credentials, configs, os.environ, settings.principal_rules)
    return CredentialsFile(source)


def _check_plaintext(settings: GatewayOptions) -> None:
    """Refuse to take off the TLS that clients' logins have on their way to the brokers."""
    for entrance in settings.entrances:
        if not is_loopback(entrance.host) and not settings.allow_plaintext:
            raise UsageError(
                f"the brokers ask for TLS, and clients would log in to {entrance.host} without it; "
                "give --tls-cert and --tls-key, listen on 127.0.0.1, or give --allow-plaintext"
            )
