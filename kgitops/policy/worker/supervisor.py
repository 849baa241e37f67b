"""The process between kgitops and the worker, which ends every process that policies leave behind.

On Linux every descendant of a policy becomes this process's child once its own parent is gone, in
whichever session it is: none is left when this one has no child any more.
"""

import ctypes
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

END = b"e"
"""The bytes that the owner writes into the lifeline to have everything ended at once."""

_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_CLOSING_S = 2.0
"""Seconds that policies may take to close once the owner is gone."""
_KILLING_S = 1.5
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def supervise(lifeline: int, owner: int) -> None:
    """Go on in a child of this process, which from now on only looks after it.

    ``lifeline`` can be read when the owner, the process of this id, wants the end or is gone.
    """
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    supervisor = os.getpid()
    worker = os.fork()
    if worker:
        _look_after(worker, lifeline, owner, woken, wake)
    for file in (lifeline, woken, wake):
        os.close(file)
    os.setsid()  # what a policy does to its group is not done to the supervisor
    if _LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)
    isolate()


def _look_after(worker: int, lifeline: int, owner: int, woken: int, wake: int) -> NoReturn:
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in (0, 1):  # the worker alone holds its pipes
        os.dup2(nothing, file)
    events = select.poll()
    for file in (lifeline, woken):
        events.register(file, select.POLLIN)
    until: float | None = None
    status = None
    try:
        while (status := _reaped(worker)) is None and (until is None or time.monotonic() < until):
            ready = {file for file, _ in events.poll(1000 if until is None else 20)}
            if woken in ready:
                os.read(woken, 512)
            if until is None and (lifeline in ready or os.getppid() != owner):
                asked = lifeline in ready and os.read(lifeline, 1) == END
                until = time.monotonic() + (0.0 if asked else _CLOSING_S)
                events.unregister(lifeline)
    finally:
        _end_all(worker)
        _end_like(status)


def _reaped(worker: int) -> int | None:
    """The worker's status once it has ended; orphans that ended are gone for good."""
    status = None
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == worker:
                status = found[1]
                break
    return status


def _end_all(worker: int) -> None:
    """Kill all children, and those that come to be ours thereby, until there are none."""
    deadline = time.monotonic() + _KILLING_S
    elsewhere = () if _LINUX else tuple(_descendants())
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(worker, signal.SIGKILL)
    while time.monotonic() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        finally:
            for process in _children() if _LINUX else elsewhere:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
        time.sleep(0.002)


def _children() -> Iterator[int]:
    own = str(os.getpid())
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                # The name, in parentheses, may hold anything; after it come the state and parent.
                fields = (folder / "stat").read_text(errors="replace")
                if fields.rpartition(")")[2].split()[1] == own:
                    yield int(folder.name)


def _descendants() -> Iterator[int]:
    import psutil

    for process in psutil.Process().children(recursive=True):
        yield process.pid


def _end_like(status: int | None) -> NoReturn:
    """So that the owner learns from this process how the worker ended."""
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        time.sleep(1)
    os._exit(os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else 0)


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


TOKEN = "KGITOPS_POLICY_WORKER"  # noqa: S105 (the name of a variable, which marks processes)
"""The environment variable by which a worker's processes know whose they are."""


def end_supervisor(pid: int, lifeline: int, wait: Callable[[], int | None], token: str) -> None:
    """Have everything below the supervisor ended, and the supervisor itself.

    ``wait`` gives it some seconds to end: its exit status, None where it continues. Where it was
    killed or doesn't answer, the processes that bear ``token`` in their environment are ended.
    """
    with suppress(OSError):  # it is gone already
        os.write(lifeline, END)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    status = wait()
    if status is None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        wait()
    if status is None or status < 0:
        _end_marked(token)
    os.close(lifeline)


def _end_marked(token: str) -> None:
    import psutil

    found = True
    while found:
        found = False
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                alive = process.status() != psutil.STATUS_ZOMBIE
                if alive and process.environ().get(TOKEN) == token:
                    process.kill()
                    found = True


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _RULE_BENEATH_PATH = 1, 1
_MAKE_BLOCK_DEVICE, _RENAME_ACROSS_FOLDERS = 1 << 11, 1 << 13
_FIRST_WITH_RENAMES = 2
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITIES_VERSION = 0x20080522
_MODULE, _RAW_IO, _PTRACE, _ADMIN, _PERFMON, _BPF = 16, 17, 19, 21, 38, 39
_SEES_MEMORY = sum(1 << bit for bit in (_MODULE, _RAW_IO, _PTRACE, _ADMIN, _PERFMON, _BPF))


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def isolate() -> None:
    """Forbid this process and its children to look into other processes, as far as the system can.

    A Landlock domain does it for every user, and leaves files alone: it handles one right, which it
    grants everywhere. Root also loses the capabilities that pass by Landlock, for good.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _drop_capabilities(libc)
    _enter_domain(libc)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then their upper halves
    if libc.capget(header, sets) == 0:
        for index in range(6):
            sets[index] &= ~(_SEES_MEMORY >> 32 * (index // 3)) & 0xFFFFFFFF
        libc.capset(header, sets)


def _enter_domain(libc: ctypes.CDLL) -> None:
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    if version < 1:
        return
    # The first version has no right to rename across folders, and always forbids it.
    renames = version >= _FIRST_WITH_RENAMES
    handled = _Ruleset(_RENAME_ACROSS_FOLDERS if renames else _MAKE_BLOCK_DEVICE)
    size = ctypes.c_size_t(ctypes.sizeof(handled))
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(handled), size, 0)
    if ruleset < 0:
        return
    if renames:
        root = os.open("/", os.O_PATH | os.O_CLOEXEC)
        rule = _PathRule(handled.handled_access_fs, root)
        libc.syscall(_ADD_RULE, ruleset, _RULE_BENEATH_PATH, ctypes.byref(rule), 0)
        os.close(root)
    libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
