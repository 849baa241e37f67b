"""Passwords of one run: read, made up and salted when they are due, and checked before."""

import ctypes
import hashlib
import os
import secrets
import select
import shutil
import signal
import string
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeGuard

from msgspec import Struct, field

from kgitops.model import requests as req
from kgitops.model.cluster_state import Capabilities
from kgitops.model.errors import KgitopsError, SafetyError
from kgitops.model.resources.secrets import SaltedPassword, Secret
from kgitops.model.resources.users import (
    MIN_ITERATIONS,
    UNKNOWN_PASSWORD,
    GeneratedPassword,
    PasswordSource,
    ScramMechanism,
)
from kgitops.model.wording import counted
from kgitops.plan.document.plan import PlannedRequest

_PR_SET_DUMPABLE = 4


def forbid_core_dumps() -> None:
    """Let the kernel write no core dump of this process, from now until it ends.

    Python can't erase what it has read, so there is no way back. A limit on the size is not enough
    on Linux, where a handler that takes core dumps by a pipe ignores it. There the second step
    also keeps other processes of the same user from reading this one's memory and environment.
    """
    try:
        import resource  # noqa: PLC0415 (Windows has none, and no core dumps)
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


MOST_SECONDS = 20.0
MOST_BYTES = 64 * 1024
_KILLING_S = 1.0


def find_program(command: Sequence[str], base: Path) -> str | None:
    """Return the program's path; None if there is none that may be started.

    A name with a slash is of a file below ``base``, and is not looked for in PATH.
    """
    name = command[0]
    return shutil.which(str((base / name).absolute()) if os.sep in name else name)


def output_of(command: Sequence[str], base: Path, *, seconds: float = MOST_SECONDS) -> Secret:
    """Run the program in the folder ``base`` and return what it prints.

    Raises:
        KgitopsError: it can't be started, fails, prints too much or takes too long. What it says
            of itself is not shown, since it may hold the password.
    """
    return _run(command, base, None, seconds)


def give_to(
    command: Sequence[str], base: Path, given: Secret, *, seconds: float = MOST_SECONDS
) -> None:
    """Run the program in the folder ``base`` with ``given`` as its standard input.

    Raises:
        KgitopsError: as ``output_of``.
    """
    _run(command, base, given, seconds)


