"""Records that can't be trusted stop a run before anything is sent."""

from collections.abc import Mapping

import pytest
from lowering import scenario
from lowering.scenario import SALES

from kgitops.lowering.record_reading import read_records
from kgitops.model.errors import SafetyError
from kgitops.model.registry import Json


def recorded() -> dict[str, Mapping[str, Json]]:
    brokers = scenario.after_commit_1()
    assert brokers.state.registry is not None
    return dict(brokers.state.registry.virtual_clusters)


KEYS = sorted(recorded())


def changed(key: str, /, **values: Json) -> dict[str, Mapping[str, Json]]:
    found = recorded()
    return {**found, key: {**found[key], **values}}


@pytest.mark.parametrize("key", KEYS)
def test_an_unknown_version_of_any_record_is_refused_by_its_name(key: str) -> None:
    """VC-326: a newer kgitops wrote it."""
    with pytest.raises(SafetyError, match="use a newer kgitops") as error:
        read_records(changed(key, schema_version=3))
    assert f"vcs/{key} " in str(error.value)


@pytest.mark.parametrize("key", KEYS)
def test_a_record_of_another_shape_is_refused_by_its_name(key: str) -> None:
    """VC-326: each key of each record is needed, none may be added, and none is of another type."""
    for name in recorded()[key]:
        if name == "schema_version":
            continue
        cut = recorded()
        cut[key] = {other: value for other, value in cut[key].items() if other != name}
        for damaged in (cut, changed(key, **{name: 7})):
            with pytest.raises(SafetyError, match="restore the registry") as error:
                read_records(damaged)
            assert f"vcs/{key} is damaged" in str(error.value)
    with pytest.raises(SafetyError, match="unknown key 'more'"):
        read_records(changed(key, more=""))


def test_a_kind_of_record_that_nobody_knows_is_refused() -> None:
    """VC-326: a record of an unknown kind may mean anything."""
    value = {"schema_version": 1}
    with pytest.raises(SafetyError, match="vcs/novelty/x is of a kind"):
        read_records({"novelty/x": value})


@pytest.mark.parametrize("kind", ["link", "user", "group"])
def test_a_registry_cut_short_is_refused(kind: str) -> None:
    """VC-330: what belongs to a virtual cluster of which there is no record says that some are
    lost."""
    found = recorded()
    (key, *_) = (key for key in found if key.startswith(kind) and SALES in key + str(found[key]))
    with pytest.raises(SafetyError, match=r"there is no record of the virtual cluster emea\.sales"):
        read_records({key: found[key]})


def test_names_with_slashes_and_percents_come_back_as_they_were() -> None:
    """VC-224, VC-326: keys are percent-encoded, whatever a principal holds."""
    from kgitops.lowering.records import member_record, user_record, virtual_cluster_record
    from kgitops.model.resources.virtual_clusters import EntityType, LocalName, LoweringOptions

    user = "User:CN=jane/o=x,O=%2F €"
    records = dict(
        [
            virtual_cluster_record("v", LoweringOptions()),
            user_record("v", user),
            member_record(LocalName("v", "a/b@c"), EntityType.CLIENT_ID),
            member_record(LocalName("v", "g/h:i"), EntityType.GROUP, "old/g"),
            member_record(LocalName("v", "x:y/z"), EntityType.TRANSACTIONAL_ID),
        ]
    )
    assert all(key.count("/") == 2 for key in records)
    read = read_records(
        {key.removeprefix("vcs/"): value for key, value in records.items() if value}
    )
    assert read.users.keys() == {user}
    assert read.client_ids == {"a/b@c": "v"}
    assert read.groups == {LocalName("v", "g/h:i"): "old/g"}
    assert read.transactional_ids == {LocalName("v", "x:y/z")}
