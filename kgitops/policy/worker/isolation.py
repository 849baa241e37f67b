"""Keeps the policies' process out of the memory and environment of other processes (Linux)."""

import ctypes
import os
import sys

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
