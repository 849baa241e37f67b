"""Why a rule of the specification has no test that proves it: the one list of such reasons.

Where a user may miss something, docs/internals/differences-from-the-proposals.md says so as well.
"""

from collections.abc import Mapping

_BACKGROUND = "background of the proposal, which asks for nothing"
_NOT_TAKEN = "a rejected or later alternative of the proposal"
_NO_SUCH_FLAG = "the contract's §3 lists the commands, and what is not in it doesn't exist"
_TOLD = "not implemented; docs/internals/differences-from-the-proposals.md says so, and why"

_KIP_4: Mapping[str, str] = {
    "A4-04": "overridden by each request's own rule: A4-31, A4-61, A4-83",
    "A4-70": "KIP-4 never specified AlterTopics; the requests that came instead have their rules",
    "A4-104": _NOT_TAKEN,
    "A4-107": "DescribeConfigs and AlterConfigs are KIP-133's: A4-74…79",
}
_KIP_590: Mapping[str, str] = {
    "F590-30": "when Kafka was to switch it on: built in 2.x, with made-up principals and off in "
    "production, on from 3.0. There is no such half here: a broker forwards, with the client's own "
    "principal (F590-04, F590-40), unless its routing is the one before (F590-13)",
}
_POLICIES: Mapping[str, str] = {
    "P108-10": _BACKGROUND,
    "P108-11": "future work of KIP-108: KIP-201's one key is the first part, and Python has no "
    "class loaders",
}
_CONTRADICTIONS: Mapping[str, str] = {
    "C-10": "how it is resolved is A4-84's and A4-85's",
    "C-33": "slips of the pen in the seeds; they are read as they are meant",
    "K-04": "about the futures of confluent-kafka's admin client, which only the sandbox asks, for "
    "the brokers in Metadata; that errors are per item is A4-05's",
}
_VIRTUAL_CLUSTERS: Mapping[str, str] = {
    "VC-070": _TOLD,
    "VC-125": _TOLD,
    "VC-174": "how confluent-kafka calls CLUSTER; the wire is spoken without its admin client",
    "VC-212": "embedded brokers keep quotas and measure nothing, so per broker can't be seen",
    "VC-218": "quotas go over the wire, so a Kafka without a quota API is none of the cases",
    "VC-247": _TOLD,
    "VC-281": _NO_SUCH_FLAG,
    "VC-282": _NO_SUCH_FLAG,
    "VC-283": _NO_SUCH_FLAG,
    "VC-284": "the contract's §4 has other exit codes, and a test for each",
    "VC-295": _TOLD,
    "VC-296": _TOLD,
    "VC-303": "a statement about the stability of Java's Admin API",
    "VC-304": "an observation on the Admin API; what it asks for is VC-143's and VC-208's",
    "VC-318": _TOLD,
    "VC-325": "the registry is the one of all kinds, made by the first apply with any change",
    "VC-328": "the registry's lock and fence stand in for a fixed transactional id",
    "VC-335": _TOLD,
    "VC-336": "an observation on the brokers' own metrics",
    "VC-369": "a rejected alternative; no option or config of brokers declares a virtual cluster",
    "VC-375": "asks for unit tests: tests/virtual_clusters, tests/lowering",
    "VC-376": "asks for integration tests: tests/cluster_contract, tests/cluster, tests/real_kafka",
    "VC-379": "a list of negative tests, each of which cites its own rule",
}

REASONS: Mapping[str, str] = {
    **_KIP_4,
    **_KIP_590,
    **_POLICIES,
    **_CONTRADICTIONS,
    **_VIRTUAL_CLUSTERS,
}
"""Rule to reason."""
TOLD = frozenset(rule for rule, reason in REASONS.items() if reason == _TOLD)
"""The rules that the page for users must name."""
