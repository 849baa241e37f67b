"""Records of virtual clusters in the registry are read as they were written."""

from typing import TYPE_CHECKING, cast

import pytest

from kgitops.cluster.kafka.registry.append import append_batch
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import build_registry_state, meta_record
from kgitops.model.errors import SafetyError
from kgitops.model.registry import Json, RegistryState

if TYPE_CHECKING:
    from kgitops.cluster.kafka.registry.topic import RegistryTopic
    from kgitops.cluster.kafka.transport.wire import Wire


def state(
    *records: tuple[str, Json], before: RegistryState | None = None, first: int = 0
) -> RegistryState:
    entries = [
        RegistryEntry(offset=offset, key=key, value=value, timestamp_ms=0)
        for offset, (key, value) in enumerate(records, first)
    ]
    return build_registry_state(entries, "t", before)


def test_only_the_newest_of_a_key_counts_and_it_is_not_interpreted() -> None:
    """VC-326: also a key with slashes, a later part of the log, and a deletion."""
    vc, link = {"schema_version": 1, "any": ["thing"]}, {"schema_version": 1, "topic": "a"}
    whole = state(
        meta_record(),
        ("vcs/vc/emea", {"schema_version": 1}),
        ("vcs/vc/emea", vc),
        ("vcs/link/emea/a", link),
    )
    assert whole.virtual_clusters == {"vc/emea": vc, "link/emea/a": link}
    moved = {"schema_version": 1, "topic": "b"}
    after = state(("vcs/vc/emea", None), ("vcs/link/emea/a", moved), before=whole, first=4)
    assert after.virtual_clusters == {"link/emea/a": moved}
    assert whole.virtual_clusters == {"vc/emea": vc, "link/emea/a": link}


def test_a_newer_kgitops_is_not_guessed_at() -> None:
    """VC-326."""
    with pytest.raises(SafetyError, match=r"vcs/vc/emea has schema version 3"):
        state(meta_record(), ("vcs/vc/emea", {"schema_version": 3}))


def test_a_contender_never_loses_what_is_too_much_for_one_batch() -> None:
    """VC-329: kafka-python would silently leave out records that don't fit; so nothing is sent."""
    large = [(f"vcs/link/a/{n}", {"schema_version": 1, "x": "x" * 100_000}) for n in range(12)]
    nobody = cast("Wire", None)
    with pytest.raises(ValueError, match="12 records are more than"):
        append_batch(nobody, cast("RegistryTopic", None), large, 0.0)
