"""What this process tells the worker: pickled values, each with its length before it."""

import io
import pickle
import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.policy.evaluate.rules import Policy, Waiver

HEADER = struct.Struct("!Q")
OUT_OF_MEMORY = 86
"""The worker's exit status where a policy, or what policies keep, took all memory."""
BROKEN = 87
"""Its exit status where it fails while no policy is at work."""


class Ban(NamedTuple):
    """A policy that denies, for this reason, from the request of this number on."""

    since: int
    why: str


class Load(NamedTuple):
    """Load these policies, none of them off; ``banned`` holds bans by a policy's index.

    ``memory`` is the limit in bytes; ``verbose`` lets everything be logged.
    """

    policies: Sequence[Policy]
    waivers: Sequence[Waiver]
    banned: Mapping[int, Ban]
    memory: int
    verbose: bool


class Begin(NamedTuple):
    """Judge from now on for ``principal``, on ``state``; None: on that of the last ``Begin``."""

    state: ClusterState | None
    principal: str


class BrokerConfigs(NamedTuple):
    """What follows is judged on a node with these configs (P201-40)."""

    configs: Mapping[str, str] | None


class Work(NamedTuple):
    """Take ``accepted`` as carried out, then judge ``requests``, numbered from ``first`` on.

    None among the accepted stands for the request that was judged last: who asks about one after
    another needn't send each twice.
    With ``accepting``, what nothing stops is carried out before the next is judged. ``failed``
    holds, by a request's number, the policies by index that may not be asked about it, and why.
    """

    first: int
    accepted: Sequence[Request | None]
    requests: Sequence[Request]
    accepting: bool
    failed: Mapping[int, Mapping[int, str]]


class Close(NamedTuple):
    """Close the policies and end."""


Message = Load | Begin | BrokerConfigs | Work | Close


def to_bytes(message: Message) -> bytes:
    """The message with its length before it; read-only mappings travel as plain ones."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {MappingProxyType: _as_plain}
    pickler.dump(message)
    body = buffer.getvalue()
    return HEADER.pack(len(body)) + body


def from_bytes(body: bytes) -> Message:
    """The message again; only for what this program wrote itself."""
    message: Message = pickle.loads(body)  # noqa: S301 (our own parent wrote it)
    return message


def _as_plain(mapping: Mapping[str, object]) -> tuple[type, tuple[dict[str, object]]]:
    return dict, (dict(mapping),)
