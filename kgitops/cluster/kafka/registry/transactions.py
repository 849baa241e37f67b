"""The registry's only writer: one transactional id per cluster, one transaction per append.

Opening it fences the previous writer (KIP-98): its next append fails, and its unfinished
transaction is aborted.
"""

import logging
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from kgitops.cluster.kafka.configs.client_configs import LibrdkafkaConfigs
from kgitops.cluster.kafka.configs.tokens.cache import TokenError
from kgitops.cluster.kafka.registry.append import AppendResult, Entries, message
from kgitops.cluster.kafka.registry.topic import TIMEOUT_S, check_authorized
from kgitops.cluster.refusals import MissingRight, refusal
from kgitops.model.errors import KgitopsError, LockedError, UnreachableError
from kgitops.model.resources.names import REGISTRY_TOPIC

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

TRANSACTIONAL_ID = "kgitops"
# Longer than it takes to notice a broker's death (`broker.session.timeout.ms`, 9 s), so that a run
# survives one; short, because until then no reader gets past a dead writer's open transaction.
_TRANSACTION_S = 15.0
_ABORT_S = 5.0
# librdkafka itself looks only every half second whether it is connected by now, but once at the
# beginning of each call.
_LOOK_S = 0.03
_LOG = logging.getLogger(__name__)


class _OnlyToDebug(logging.LoggerAdapter[logging.Logger]):
    """Logs librdkafka's lines at debug level; errors that matter to the user are raised."""

    def log(self, level: int, msg: object, *args: object, **kwargs: object) -> None:
        """Write a line at the level debug."""
        del level, kwargs
        self.logger.debug(msg, *args)


class Transactions:
    """A transactional producer; after its first failure it writes nothing more."""

    def __init__(
        self, configs: LibrdkafkaConfigs, principal: str, opening_s: float = TIMEOUT_S
    ) -> None:
        """Become the only writer; ``principal`` is named where a right is missing.

        Raises:
            UnreachableError: the cluster refuses, or does not answer in time.
        """
        from confluent_kafka import KafkaException, Producer

        self._failure: KgitopsError | None = None
        self._principal = principal
        self._raised = KafkaException
        transaction_ms = int(_TRANSACTION_S * 1000)
        what = f"the registry {REGISTRY_TOPIC} can't be opened for writing"
        _check_token(configs)
        settings = {
            **configs,
            "transactional.id": TRANSACTIONAL_ID,
            "transaction.timeout.ms": transaction_ms,
            "delivery.timeout.ms": transaction_ms - 1000,
            "socket.timeout.ms": transaction_ms - 1000,
            "request.timeout.ms": 5000,
            "linger.ms": 50,  # fills the batches; to flush does not wait for it
            "compression.type": "gzip",
            "reconnect.backoff.max.ms": 1000,
            "retry.backoff.ms": 20,
        }
        try:
            self._producer = Producer(settings, logger=_OnlyToDebug(_LOG))
            self._call_with_retry(self._producer.init_transactions, opening_s, first_s=_LOOK_S)
        except KafkaException as error:
            raise _translate_error(error.args[0], what, principal) from error

    def append(self, entries: Entries, sent_at: float) -> AppendResult:
        """Write the entries in one transaction, all or none.

        Raises:
            LockedError: another process is the only writer by now; nothing was written.
            UnreachableError: it can't be written, or it is unknown whether it was.
        """
        if self._failure:
            raise self._failure
        what = "nothing was written"
        try:
            last = self._send(entries)
            what = "whether it was written is unknown"
            self._call_with_retry(self._producer.commit_transaction, _TRANSACTION_S)
        except (self._raised, SystemError) as error:
            problem = self._error_of(error)
            self._failure = _translate_error(
                problem,
                f"the registry {REGISTRY_TOPIC} can't be written, and {what}",
                self._principal,
            )
            self._abort(problem)
            raise self._failure from error
        return AppendResult(
            offset=last.offset() or 0, timestamp_ms=last.timestamp()[1], sent_at=sent_at
        )

    def close(self) -> None:
        """Close the connections without waiting for anything in flight."""
        self._failure = self._failure or LockedError("the registry's writer is closed")
        self._producer.purge()
        del self._producer

    def _send(self, entries: Entries) -> "Message":
        """Send every entry as part of a transaction; return the last one's delivery report."""
        from confluent_kafka import KafkaError

        last: list[Message] = []
        errors: list[KafkaError] = []

        def delivered(error: "KafkaError | None", record: "Message") -> None:
            if error is not None:
                errors.append(error)
            last[:] = [record]

        self._producer.begin_transaction()
        for key, value in entries:
            key_bytes, value_bytes = message(key, value)
            self._producer.produce(
                REGISTRY_TOPIC,
                key=key_bytes,
                value=value_bytes,
                partition=0,
                on_delivery=delivered,
            )
        unsent = self._producer.flush(_TRANSACTION_S)
        if errors:
            raise self._raised(errors[0])
        if unsent:
            raise self._raised(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 (public: its docs)
        return last[0]

    def _call_with_retry(
        self, call: Callable[[float], object], timeout_s: float, first_s: float = math.inf
    ) -> None:
        """Repeat a call as long as librdkafka reports a retriable error, until time is up.

        The first one may take ``first_s``, and each other one twice as long as the one before.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                call(min(first_s, max(0.1, deadline - time.monotonic())))
            except self._raised as error:
                if not error.args[0].retriable() or time.monotonic() >= deadline:
                    raise
                first_s *= 2
            else:
                return

    def _error_of(self, raised: BaseException) -> "KafkaError":
        """Return librdkafka's error.

        confluent-kafka raises a fatal error in the middle of its callbacks and continues to call
        them: Python turns that into a SystemError whose cause is the error.
        """
        cause: BaseException | None = raised
        while cause is not None and not isinstance(cause, self._raised):
            cause = cause.__cause__
        if cause is None:
            raise raised
        error: KafkaError = cause.args[0]
        return error

    def _abort(self, error: "KafkaError") -> None:
        """Abort the transaction if that is still possible, so that readers need not wait for it."""
        if error.fatal():
            return
        try:
            self._producer.purge()
            self._producer.abort_transaction(_ABORT_S)
        except self._raised as problem:
            _LOG.debug("the transaction is left to time out: %s", problem)


def _check_token(configs: LibrdkafkaConfigs) -> None:
    """Get the token that librdkafka will ask for; it would not say why there is none.

    Raises:
        UnreachableError: there is none.
    """
    get_token = configs.get("oauth_cb")
    try:
        if callable(get_token):
            get_token("")
    except TokenError as error:
        raise UnreachableError(str(error)) from error


def _translate_error(error: "KafkaError", what: str, principal: str) -> KgitopsError:
    """Translate an error of librdkafka for the user."""
    from confluent_kafka import KafkaError as Codes

    code = error.code()
    if code in (Codes._FENCED, Codes.PRODUCER_FENCED, Codes.INVALID_PRODUCER_EPOCH):  # noqa: SLF001
        return LockedError(
            "another kgitops has taken the registry over, so this run may write nothing more; "
            "wait until it is done, then try again"
        )
    if code == Codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        resource = f"the transactional id {TRANSACTIONAL_ID}"
        refused = refusal(principal, f"use {resource}", [MissingRight("Write", resource)])
        return UnreachableError(f"{what}: {refused}")
    try:
        check_authorized(principal, code, "Produce")
    except UnreachableError as refused_write:
        return UnreachableError(f"{what}: {refused_write}")
    return UnreachableError(f"{what}: {error.str()}; see that the brokers run, then try again")
