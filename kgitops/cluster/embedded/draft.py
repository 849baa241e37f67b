"""The draft of a decision: controllers read the cluster from it and write records to it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol
from uuid import UUID

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.cluster.embedded.authorizer import Authorizer
from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.image.records import Record, wire_records
from kgitops.cluster.embedded.image.replay import Delta
from kgitops.cluster.embedded.options import Faults, GroupMembers, Options
from kgitops.model.requests import ExistingTopicRequest, Request, with_labels
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import ErrorCode, RequestResult

MAX_WIRE_RECORDS = 10_000


TOO_LARGE = RequestResult(
    code=ErrorCode.POLICY_VIOLATION,
    message="Unable to perform excessively large batch operation.",
)


class ExcessivelyLargeBatchError(Exception):
    """The batch would write more records than Kafka takes at once; all of it is refused (A4-03)."""


class PolicyHook(Protocol):
    """Asks policies about requests; implemented by ``kgitops.cluster.embedded.policy_hook``."""

    def judge(self, draft: "Draft", request: Request, *, node: int | None) -> None:
        """Let policies judge the request; raises a refusal if one denies it."""
        ...

    def accept(self, request: Request) -> None:
        """Tell policies that the request is carried out."""
        ...


class Draft(Struct, kw_only=True):
    """The cluster as a request would leave it so far, the caller's rights, and the records so far.

    A draft changes nothing outside: its records take effect when the store appends them.
    ``validate_only``: they never will. ``local`` is the name in a virtual cluster of the topic that
    is decided about, ``labels`` are those of the object's document.
    """

    delta: Delta
    authorizer: Authorizer
    options: Options
    new_id: Callable[[], str]
    new_uuid: Callable[[], UUID]
    faults: Faults
    validate_only: bool = False
    policies: PolicyHook | None = None
    members: GroupMembers | None = None
    local: LocalName | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    wire_records: int = 0
    batches: list[tuple[tuple[str, int], bytes]] = field(default_factory=list)

    def write(self, *records: Record) -> None:
        """Write records to the draft.

        Raises:
            ExcessivelyLargeBatchError: the whole batch must be refused.
        """
        for record in records:
            self.wire_records += wire_records(record)
            if self.wire_records > MAX_WIRE_RECORDS:
                raise ExcessivelyLargeBatchError
            self.delta.replay(record)
            self.records.append(record)

    def append_batch(self, topic_id: str, partition: int, batch: bytes) -> None:
        """Append a record batch to a partition, together with the draft's records."""
        self.batches.append(((topic_id, partition), batch))

    def judge(self, request: Request, *, node: int | None = None) -> None:
        """Let the policies judge a request that is otherwise valid (P201-77, P201-78).

        ``node`` is the broker that carries it out; None stands for the controller.

        Raises:
            Refusal: one denies it.
        """
        if self.policies is not None:
            self.policies.judge(self, self._named(request), node=node)

    def accept(self, request: Request) -> None:
        """Tell the policies that the request they judged has been written."""
        if self.policies is not None:
            self.policies.accept(self._named(request))

    @contextmanager
    def naming_topic(self, local: LocalName | None) -> Iterator[None]:
        """Give policies this local name, too, in requests about topics (VC-065)."""
        self.local = local
        try:
            yield
        finally:
            self.local = None

    @contextmanager
    def labelled(self, labels: Mapping[str, str]) -> Iterator[None]:
        """Give policies these labels in requests; a client's own request has none."""
        self.labels = labels
        try:
            yield
        finally:
            self.labels = {}

    def has_members(self, group: str) -> bool:
        """True if consumers are in the group of this physical id, or are said to be by a test."""
        if group in self.faults.busy_groups:
            return True
        return self.members is not None and self.members.has_members(group)

    @property
    def image(self) -> Image:
        """The cluster before this request."""
        return self.delta.image

    def _named(self, request: Request) -> Request:
        match request:
            case ExistingTopicRequest() if self.local:
                named: Request = replace(request, local=self.local)
            case _:
                named = request
        return with_labels(named, self.labels)
