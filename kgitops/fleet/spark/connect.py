"""Spark Connect: the driver is a server somewhere, and needs no Java here."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from kgitops.fleet.spark.engine import TaskProgress
from kgitops.fleet.spark.error_messages import error_from_spark
from kgitops.fleet.spark.targets import Remote, check_packages, check_reachable, environment
from kgitops.model.errors import UnreachableError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo

# A server that is there answers at once; one that was there may be away for a minute.
_RETRIES_FIRST, _RETRIES = 2, 6
_ANSWERING_S = 20
_QUIET: Mapping[str, str | None] = {"GRPC_VERBOSITY": "NONE", "GRPC_ENABLE_FORK_SUPPORT": "0"}


class ConnectSpark:
    """A session on a server; of its settings only those of sessions can be changed."""

    def __init__(self, remote: Remote, conf: Mapping[str, str]) -> None:
        """Begin the session.

        Raises:
            UnreachableError: the server can't be reached, or speaks another protocol.
            UsageError: it does not take a setting.
        """
        check_packages("grpc", "google.protobuf")
        check_reachable(remote.url, [remote.host])
        self.url = remote.url
        self._stages: list[StageInfo] = []
        self._active = 0
        # Read where gRPC is first imported.
        with environment(_QUIET):
            from pyspark.sql.connect.session import SparkSession as Session
        try:
            session = Session(remote.url)
            self._client = session.client
            self._wait_for_answer()
            self._retry(_RETRIES_FIRST)
            _ = session.version
            self._retry(_RETRIES)
        except Exception as error:
            # A channel that is left open can keep the process from ending.
            with suppress(Exception):
                self._client.close()
            failure = error_from_spark(error, f"Spark at {remote.url} can't be used")
            raise UnreachableError(
                f"{failure}; see that a server of Spark Connect listens there"
            ) from error
        self.spark = cast("SparkSession", session)
        self._set(conf)
        session.registerProgressHandler(cast("ProgressHandler", self._hear))

    def label(self, run: str) -> None:
        """Set the tag of this thread's operations."""
        self._stages, self._active = [], 0
        self.spark.addTag(run)

    def cancel(self, run: str) -> None:
        """Let the server end its operations."""
        self.spark.interruptTag(run)

    def progress(self, run: str, total: int) -> TaskProgress:
        """The progress that the server reported last, by default every two seconds."""
        del run  # a session of ours has one run at a time
        done = sum(stage.num_completed_tasks for stage in self._stages)
        return TaskProgress(done=done, active=self._active, total=total)

    def stop(self) -> None:
        """Stop the session and its operations; the server stays."""
        with suppress(Exception):
            self._retry(_RETRIES_FIRST)
            self.spark.stop()

    def _hear(
        self,
        stages: "Iterable[StageInfo] | None",
        inflight_tasks: int,
        operation_id: str | None,
        done: bool,
    ) -> None:
        del operation_id, done
        self._stages, self._active = list(stages or ()), inflight_tasks

    def _wait_for_answer(self) -> None:
        """Refuse a server that takes a connection and never answers in gRPC."""
        import grpc  # type: ignore[import-untyped]  # noqa: PLC0415 (only Connect needs it)

        try:
            grpc.channel_ready_future(self._client._channel).result(_ANSWERING_S)  # noqa: SLF001
        except grpc.FutureTimeoutError:
            raise UnreachableError(f"it does not speak gRPC within {_ANSWERING_S} s") from None

    def _retry(self, times: int) -> None:
        from pyspark.sql.connect.client.retries import DefaultPolicy

        self._client.set_retry_policies([DefaultPolicy(max_retries=times)])

    def _set(self, conf: Mapping[str, str]) -> None:
        for key, value in conf.items():
            if key == "spark.remote":
                continue
            try:
                self.spark.conf.set(key, value)
            except Exception as error:
                failure = error_from_spark(error, f"--conf {key}={value} can't be set")
                raise UsageError(f"{failure}; set up the server with it") from error
