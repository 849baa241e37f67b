"""Records of virtual clusters in the registry are read as they were written."""

from typing import TYPE_CHECKING, cast

import pytest

from kgitops.cluster.kafka.registry.append import append_batch
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import build_registry_state, meta_record
from kgitops.lowering.records import link_record, virtual_cluster_record
from kgitops.model.errors import SafetyError
from kgitops.model.registry import Json, RegistryState
from kgitops.model.resources.virtual_clusters import LoweringOptions, TopicLink

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


def test_only_the_newest_of_a_key_counts() -> None:
    """VC-326: also a key with slashes, a later part of the log, and a deletion."""
    key, vc = virtual_cluster_record("emea", LoweringOptions())
    _, link = link_record("emea", TopicLink(name="a", topic="a", topic_id="t"))
    _, moved = link_record("emea", TopicLink(name="a", topic="b", topic_id="t"))
    whole = state(meta_record(), (key, {"schema_version": 1}), (key, vc), ("vcs/link/emea/a", link))
    assert whole.virtual_clusters == {"vc/emea": vc, "link/emea/a": link}
    after = state(("vcs/link/emea/a", moved), before=whole, first=4)
    assert after.virtual_clusters == {"vc/emea": vc, "link/emea/a": moved}
    assert whole.virtual_clusters == {"vc/emea": vc, "link/emea/a": link}
    gone = state((key, None), ("vcs/link/emea/a", None), before=after, first=5)
    assert gone.virtual_clusters == {}


def test_a_link_of_no_virtual_cluster_is_damage() -> None:
    with pytest.raises(SafetyError, match="vcs/link/emea/a belongs to the virtual cluster emea"):
        state(meta_record(), link_record("emea", TopicLink(name="a", topic="a", topic_id="t")))


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
