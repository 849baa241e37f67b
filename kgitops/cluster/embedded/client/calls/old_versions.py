"""How versions of Kafka's requests that are older than policies answer to a policy's denial."""

import logging

from kgitops.model.results import ErrorCode, RequestResult

_FIRST_WITH_POLICIES = {"DeleteTopics": 2, "DeleteRecords": 1}
_log = logging.getLogger(__name__)


def as_of_old(api: str, version: int, topic: str, result: RequestResult) -> RequestResult:
    """Versions that are older than policies must not speak of them (P201-105, P201-108)."""
    if result.code is not ErrorCode.POLICY_VIOLATION or version >= _FIRST_WITH_POLICIES[api]:
        return result
    _log.error(
        "%s version %d of topic %s is answered with UNKNOWN_SERVER_ERROR; it is a policy violation "
        "in truth: %s",
        api,
        version,
        topic,
        result.message,
    )
    return RequestResult(code=ErrorCode.UNKNOWN_SERVER_ERROR)
