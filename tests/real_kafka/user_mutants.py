"""Mutants of kgitops that tell something of a password, or leave a user's password as it was."""

import base64
import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from kgitops.apply.events import Noted
from kgitops.apply.journal import journal
from kgitops.apply.run.sending import Sender, SendResult, StepAttempt
from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.model.requests import SaltedCredentialsRequest
from kgitops.model.results import OK


def _with_passwords(tell: Callable[[Any, str, SaltedCredentialsRequest], None]) -> Any:  # noqa: ANN401
    """Call ``tell`` for each password that was read from the environment."""
    real = Sender._read_passwords

    def telling(self: Sender, attempts: Sequence[StepAttempt], result: SendResult) -> None:
        real(self, attempts, result)
        for step, request in result.passwords.items():
            assert isinstance(request, SaltedCredentialsRequest)
            if request.password is not None and request.password.env:
                tell(self, step, request)

    return patch.object(Sender, "_read_passwords", telling)


def _password(request: SaltedCredentialsRequest) -> bytes:
    assert request.password is not None
    assert request.password.env is not None
    return os.environb[request.password.env.encode()]


def _emit(sender: Any, step: str, sentence: str) -> None:  # noqa: ANN401
    sender._context.on_event(Noted(step=step, address="user", sentence=sentence))


def _hash_in_an_event() -> Any:  # noqa: ANN401
    return _with_passwords(
        lambda sender, step, request: _emit(
            sender, step, hashlib.sha256(_password(request)).hexdigest()
        )
    )


def _salted_password_in_an_event() -> Any:  # noqa: ANN401
    return _with_passwords(
        lambda sender, step, request: _emit(
            sender, step, base64.b64encode(request.salted.reveal()[1]).decode()
        )
    )


def _password_in_the_log() -> Any:  # noqa: ANN401
    log = logging.getLogger("kgitops.apply")
    return _with_passwords(lambda _, step, request: log.debug("%s: %r", step, _password(request)))


@contextmanager
def _in_the_journal(of: Callable[[SaltedCredentialsRequest], str]) -> Iterator[None]:
    """Only the brokers hold it then, in a batch that is compressed."""
    known: list[str] = []
    real = journal.batch_record

    def telling(*arguments: Any) -> Any:  # noqa: ANN401
        key, value = real(*arguments)
        return key, {**value, "api": f"{value['api']} {known}"}

    with (
        _with_passwords(lambda _, step, request: known.append(of(request))),
        patch("kgitops.apply.journal.journal.batch_record", telling),
    ):
        yield


def _password_in_the_journal() -> Any:  # noqa: ANN401
    return _in_the_journal(lambda request: _password(request).decode())


def _salt_in_the_journal() -> Any:  # noqa: ANN401
    return _in_the_journal(lambda request: request.salted.reveal()[0].hex())


def _bug_while_sending() -> Any:  # noqa: ANN401
    """An error that shows what was to be sent, as those of libraries do."""

    def fail(_: KafkaCluster, requests: Sequence[Any], **options: Any) -> None:  # noqa: ANN401
        raise ZeroDivisionError(f"{requests!r} {[getattr(it, 'salted', '') for it in requests]}")

    return patch.object(KafkaCluster, "execute", fail)


def _one_user_left_out() -> Any:  # noqa: ANN401
    """It says that it set a password, and nothing that a cluster describes tells otherwise."""
    real = KafkaCluster.execute

    def execute(self: KafkaCluster, requests: Sequence[Any], **options: Any) -> Any:  # noqa: ANN401
        sent = [request for request in requests if request.user != "renewed"]
        results = iter(real(self, sent, **options) if sent else ())
        return [next(results) if request in sent else OK for request in requests]

    return patch.object(KafkaCluster, "execute", execute)


MUTANTS: Mapping[str, Callable[[], Any]] = {
    "hash in an event": _hash_in_an_event,
    "salted password in an event": _salted_password_in_an_event,
    "password in the log": _password_in_the_log,
    "password in the journal": _password_in_the_journal,
    "salt in the journal": _salt_in_the_journal,
    "bug while sending": _bug_while_sending,
    "one user left out": _one_user_left_out,
}