def _run(command: Sequence[str], base: Path, given: Secret | None, seconds: float) -> Secret:
    program = find_program(command, base)
    if program is None:
        raise KgitopsError(f"the program {command[0]} can't be found or started; install it")
    deadline = time.monotonic() + seconds
    try:
        process = subprocess.Popen(  # noqa: S603 (the reviewed command, without a shell)
            [program, *command[1:]],
            cwd=base,
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise KgitopsError(
            f"the program {command[0]} can't be started: {error.strerror}; correct the command"
        ) from None
    try:
        if process.stdin is not None and given is not None:
            _hand_over(process.stdin, given)
        printed = _output(process, deadline)
        if len(printed.reveal()) <= MOST_BYTES:
            process.wait(max(0.0, deadline - time.monotonic()))
    except (TimeoutError, subprocess.TimeoutExpired):
        _end(process)
        raise _late(process, command[0], seconds) from None
    finally:
        _end(process)
    if len(printed.reveal()) > MOST_BYTES:
        raise KgitopsError(f"the program {command[0]} printed more than a password; correct it")
    if process.returncode:
        raise KgitopsError(
            f"the program {command[0]} failed with exit code {process.returncode}; run it by hand "
            "to see why"
        )
    return printed


def _hand_over(stdin: IO[bytes], given: Secret) -> None:
    """Write a password, which is shorter than the buffer of any pipe."""
    with suppress(BrokenPipeError):
        stdin.write(given.reveal())
        stdin.flush()
    with suppress(BrokenPipeError):
        stdin.close()


def _output(process: "subprocess.Popen[bytes]", deadline: float) -> Secret:
    """Read the output to its end; the end of the program is not enough."""
    if process.stdout is None:
        return Secret(b"")
    return read_to_end(process.stdout.fileno(), deadline)


def _late(process: "subprocess.Popen[bytes]", name: str, seconds: float) -> KgitopsError:
    if process.returncode in (None, -signal.SIGKILL):
        return KgitopsError(f"the program {name} took more than {seconds:g} s; look at it")
    return KgitopsError(
        f"the program {name} ended, but a program that it started kept its output open for more "
        f"than {seconds:g} s; redirect the output of that program, as with >/dev/null"
    )


def read_to_end(file: int, deadline: float) -> Secret:
    """Read until the end of a pipe or file, or until one byte more than a password may have.

    Raises:
        TimeoutError: the end did not come before the ``deadline`` of the monotonic clock.
    """
    content = Secret(b"")
    events = select.poll()
    events.register(file, select.POLLIN)
    while len(content.reveal()) <= MOST_BYTES:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not events.poll(left_s * 1000):
            raise TimeoutError
        part = Secret(os.read(file, MOST_BYTES + 1 - len(content.reveal())))
        if not part.reveal():
            break
        content = Secret(content.reveal() + part.reveal())
    return content


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the program with what it started in its session, and close its output.

    What it started in another session lives on, and so does what the kernel can't end; neither is
    waited for. A program that was waited for is left alone, because its id may be another's.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_KILLING_S)
    if process.stdout is not None:
        process.stdout.close()


def source_problem(source: PasswordSource, base: Path) -> str | None:
    """Explain why no password can come from the source; None where one may be there.

    No program is started and nothing is written. A file that is not a regular one, such as a pipe,
    is not read ahead.
    """
    if source.env is not None:
        return None if os.environ.get(source.env) else f"{_named(source)} is not set or empty"
    if source.file is not None:
        return _file_problem(base / source.file, source)
    if source.command is not None:
        return _program_problem(source.command, base)
    if source.generate is not None:
        return _sink_problem(source.generate, base)
    return "it has no password source"


def read_secret(source: PasswordSource, base: Path) -> Secret:
    """Read the password; relative paths begin at ``base``.

    Raises:
        KgitopsError: it is missing, empty, or not one line of text.
    """
    if source.env is not None:
        secret = Secret(os.environb.get(os.fsencode(source.env), b""))
    elif source.file is not None:
        secret = _without_line_break(_read_file(base / source.file, source))
    elif source.command is not None:
        secret = _without_line_break(output_of(source.command, base))
    else:
        raise KgitopsError(
            "no password source; write password.env, password.file or password.command"
        )
    if problem := _content_problem(secret):
        raise KgitopsError(f"{_named(source)} {problem}; correct what it holds")
    return secret


def _named(source: PasswordSource) -> str:
    return f"the {source}" if source.env is None else f"the environment variable {source.env}"


def _content_problem(secret: Secret) -> str | None:
    raw: bytes = secret.reveal()
    if not raw:
        return "holds no password"
    if b"\n" in raw or b"\r" in raw or b"\0" in raw:
        return "holds more than one line"
    try:
        raw.decode()
    except UnicodeDecodeError:
        return "is not UTF-8"
    return None


def _without_line_break(secret: Secret) -> Secret:
    return Secret(secret.reveal().removesuffix(b"\n").removesuffix(b"\r"))


def _file_problem(path: Path, source: PasswordSource) -> str | None:
    if not path.exists():
        return f"{_named(source)} does not exist"
    if not os.access(path, os.R_OK):
        return f"{_named(source)} can't be read"
    if path.is_dir():
        return f"{_named(source)} is a folder"
    if not path.is_file():
        return None
    try:
        return _described(_content_problem(_without_line_break(_read_file(path, source))), source)
    except KgitopsError as error:
        return str(error)


def _described(problem: str | None, source: PasswordSource) -> str | None:
    return None if problem is None else f"{_named(source)} {problem}"


def _read_file(path: Path, source: PasswordSource) -> Secret:
    """Read the file; a pipe has as long for its content as a program for its output."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            content = read_to_end(file, time.monotonic() + MOST_SECONDS)
        finally:
            os.close(file)
    except TimeoutError:
        raise KgitopsError(
            f"{_named(source)} is a pipe that did not end within {MOST_SECONDS:g} s; look at the "
            "program that writes it"
        ) from None
    except OSError as error:
        raise KgitopsError(
            f"{_named(source)} can't be read: {error.strerror}; correct it"
        ) from None
    if len(content.reveal()) > MOST_BYTES:
        raise KgitopsError(f"{_named(source)} holds more than a password; correct it")
    return content


def _program_problem(command: tuple[str, ...], base: Path) -> str | None:
    if find_program(command, base) is None:
        return f"the program {command[0]} can't be found or started"
    return None


def _sink_problem(generated: GeneratedPassword, base: Path) -> str | None:
    if generated.command is not None:
        return _program_problem(generated.command, base)
    path = base / (generated.file or "")
    if path.is_dir():
        return f"{generated.file}, which is to hold the generated password, is a folder"
    if not os.access(path.parent, os.W_OK):
        return f"the folder of {generated.file}, for the generated password, can't be written to"
    return None


_SALT_BYTES = 24


class PasswordSettings(Struct, frozen=True, kw_only=True):
    """The limits of an apply that needs passwords; relative paths begin at ``base``.

    ``allow_plaintext``: a salted password may travel where others could read it. ``may_act``: the
    plan may start programs and write files; whoever writes a plan's file could name any.
    """

    base: Path = field(default_factory=Path)
    allow_plaintext: bool = False
    may_act: bool = False


def sets_password(
    request: req.Request | None,
) -> TypeGuard[req.AlterUserScramCredentialsRequest]:
    """Return whether the request needs a password."""
    return isinstance(request, req.AlterUserScramCredentialsRequest) and not request.removes


def is_made_up(request: req.Request | None) -> bool:
    """Return whether the request needs a password that the apply makes up."""
    source = request.password if sets_password(request) else None
    return source is not None and source.generate is not None


def variables_of(requests: Iterable[PlannedRequest]) -> frozenset[str]:
    """Return the environment variables that hold passwords for these requests."""
    sources = (
        planned.request.password
        for planned in requests
        if isinstance(planned.request, req.AlterUserScramCredentialsRequest)
    )
    return frozenset(source.env for source in sources if source and source.env)


def check_passwords(
    requests: Iterable[req.Request | None], settings: PasswordSettings, capabilities: Capabilities
) -> None:
    """Check that every password can be had, and that it is safe on its way and in this process.

    Raises:
        SafetyError: the connection is not private, or the plan may not start programs.
        KgitopsError: one is missing or empty; each is named.
    """
    due = list(filter(sets_password, requests))
    if not due:
        return
    if not (capabilities.private or settings.allow_plaintext):
        raise SafetyError(
            f"the passwords of {counted(len(due), 'user')} would go to the cluster without TLS, "
            "and a salted password is as good as the password; use security.protocol SASL_SSL or "
            "SSL, or pass --allow-plaintext-secrets"
        )
    acting = [request for request in due if request.password and request.password.acts]
    if acting and not settings.may_act:
        raise SafetyError(
            f"{req.request_address(acting[0])}: the plan names a program or file for its password "
            f"({acting[0].password}), and a plan's file could name any; review it and pass "
            "--allow-secret-commands, or apply the manifests themselves"
        )
    forbid_core_dumps()
    problems = list(_problems(due, settings.base))
    if problems:
        raise KgitopsError(f"{'; '.join(problems)}; nothing was sent: set them and apply again")


def _problems(due: Iterable[req.AlterUserScramCredentialsRequest], base: Path) -> Iterator[str]:
    for request in due:
        problem = source_problem(request.password or UNKNOWN_PASSWORD, base)
        if problem is not None:
            address = req.request_address(request)
            yield f"{address} has no password for {request.mechanism}: {problem}"


def with_password(request: req.Request, settings: PasswordSettings) -> req.Request:
    """Return the request with its password read and salted; others as they are.

    Raises:
        KgitopsError: there is none.
    """
    if not sets_password(request):
        return request
    source = request.password or UNKNOWN_PASSWORD
    try:
        if source.generate is not None:
            secret = generate(source.generate, settings.base)
        else:
            secret = read_secret(source, settings.base)
    except KgitopsError as error:
        address = req.request_address(request)
        raise KgitopsError(f"{address}: {request.mechanism}: {error}") from None
    return req.SaltedCredentialsRequest(
        user=request.user,
        mechanism=request.mechanism,
        iterations=request.iterations,
        password=request.password,
        virtual_cluster=request.virtual_cluster,
        labels=request.labels,
        salted=salt(secret, request.mechanism, request.iterations or MIN_ITERATIONS),
    )


def salt(secret: Secret, mechanism: ScramMechanism, iterations: int) -> SaltedPassword:
    """Salt a password again and hash it, as clients of Kafka do (RFC 5802, KIP-554)."""
    fresh = secrets.token_bytes(_SALT_BYTES)
    return SaltedPassword(
        fresh, hashlib.pbkdf2_hmac(mechanism.hash_name, secret.reveal(), fresh, iterations)
    )


_CHARACTERS = string.ascii_letters + string.digits


def generate(generated: GeneratedPassword, base: Path) -> Secret:
    """Make up a password and hand it to its sink; it is printed nowhere.

    Raises:
        KgitopsError: the sink did not take it.
    """
    secret = Secret("".join(secrets.choice(_CHARACTERS) for _ in range(generated.length)).encode())
    if generated.command is not None:
        give_to(generated.command, base, secret)
    else:
        _write(base / (generated.file or ""), secret)
    return secret


def _write(path: Path, secret: Secret) -> None:
    """Replace the file as a whole; nobody but its owner may read it.

    The draft's name is always the same, so that one which a killed process left behind goes.
    """
    draft = path.with_name(f".{path.name}.kgitops-draft")
    try:
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secret.reveal())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise _unwritten(path, error) from None


def _unwritten(path: Path, error: OSError) -> KgitopsError:
    return KgitopsError(
        f"the generated password can't be written to {path}: {error.strerror}; correct the path"
    )
