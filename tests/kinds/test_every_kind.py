"""No kind is forgotten on the way from its schema to a Tombstone, on any cluster."""

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from apply.forging import Forgery
from cli.conftest import Kgitops
from cli.policed import waiver
from cli.projects import Project, document, tombstone, topic
from kafka_wiping import wipe
from kinds.others import CHANGES, OTHER
from kinds.samples import (
    ADDRESSES,
    ASKED_OF_BROKERS,
    DOCUMENTS,
    HELD_IN,
    LOST,
    NO_NAMES,
    NO_OBJECTS,
    NO_SCOPE,
    NOT_IN_SNAPSHOTS,
    NOT_SETTLED_BY_A_STATE,
    NOTHING_TO_JUDGE,
)
from kinds.story import Changes, Place, Story, asked_as, in_snapshots, tell
from msgspec.structs import replace

from kgitops.apply.rights.owner_records import recorded_declaration
from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.desired.state import Project as ProjectState
from kgitops.desired.state import digest
from kgitops.fleet.tables.desired_rows import desired_rows
from kgitops.manifests.kind_models import KINDS
from kgitops.manifests.policies.policy import API_NAMES
from kgitops.model.cluster_state import Capabilities, VirtualClusterSupport
from kgitops.model.json.declared import check_declaration
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import object_name, split_scoped_address
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.verdict import ExitCode
from kgitops.model.wording import enumerated
from kgitops.plan.planner import base_of, make_plan
from kgitops.policy.cel.objects import CONFIG_RESOURCE
from kgitops.policy.cel.rule import samples
from kgitops.serve.background import serving

REFUSED = (ExitCode.REFUSED, ExitCode.UNTRUSTED, ExitCode.STALE, ExitCode.ERROR)

each_kind = pytest.mark.parametrize("kind", ADDRESSES)


NOTHING = "nothing"
"""No address begins with it."""


@contextmanager
def in_a_file(options: str = "", **place: Any) -> Iterator[Place]:  # noqa: ANN401
    """An embedded cluster that each command opens and closes."""
    url = f"embedded:.kgitops/local.db{options}"
    yield Place({"url": url}, lambda at: closing(connect(url, brokers=3, base=at)), **place)


@contextmanager
def in_memory() -> Iterator[Place]:
    """An embedded cluster without a store, which commands reach by Kafka's protocol."""
    with closing(connect("embedded:?brokers=3&compat=kraft", base=Path())) as cluster:
        assert isinstance(cluster, EmbeddedCluster)
        with serving(cluster) as server, at(server.url) as place:
            yield place


