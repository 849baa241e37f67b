"""The APIs and versions that a listener announces, and the answer to ApiVersions (KIP-511)."""

from collections.abc import Collection, Mapping
from functools import lru_cache

from kgitops.serve.nodes import NodeKind
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import write
from kgitops.wire.messages import Message

_LAST = {
    # Later versions need what is not here: batches of several producers (4 and 5 of
    # AddPartitionsToTxn, from brokers alone), and transactions of version 2 (KIP-890).
    "InitProducerId": 5,
    "AddPartitionsToTxn": 3,
    "EndTxn": 4,
    "TxnOffsetCommit": 4,
    "AddOffsetsToTxn": 4,
}
_FIRST = {
    # Kafka's brokers announce these although they answer none of them: clients look here for what
    # a broker can do (KIP-896).
    "Produce": 0,
}
_METADATA_VERSION = 30
"""4.3-IV0 in org.apache.kafka.server.common.MetadataVersion."""
SUPPORTED_FEATURES = {
    "metadata.version": (7, _METADATA_VERSION),
    "kraft.version": (0, 1),
    "group.version": (0, 1),
    # Level 2 has clients leave AddPartitionsToTxn out, and needs the versions above (KIP-890).
    "transaction.version": (0, 1),
    "eligible.leader.replicas.version": (0, 1),
    "share.version": (0, 1),
    "streams.version": (0, 1),
}
FINALIZED_FEATURES = {name: last for name, (_, last) in SUPPORTED_FEATURES.items()}
"""As a new cluster of Kafka 4.3 has them, but for ``transaction.version``, which is 2 there."""
VIRTUAL_CLUSTERS = "virtual.clusters"
"""The feature of KIP-1134's APIs; their keys are private, and they are experimental (VC-351)."""
FIRST_PRIVATE_KEY = 10_001
_FIRST_WITH_LEVEL_0 = 4
"""The version of ApiVersions whose features may begin at level 0."""

Announced = Mapping[int, range]
"""Versions by the key of their API."""


def announced_versions(
    answered: Collection[str], kind: NodeKind, *, seed: bool, virtual_clusters: bool
) -> Announced:
    """The versions of the APIs that a node answers: Kafka 4.3's own.

    In seed mode they begin with those of KIP-4, which Kafka 4 no longer has (KIP-896). Those of
    virtual clusters are there where the cluster has any.
    """
    found = {}
    for name in answered:
        api = apis()[keys()[name]]
        first = _FIRST.get(name, api.readable.start if seed else api.versions.start)
        last = min(_LAST.get(name, api.versions[-1]), api.versions[-1])
        if api.key >= FIRST_PRIVATE_KEY and not virtual_clusters:
            continue
        if kind in api.listeners:
            found[api.key] = range(first, last + 1)
    return found


def api_versions(announced: Announced, version: int, error_code: int = 0) -> Message:
    """The answer to a version of ApiVersions."""
    response = messages.ApiVersionsResponse
    # Clients that know no later version take a level of 0 for an error (KIP-584).
    least = 0 if version >= _FIRST_WITH_LEVEL_0 else 1
    features, finalized = dict(SUPPORTED_FEATURES), dict(FINALIZED_FEATURES)
    if any(key >= FIRST_PRIVATE_KEY for key in announced):
        features[VIRTUAL_CLUSTERS], finalized[VIRTUAL_CLUSTERS] = (0, 1), 1
    return response(
        error_code=error_code,
        api_keys=[
            response.ApiVersion(api_key=key, min_version=versions[0], max_version=versions[-1])
            for key, versions in sorted(announced.items())
        ],
        supported_features=[
            response.SupportedFeatureKey(name=name, min_version=max(first, least), max_version=last)
            for name, (first, last) in features.items()
        ],
        finalized_features_epoch=1,
        finalized_features=[
            response.FinalizedFeatureKey(
                name=name, max_version_level=level, min_version_level=level
            )
            for name, level in finalized.items()
        ],
    )


@lru_cache(maxsize=64)
def api_versions_body(announced: tuple[tuple[int, range], ...], version: int) -> bytes:
    """The bytes of the answer to ApiVersions: each client's first request, and always the same."""
    return bytes(write(api_versions(dict(announced), version), version))
