"""The messages between kgitops and the worker, and the worker's progress in shared memory."""

import io
import mmap
import pickle
import struct
from collections.abc import Mapping, MutableSequence, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.model.source import Finding, Source
from kgitops.policy.evaluate.bundle import Outcome, Policy, RequestRulings, Ruling, Waiver

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


class UseBrokerConfigs(NamedTuple):
    """Judge the requests that follow on a node with these configs (P201-40)."""

    configs: Mapping[str, str] | None


class Work(NamedTuple):
    """Take ``accepted`` as carried out, then judge ``requests``, numbered from ``first`` on.

    None among the accepted is the request that was judged last, so that it need not be sent twice.
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


Message = Load | Begin | UseBrokerConfigs | Work | Close


def to_bytes(message: Message) -> bytes:
    """The message with its length before it; read-only mappings travel as plain ones."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {MappingProxyType: _as_plain}
    pickler.dump(message)
    body = buffer.getvalue()
    return HEADER.pack(len(body)) + body


def from_bytes(body: bytes) -> Message:
    """The message again; only for bytes that this program wrote itself."""
    message: Message = pickle.loads(body)  # noqa: S301 (our own parent wrote it)
    return message


def _as_plain(mapping: Mapping[str, object]) -> tuple[type, tuple[dict[str, object]]]:
    return dict, (dict(mapping),)


class VerdictCodec:
    """Encodes and decodes rulings by these policies, in order, and these waivers, as plain JSON.

    Where all passed, a request's rulings are the number whose bits are the policies that judged.
    Else they are a list: a policy's index where it passed, a list of the ruling's parts where it
    did not. A policy may have broken the process that encoded them, so decoding checks everything.
    """

    def __init__(self, policies: Sequence[Policy], waivers: Sequence[Waiver]) -> None:
        self._waivers = waivers
        self._policies = policies
        # Two may share a name, where one class judges twice; their rulings look the same.
        self._index = {(policy.name, policy.level): index for index, policy in enumerate(policies)}
        self._passed = [
            Ruling(policy=policy.name, level=policy.level, outcome=Outcome.PASSED)
            for policy in policies
        ]
        self._decoded: dict[int, RequestRulings] = {}
        self._encoded: dict[int, tuple[RequestRulings, int]] = {}  # by the rulings' id

    def encode(self, rulings: RequestRulings) -> object:
        """The rulings as JSON's own values."""
        encoded = self._encoded.get(id(rulings))
        if encoded is not None:
            return encoded[1]
        parts = [self._parts(ruling) for ruling in rulings]
        passed = {part for part in parts if isinstance(part, int)}
        if len(passed) != len(parts):
            return parts
        bits = sum(1 << index for index in passed)
        # Kept, so that no other rulings can get the same id.
        self._encoded[id(rulings)] = rulings, bits
        return bits

    def decode(self, encoded: Any) -> RequestRulings:  # noqa: ANN401 (any JSON)
        """The rulings again; ValueError and its kin for a value that ``encode`` never makes."""
        if type(encoded) is int:
            if encoded not in self._decoded:
                self._decoded[encoded] = RequestRulings(self._all_in(encoded))
            return self._decoded[encoded]
        return RequestRulings(self._ruling(parts) for parts in encoded)

    def _parts(self, ruling: Ruling) -> int | list[object]:
        index = self._index[ruling.policy, ruling.level]
        if ruling.outcome is Outcome.PASSED:
            return index
        waiver = self._waivers.index(ruling.waiver) if ruling.waiver else None
        violation = ruling.message, ruling.field, ruling.fingerprint, ruling.rule
        return [index, *violation, waiver, ruling.crashed]

    def _ruling(self, parts: Any) -> Ruling:  # noqa: ANN401 (any JSON)
        if type(parts) is int:
            return self._passed[_at(parts, self._passed)]
        index, message, field, fingerprint, rule, waiver, crashed = parts
        policy = self._policies[_at(index, self._policies)]
        if not isinstance(message, str) or not isinstance(crashed, bool):
            raise TypeError("not a ruling")
        return Ruling(
            policy=policy.name,
            level=policy.level,
            outcome=Outcome.DENIED if waiver is None else Outcome.WAIVED,
            message=message,
            field=None if field is None else str(field),
            fingerprint=None if fingerprint is None else str(fingerprint),
            waiver=None if waiver is None else self._waivers[_at(waiver, self._waivers)],
            crashed=crashed,
            rule=None if rule is None else int(rule),
        )

    def _all_in(self, bits: int) -> list[Ruling]:
        if not 0 <= bits < 1 << len(self._passed):
            raise ValueError("not a set of policies")
        return [passed for index, passed in enumerate(self._passed) if bits >> index & 1]


def _at(index: int, items: Sequence[object]) -> int:
    if not 0 <= index < len(items):
        raise IndexError(index)
    return index


def encode_findings(findings: Sequence[Finding]) -> object:
    """The findings of policies that can't be loaded, as JSON's own values."""
    return [[_place(finding.source), finding.problem, finding.advice] for finding in findings]


def decode_findings(written: Any) -> list[Finding]:  # noqa: ANN401 (any JSON)
    """The findings again; ValueError and its kin for what ``encode_findings`` never made."""
    return [
        Finding(
            source=None if place is None else Source(str(place[0]), int(place[1]), int(place[2])),
            problem=str(problem),
            advice=str(advice),
        )
        for place, problem, advice in written
    ]


def _place(source: Source | None) -> object:
    return None if source is None else [source.file, source.line, source.column]


BYTES = 16
NO_POLICY = -1
"""No policy is at work; nor is one below this number."""


class ProgressMarker:
    """Two numbers: which request is judged and, in ``current_rule[0]``, which policy judges it."""

    def __init__(self, file: int) -> None:
        """Share the memory of this file, which is ``BYTES`` long."""
        cells = memoryview(mmap.mmap(file, BYTES)).cast("q")
        # mypy doesn't know that a view cast to numbers holds numbers.
        self._cells: MutableSequence[int] = cells  # type: ignore[assignment]
        self.current_rule: MutableSequence[int] = cells[1:]  # type: ignore[assignment]

    @property
    def place(self) -> tuple[int, int]:
        """The request's number and the policy's index, or NO_POLICY or less."""
        return self._cells[0], self._cells[1]

    def at_request(self, number: int) -> None:
        """This request is judged from now on."""
        self._cells[0] = number

    def at_nothing(self, piece: int = 0) -> None:
        """No policy is at work; ``piece`` lets others see how far other work has come."""
        self._cells[1] = NO_POLICY - piece

    def close(self) -> None:
        """Let go of the memory, which holds a file open; the place stays what it was."""
        self._cells = list(self._cells)
        self.current_rule = self._cells[1:]
