"""Refused requests: the right that each needs, and one error that names all that are missing."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar, overload

from kgitops.model.errors import KgitopsError, UnreachableError
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.results import ErrorCode

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

_PAGE = "docs/reference/rights.md"
_DESCRIBE, _READ = "Describe", "Read"
_OPERATIONS = {
    "DescribeClientQuotas": "DescribeConfigs",
    "DescribeConfigs": "DescribeConfigs",
    "DescribeVirtualClusters": "DescribeVirtualCluster",
    "ListConfigResources": "DescribeConfigs",
    "ListVirtualClusters": "ListVirtualClusters",
}
"""The operations that APIs need; all others need Describe."""
_TOPICS = "all topics"
_RESOURCES = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: _TOPICS,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "all groups",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "the cluster",
}
"""The resource that the right is missing on, in the words of the page."""


class MissingRight(NamedTuple):
    """An operation on a resource, in the words of the page."""

    operation: str
    resource: str

    def __str__(self) -> str:
        """Write it as an administrator would say it."""
        return f"{self.operation} on {self.resource}"


class RefusedRead(NamedTuple):
    """A part of the cluster that was not read, and the broker's code."""

    what: str
    code: ErrorCode


MissingRights = Mapping[MissingRight, RefusedRead]
"""The missing rights, each with the first read that needs it."""


class MissingRightsError(UnreachableError):
    """Brokers refuse reads to the principal."""

    def __init__(
        self, *args: object, principal: str = "", missing: MissingRights | None = None
    ) -> None:
        super().__init__(*args)
        self.principal = principal
        self.missing = missing or {}


def missing_rights_error(principal: str, missing: MissingRights) -> MissingRightsError:
    """Build the error for reads that need these rights; there is at least one."""
    needed = {right: read for right, read in missing.items() if not _is_implied(right, missing)}
    whats = _listed(read.what for read in needed.values())
    codes = ", ".join(dict.fromkeys(read.code.name for read in needed.values()))
    sentence = refusal(principal, f"read {whats} ({codes})", needed)
    return MissingRightsError(sentence, principal=principal, missing=missing)


def of_all_topics(error: MissingRightsError) -> MissingRightsError:
    """Return the error for a read of all topics, from that for the registry's topic among them.

    A list of all topics silently omits those that the principal may not describe.
    """
    missing: dict[MissingRight, RefusedRead] = {}
    for right, read in error.missing.items():
        is_wider = right.resource == REGISTRY_TOPIC and right.operation != _READ
        missing.setdefault(right._replace(resource=_TOPICS) if is_wider else right, read)
    return missing_rights_error(error.principal, missing)


def _is_implied(right: MissingRight, missing: MissingRights) -> bool:
    """Return whether another of the missing rights includes this one."""
    if right.operation == _DESCRIBE and right._replace(operation=_READ) in missing:
        return True
    return right.resource == REGISTRY_TOPIC and right._replace(resource=_TOPICS) in missing


def refusal(principal: str, action: str, rights: Iterable[MissingRight]) -> str:
    """Return the sentence about an action for which these rights are missing."""
    return (
        f"the cluster does not let {principal} {action}; "
        f"grant it {_listed(map(str, rights))}, as {_PAGE} shows"
    )


def right_for(api: str, code: ErrorCode, on: str | None = None) -> MissingRight | None:
    """Return the right that a request of this API lacks; None where the code is no refusal.

    ``on`` names the resource where the code does not tell.
    """
    if code not in _RESOURCES:
        return None
    return MissingRight(_OPERATIONS.get(api, _DESCRIBE), on or _RESOURCES[code])


@overload
def read_all(first: Callable[[], A], second: Callable[[], B], /) -> tuple[A, B]: ...
@overload
def read_all(
    first: Callable[[], A], second: Callable[[], B], third: Callable[[], C], /
) -> tuple[A, B, C]: ...
def read_all(*reads: Callable[[], object]) -> tuple[object, ...]:
    """Call each and return the results; one error names the rights that any of them lacks.

    Raises:
        MissingRightsError: one is refused, and none before it failed otherwise.
        KgitopsError: one failed otherwise, and none before it is refused.
    """
    results: list[object] = []
    refusals: list[MissingRightsError] = []
    for read in reads:
        try:
            results.append(read())
        except MissingRightsError as error:
            refusals.append(error)
        except KgitopsError:
            if not refusals:
                raise
    if not refusals:
        return tuple(results)
    missing: dict[MissingRight, RefusedRead] = {}
    for refused in refusals:
        for right, part in refused.missing.items():
            missing.setdefault(right, part)
    raise missing_rights_error(refusals[0].principal, missing) if missing else refusals[0]


def _listed(texts: Iterable[str]) -> str:
    *first, last = dict.fromkeys(texts)
    return f"{', '.join(first)} and {last}" if first else last