@contextmanager
def at(url: str) -> Iterator[Place]:
    """A cluster that is reached by Kafka's protocol."""
    yield Place({"url": url}, lambda _: closing(connect(url, base=Path())))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("file", marks=pytest.mark.xdist_group("kinds-file")),
        pytest.param("lowered", marks=pytest.mark.xdist_group("kinds-lowered")),
        pytest.param("memory", marks=pytest.mark.xdist_group("kinds-memory")),
        pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.default_kafka]),
    ],
)
def story(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    """The story on each cluster."""
    match request.param:
        case "file":
            place = in_a_file(strange=NOTHING)
        case "lowered":
            place = in_a_file(
                "?virtual.clusters=lowered", strange=("vc/", "quota/virtual-cluster=")
            )
        case "memory":
            place = in_memory()
        case _:
            kafka = request.getfixturevalue("kafka")
            wipe(kafka)
            place = at(f"kafka://{kafka.servers}")
    with place as where:
        yield tell(where, tmp_path_factory.mktemp(request.param))


def test_every_kind_has_samples() -> None:
    assert {*DOCUMENTS, *NO_OBJECTS} == {*KINDS}
    assert DOCUMENTS.keys() == ADDRESSES.keys() == CHANGES.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_its_schema_is_printed(kgitops: Kgitops, kind: str) -> None:
    schema = json.loads(kgitops("schema", kind).out)
    assert schema["properties"]["kind"]["const"] == kind


@pytest.mark.parametrize("kind", NO_OBJECTS)
def test_a_kind_without_objects_has_no_address(
    project: Project, kgitops: Kgitops, kind: str
) -> None:
    """Nothing of it can be buried."""
    address = f"{kind.lower()}/orders"
    project.write(topic(), tombstone(address))
    ran = kgitops("validate", project.folder)
    assert (ran.code, f"{address!r} is not an address; copy it" in ran.said) == (1, True), ran.said


@each_kind
def test_a_tombstone_names_it_by_kind_and_name(
    project: Project, kgitops: Kgitops, kind: str
) -> None:
    """An address is needed only where no name tells objects apart."""
    made = DOCUMENTS[kind][0]
    target = {key: made["metadata"][key] for key in {*made["metadata"]} - {"labels"}}
    for more in ({}, {"virtualCluster": "emea"}):
        grave = document("Tombstone", "grave", reason="-", target={"kind": kind, **target, **more})
        project.write(made, grave)
        said = kgitops("validate", project.folder).said
        if kind in NO_NAMES:
            (named,) = re.findall("can't be named by kind and name, only (.*) can;", said)
            assert {*named.split(", ")} == {*DOCUMENTS} - {*NO_NAMES}
        elif more and kind in NO_SCOPE:
            assert "can't be in a" in said
        elif not more:
            (address,) = re.findall("(\\S+) has a Tombstone and is declared at", said)
            assert address in ADDRESSES[kind]


@each_kind
def test_help_and_hints_show_its_addresses(project: Project, kgitops: Kgitops, kind: str) -> None:
    begins = {address.partition("/")[0] + "/" for address in ADDRESSES[kind]}
    project.write(topic(), waiver(address="nothing/orders"))
    hint = kgitops("validate", project.folder).said
    assert "'nothing/orders' is not an address; copy it from a plan: " in hint
    schema = json.loads(kgitops("schema", "Tombstone").out)
    target = schema["$defs"]["TombstoneTarget"]["properties"]
    for text in (hint, target["address"]["description"]):
        assert begins <= {*re.findall("[a-z-]+/", text)}
    assert (kind in target["kind"]["description"]) == (kind not in NO_NAMES)


@each_kind
def test_its_documents_declare_it(story: Story, kind: str) -> None:
    assert {*ADDRESSES[kind]} == {it for it in story.desired.addresses if kind_of(it) == kind}


def test_validate_counts_each_object(story: Story) -> None:
    judging = {"tombstones": len(story.desired.tombstones), "policies": 1}
    assert judging.items() <= story.counted.items()
    objects = story.counted.keys() - judging.keys()
    assert sum(story.counted[name] for name in objects) == len(story.desired.objects)


@each_kind
def test_the_digest_of_what_is_declared_covers_it(story: Story, kind: str) -> None:
    whole = story.desired
    for address in ADDRESSES[kind]:
        changed = whole.with_objects(
            replace(it, labels={"team": "other"}) if it.address == address else it
            for it in whole.objects
        )
        assert digest(changed) != digest(whole)


@each_kind
def test_it_is_planned_and_applied(story: Story, kind: str) -> None:
    for address in ADDRESSES[kind]:
        assert story.planned[address]["kind"] == kind
        assert story.planned[address]["source"]["file"].endswith("all.yaml")
    assert any(story.planned[address]["requests"] for address in ADDRESSES[kind])


@each_kind
def test_brokers_ask_the_policies_that_the_plan_asked(story: Story, kind: str) -> None:
    by_plans, by_brokers = (
        {(api, address) for api, address in asked if kind_of(address) == kind}
        for asked in story.asked
    )
    assert {address for _, address in by_plans} == {
        address for address in ADDRESSES[kind] if story.planned[address]["requests"]
    }
    assert by_brokers == {
        (api, each)
        for api, address in by_plans
        if story.place.knows(address)
        for each in ASKED_OF_BROKERS.get(address, (address,))
    }


@each_kind
def test_nothing_is_left_to_do(story: Story, kind: str) -> None:
    assert story.planned_again.code == 0, story.planned_again.said
    assert "No changes." in story.planned_again.out


@each_kind
def test_it_is_explained(story: Story, kind: str) -> None:
    for address in ADDRESSES[kind]:
        assert (story.explained[address].code, "all.yaml:" in story.explained[address].out) == (
            0,
            True,
        )


@each_kind
def test_its_export_declares_it_and_changes_nothing(story: Story, kind: str) -> None:
    declared, changes, after_apply = story.exported
    assert {*ADDRESSES[kind]} == {it for it in declared if kind_of(it) == kind}
    of_kind = [change for change in changes.values() if change["kind"] == kind]
    assert [change["address"] for change in of_kind if change["requests"]] == []
    paths = [field["path"].split(".") for change in of_kind for field in change["fields"]]
    # Copied ACLs are documents now, and not copied any more.
    became_documents = {"Acl": {"origin"}, "VirtualClusterBinding": {"copyAclsFrom"}}
    assert {path[0] for path in paths} <= {"lastApplied"}
    assert {path[1] for path in paths} == became_documents.get(kind, set())
    assert [ran.said for ran in after_apply if ran.code] == []


@each_kind
def test_what_is_there_already_is_adopted_and_exported(story: Story, kind: str) -> None:
    changes, declared, of_export = story.unowned
    there = {it for it in ADDRESSES[kind] if not it.startswith(NOTHING_TO_JUDGE)}
    assert {it for it in declared if kind_of(it) == kind} == there
    assert {it for it in of_export if kind_of(it) == kind} == there
    for found in (changes, of_export):
        assert {tuple(found[it]["actions"]) for it in there} == {("adopt",)}
        assert [it for it in there if found[it]["requests"]] == []


def test_what_can_not_be_exported_is_a_finding(story: Story) -> None:
    ran = story.exported_without
    assert ran.code == 5
    assert (
        "acl/User:writer/Allow/Write/topic/literal/orders@*, broker-config/1, client-metrics/kept "
        "and 4 more: managed by this project and gone from the cluster" in ran.said
    )
    assert "client-metrics/kept is protected: its document was removed" in ran.said


@each_kind
def test_an_audit_judges_it(story: Story, kind: str) -> None:
    assert {it for it in story.audited if kind_of(it) == kind} == {
        it for it in ADDRESSES[kind] if not it.startswith(NOTHING_TO_JUDGE)
    }


@each_kind
def test_drift_shows_it_and_by_whom(story: Story, kind: str) -> None:
    for address in CHANGES[kind]:
        author = OTHER if story.place.knows(address) else None
        assert story.drift[address].get("by") == author


@each_kind
def test_what_others_changed_is_planned_everywhere(story: Story, kind: str) -> None:
    for address in CHANGES[kind]:
        wanted = asked_for(story.repairing, address)
        assert wanted
        if in_snapshots(address):
            assert asked_for(story.planned_offline, address) == wanted
            assert asked_for(story.planned_by_a_fleet, address) == wanted


def test_what_no_snapshot_holds_is_not_planned_from_one(story: Story) -> None:
    """Never as if it were not there."""
    for address, ran in story.refused_offline.items():
        (called,) = (called for at, called in NOT_IN_SNAPSHOTS.items() if address.startswith(at))
        assert f"a snapshot does not hold the {called}" in ran.said
        assert ran.code == ExitCode.UNREACHABLE


@each_kind
def test_what_is_declared_no_more_is_removed_or_kept(story: Story, kind: str) -> None:
    changes, kept = story.removing
    for address in ADDRESSES[kind]:
        if address in kept:
            assert address not in changes
        else:
            assert set(changes[address]["actions"]) <= {"delete", "forget"}


@each_kind
def test_a_tombstone_deletes_it(story: Story, kind: str) -> None:
    changes, _, left = story.buried
    assert {tuple(changes[address]["actions"]) for address in ADDRESSES[kind]} <= {
        ("delete",),
        ("forget",),
    }
    assert {it for it in left if kind_of(it) == kind} == set()


@each_kind
def test_a_plan_that_names_another_object_is_refused(story: Story, kind: str) -> None:
    _, forged, _ = story.buried
    for address in {*ADDRESSES[kind]} & forged.keys():
        assert forged[address].code in REFUSED, address


@each_kind
def test_a_project_that_does_not_declare_it_keeps_it(story: Story, kind: str) -> None:
    """It is planned because the cluster has it, without documents and records."""
    there = {it for it in ADDRESSES[kind] if not it.startswith(NOTHING_TO_JUDGE)}
    current = replace(story.states[0], registry=None)
    nothing = replace(
        story.desired.with_objects(()), project=ProjectState(name="other"), tombstones=()
    )
    capabilities = Capabilities(
        backend="embedded", validation={}, virtual_clusters=VirtualClusterSupport.NATIVE
    )
    plan = make_plan(nothing, current, target_name="local", capabilities=capabilities)
    # Without a record a topic of a virtual cluster is but a link.
    links = {it.replace("/topic/", "/link/") for it in there}
    assert {row.address for row in plan.kept} & (there | links) in (there, links)


@each_kind
def test_the_digest_of_the_cluster_covers_it(story: Story, kind: str) -> None:
    before, after = story.states
    held_in = HELD_IN.get(kind, "objects")
    part = getattr(before, held_in)
    if held_in == "objects":
        part = {key: it for key, it in part.items() if kind_of(key) == kind}
        part |= {key: it for key, it in after.objects.items() if kind_of(key) != kind}
    without = replace(after, **{held_in: part})
    assert base_of(without).digest != base_of(after).digest


@each_kind
def test_each_report_names_it(story: Story, kind: str) -> None:
    for address in ADDRESSES[kind]:
        named = object_name(address)
        assert named.kind != "object"
        assert [form for form, text in story.shown.items() if named.name not in text] == []


@each_kind
def test_a_report_begins_with_what_is_lost_with_it(story: Story, kind: str) -> None:
    """Whole in HTML; in text as far as a line has room."""
    (headline,) = re.findall('<p class="headline">(.*)</p>', story.shown["html"])
    assert LOST.get(kind, "") in headline
    assert " objects" not in headline + story.shown["text"].splitlines()[0]


@each_kind
def test_a_fleet_never_takes_it_for_settled_by_a_state_that_lacks_it(
    story: Story, kind: str
) -> None:
    rows = {row["address"]: row for row in desired_rows(story.desired)}
    for address in ADDRESSES[kind]:
        settled = rows[address]["fingerprint"] is not None
        assert settled == (not address.startswith(NOT_SETTLED_BY_A_STATE))


@each_kind
def test_policies_on_it_are_tried_and_tested(story: Story, kgitops: Kgitops, kind: str) -> None:
    """On samples when they are loaded, and on the requests of a PolicyTest."""
    steps = json.loads(kgitops("schema", "PolicyTest").out)["$defs"]["RequestStep"]["properties"]
    tried = {
        (asked_as(it.policy_input.sent), form_of(it.policy_input.address)): api
        for api in API_NAMES
        for it in samples(api, ())
    }
    for api, address in story.asked[0]:
        if kind_of(address) == kind:
            step = tried[api, form_of(address)]
            assert step[0].lower() + step[1:] in steps


@each_kind
def test_a_forged_record_of_it_is_refused(story: Story, kind: str) -> None:
    """In a plan and in the registry: a value of a type that no document can give."""
    owners = {it.address: it.owner_after for it in story.whole.changes if it.kind == kind}
    assert owners
    for change in story.whole.changes:
        owner = owners.get(change.address)
        for path in texts_and_numbers(owner.last_applied) if owner else ():
            record = Forgery(path, {"a": "map"}).apply(owner.last_applied)
            forged = replace(change, owner_after=replace(owner, last_applied=record))
            with pytest.raises(ValueError, match="would record something that is not"):
                recorded_declaration(forged)
            with pytest.raises(ShapeError):
                check_declaration(change.address, forged.owner_after)


def test_help_lists_every_kind_of_config_resource(kgitops: Kgitops) -> None:
    schema = json.loads(kgitops("schema", "PolicyTest").out)
    given = schema["$defs"]["AlterConfigResourceStep"]["properties"]["resourceType"]
    for text in (given["description"], CONFIG_RESOURCE.fields["resourceType"].doc):
        # Policies judge those of brokers as AlterBroker.
        judged = (kind for kind in ConfigResourceType if kind is not ConfigResourceType.BROKER)
        assert text == f"{enumerated(judged)}."


def texts_and_numbers(value: Json, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    """The paths of all of them."""
    match value:
        case dict():
            for key in value:
                yield from texts_and_numbers(value[key], *path, key)
        case list():
            for index, item in enumerate(value):
                yield from texts_and_numbers(item, *path, index)
        case str() | int():
            yield path


def form_of(address: str) -> str:
    """The address without what tells apart objects of one kind."""
    scoped = split_scoped_address(address)
    return f"vc/{scoped.segment}" if scoped else address.partition("/")[0]


def asked_for(changes: Changes, address: str) -> list[tuple[str, Json]]:
    """The requests of a change: the API and what it is given."""
    return [(it["api"], it["body"]) for it in changes[address]["requests"]]


def kind_of(address: str) -> str | None:
    """The kind whose samples the address is among; None for what there was before them."""
    asked = [it for it, brokers in ASKED_OF_BROKERS.items() if address in brokers]
    return next(
        (kind for kind, found in ADDRESSES.items() if not {address, *asked}.isdisjoint(found)), None
    )
