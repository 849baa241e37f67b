"""What the registry keeps of virtual clusters, as it was written."""

import pytest

from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import build_registry_state, meta_record
from kgitops.model.errors import SafetyError
from kgitops.model.registry import Json, RegistryState


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
    with pytest.raises(SafetyError, match=r"vcs/vc/emea has schema version 2"):
        state(meta_record(), ("vcs/vc/emea", {"schema_version": 2}))
