"""An export is the cluster in the project's own words: planned against it, it asks for nothing."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from builders import (
    ALL_CAPABILITIES,
    PROJECT,
    UID,
    ClusterObject,
    a_binding,
    a_cluster,
    a_consumer_group,
    a_desired,
    a_quota,
    a_quota_state,
    a_topic,
    a_topic_state,
    a_user,
    an_acl,
    an_entity,
    an_owner,
    applied,
    plan_of,
    some_broker_configs,
    some_client_metrics,
    some_configs,
    with_changes,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.cluster_model import Model
from msgspec.structs import replace
from tiers import examples

from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety
from kgitops.kinds import exports as export_notes
from kgitops.model.cluster_state import ClusterState, address_of
from kgitops.model.json.declared import (
    ConfigsPolicy,
    DeletionPolicy,
    DesiredAcl,
    DesiredBrokerConfig,
    DesiredClientMetrics,
    DesiredGroup,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredUser,
    OffsetReset,
)
from kgitops.model.registry import Json, Owner
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    OPERATIONS,
    AclBinding,
    Operation,
    ResourceType,
)
from kgitops.model.resources.addresses import (
    acl_address,
    group_address,
    quota_address,
    topic_address,
    user_address,
)
from kgitops.model.resources.config_resources import ConfigResourceType, FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.names import collision_key, is_principal
from kgitops.model.resources.quotas import ClientQuotaState, quota_keys
from kgitops.model.resources.topic_configs import is_throttle
from kgitops.model.resources.topics import Assignment, TopicState
from kgitops.model.resources.users import (
    UNKNOWN_PASSWORD,
    FoundUser,
    GeneratedPassword,
    PasswordSource,
    ScramMechanism,
)
from kgitops.plan.document.plan import Action, Plan
from kgitops.workflow import loading
from kgitops.workflow.export.export import Export, PlannedExport, export_manifests, write_and_plan
from kgitops.workflow.project.clusters import ChosenCluster
from kgitops.workflow.project.selection import Selection, Workspace, open_workspace

GROUP_CONFIGS = {
    "consumer.session.timeout.ms": "50000",
    "share.auto.offset.reset": "by_duration:PT1H",
    "share.renew.acknowledge.enable": "true",
}
_MISSING = ("gone from the cluster", "missing in this export")
PAYMENTS = Project(name=PROJECT, uid=UID)
SPLIT_BRAIN = "Ünïcode\u202e \"quotes\" 'too' #: {x} ${var:NAME} $${env:X} %2F \u00a0"


def a_workspace(folder: Path, project: Project = PAYMENTS) -> Workspace:
    """A project with one cluster, whose manifests are in the folder."""
    return Workspace(
        selection=Selection(),
        project=project,
        safety=Safety(),
        principal="User:kgitops",
        base=folder,
        manifests=[folder],
        whole=True,
        allow_configs=(),
        known_clusters=None,
        cluster=ChosenCluster(name="local", url="embedded:", base=folder),
    )


def exported(
    state: ClusterState,
    folder: Path,
    project: Project = PAYMENTS,
    workspace: Workspace | None = None,
) -> Export:
    """The cluster's manifests, written as the command writes them."""
    return exported_and_planned(state, folder, project, workspace).export


def exported_and_planned(
    state: ClusterState,
    folder: Path,
    project: Project = PAYMENTS,
    workspace: Workspace | None = None,
) -> PlannedExport:
    """The manifests and their plan; every change that the sentence counts has a note above it."""
    workspace = workspace or a_workspace(folder, project)
    export = export_manifests(state, project, defaults=workspace.defaults)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export_notes, "_SHOWN", 1_000)
        done = write_and_plan(export, folder, workspace, state, ALL_CAPABILITIES)
    changes = [change for change in done.plan.changes if change.requests] if done.plan else []
    assert [change.address for change in changes if not is_noted(change.address, done.export)] == []
    return done


def is_noted(address: str, export: Export) -> bool:
    """True if a note is about this object, whose name may have in it what ends one in a note."""
    return any(f"{address}{mark}" in note for note in export.notes for mark in (": ", ", "))


def loaded(
    folder: Path, project: Project = PAYMENTS, workspace: Workspace | None = None
) -> DesiredState:
    """The manifests in the folder, as the whole project."""
    with loading.loaded(workspace or a_workspace(folder, project)) as declared:
        return declared.desired


def plan_of_export(state: ClusterState, folder: Path, project: Project = PAYMENTS) -> Plan:
    """What the exported manifests plan to, loaded back as the whole project."""
    exported(state, folder, project)
    return plan_of(loaded(folder, project), state)


def names_in(export: Export) -> set[str]:
    return {
        document["metadata"]["name"]
        for documents in export.files.values()
        for document in documents
    }


@pytest.mark.parametrize(
    "declared",
    [
        a_topic(configs={"retention.ms": "1000", "cleanup.policy": "compact"}),
        a_topic(assignment=((1, 2), (3, 1))),
        a_topic(deletion_policy=DeletionPolicy.DELETE),
        a_topic(deletion_policy=DeletionPolicy.PROTECT),
        a_topic(configs_policy=ConfigsPolicy.EXACT, configs={"retention.ms": "1000"}),
        a_topic(delete_records_before={0: 10, 2: 5}),
        an_acl(),
        an_acl(deletion_policy=DeletionPolicy.ORPHAN),
        a_quota(consumer_byte_rate=1024, request_percentage=12.5),
        a_quota(an_entity(user=None, client_id=None), deletion_policy=DeletionPolicy.PROTECT),
        a_user(version="1", mechanisms=ScramMechanism, deletion_policy=DeletionPolicy.DELETE),
        a_user(password=UNKNOWN_PASSWORD),
        a_user(password=PasswordSource(file="a ${b}")),
        a_user(password=PasswordSource(command=("pass", "show", "a b"))),
        a_user(password=PasswordSource(generate=GeneratedPassword(file="made.txt"))),
        a_user(password=PasswordSource(generate=GeneratedPassword(command=("keep",), length=50))),
        a_consumer_group(),
        a_consumer_group(configs=GROUP_CONFIGS, deletion_policy=DeletionPolicy.ORPHAN),
        a_consumer_group(reset=OffsetReset(version="1", position="latest", topics=("a", "b"))),
        a_consumer_group(reset=OffsetReset(version="1", timestamp_ms=1, topics=("a",))),
        a_consumer_group(reset=OffsetReset(version="1", timestamp_ms=10**12, topics=("a",))),
        a_consumer_group(reset=OffsetReset(version="1", offsets={"a": {0: 1, 10: 2**60}})),
        some_client_metrics(deletion_policy=DeletionPolicy.PROTECT),
        some_client_metrics(metrics="a.,b.", match="client_id=a,client_software_name=b.*"),
    ],
    ids=str,
)
def test_what_is_managed_is_written_as_it_was_declared(
    declared: DesiredObject, tmp_path: Path
) -> None:
    plan = plan_of_export(applied(declared), tmp_path)
    assert (plan.changes, plan.findings, plan.refusals) == ((), (), ())


def test_what_nobody_manages_is_only_adopted(tmp_path: Path) -> None:
    state = a_cluster(a_topic_state(), a_binding(), a_quota_state(consumer_byte_rate=1))
    plan = plan_of_export(state, tmp_path)
    assert [change.actions for change in plan.changes] == [(Action.ADOPT,)] * 3
    assert plan.requests == ()


def test_what_belongs_to_another_project_is_left_out_and_counted() -> None:
    mine, theirs = a_topic("mine"), a_topic("theirs")
    state = applied(mine, beside=[a_topic_state("theirs"), a_binding()])
    assert state.registry
    owners = {
        **state.registry.owners,
        theirs.address: an_owner(theirs, project="search-uid"),
        an_acl().address: an_owner(an_acl(), project="search-uid"),
    }
    state = a_cluster(
        *state.topics.values(),
        *state.acls,
        owners=owners,
        projects={UID: PROJECT, "search-uid": "search"},
    )
    export = export_manifests(state, PAYMENTS)
    assert names_in(export) == {"mine"}
    (sentence,) = export.notes
    assert sentence.startswith(
        "2 objects left out, which the project 'search' manages: export them"
    )


def test_a_topic_that_no_manifest_can_say_is_left_out_by_name(tmp_path: Path) -> None:
    uneven = a_topic_state("uneven", assignment=((1, 2), (3,)))
    export = export_manifests(a_cluster(uneven, a_topic_state("even")), PAYMENTS)
    assert names_in(export) == {"even"}
    assert export.notes[0].startswith("topic/uneven: left out, its partitions have different")


def test_what_belongs_to_the_brokers_is_not_exported() -> None:
    state = a_cluster(
        a_topic_state("__consumer_offsets"),
        a_topic_state("__kgitops"),
        a_topic_state("going", marked_for_deletion=True),
        a_topic_state("moving", configs={"leader.replication.throttled.replicas": "0:1"}),
        a_binding(name="__kgitops"),
        a_binding(name="__kgitops", resource="group"),
    )
    export = export_manifests(state, PAYMENTS)
    assert names_in(export) == {"moving", "billing-group-__kgitops"}
    (document,) = export.files["topics.yaml"]
    assert "configs" not in document["spec"]
    assert export.notes == (
        "topic/__consumer_offsets, topic/__kgitops: left out, it belongs to the brokers or to "
        "kgitops",
        "topic/going: left out, it is being deleted",
        "acl/User:billing/Allow/Read/topic/literal/__kgitops@*: left out, the topic belongs to "
        "kgitops",
    )


def test_what_a_manifest_can_not_say_is_left_out_and_named(tmp_path: Path) -> None:
    """Kafka's controller takes more than its tools and its authorizer do, and so than kgitops."""
    configs = {
        "message.format.version": "2.8",
        "retention.ms": "soon",
        "future.config": "1",
        "segment.ms": "5",
    }
    state = a_cluster(
        a_topic_state(configs=configs),
        a_binding(operation="ClusterAction"),
        a_binding(operation="Read"),
        a_binding("User with blanks:x"),
        a_binding("User:", name="audit"),
        a_quota_state(an_entity(user="<default>"), consumer_byte_rate=1),
        a_quota_state(an_entity(ip="localhost"), connection_creation_rate=1),
        a_quota_state(an_entity(user="new"), future_rate=1, consumer_byte_rate=2),
        a_quota_state(an_entity(user="too-much"), consumer_byte_rate=2.0**60),
    )
    export = exported(state, tmp_path)
    (topic,) = export.files["topics.yaml"]
    (acl,) = export.files["acls.yaml"]
    (quota,) = export.files["quotas.yaml"]
    assert topic["spec"]["configs"] == {"segment.ms": 5}
    assert acl["spec"]["operations"] == ["Read"]
    assert quota["spec"]["quotas"] == {"consumer_byte_rate": 2}
    text = "\n".join(export.notes)
    for said in (
        "topic/orders: the config future.config is not known to kgitops (see spec.allowConfigs); "
        "it is left out and stays as it is",
        "topic/orders: Kafka 4 has no config message.format.version any more; it is left out",
        "topic/orders: retention.ms must be a whole number from -1 to 9223372036854775807, not "
        "'soon'; it is left out",
        "acl/User:billing/Allow/ClusterAction/topic/literal/orders@*: left out, ClusterAction "
        "means nothing on a topic",
        "quota/user=%3Cdefault%3E: left out, in a manifest <default> is the default entity",
        "quota/user=new: future_rate is not a quota that kgitops knows; it is left out",
        "quota/user=too-much: consumer_byte_rate must be at most 9007199254740992",
        "Acl User with blanks:x-topic-orders: left out, 'User with blanks:x' is not a principal",
        "Acl -topic-audit: left out, 'User:' is not a principal",
        "ClientQuota ip-localhost: left out, 'localhost' is not an IP address",
    ):
        assert said in text
    plan = plan_of(loaded(tmp_path), state)
    assert (len(plan.changes), plan.requests) == (3, ())


def test_a_file_of_which_nothing_can_be_loaded_is_not_there(tmp_path: Path) -> None:
    """An empty file is a finding itself."""
    state = a_cluster(a_binding("User:"), a_topic_state())
    export = exported(state, tmp_path)
    assert list(export.files) == [path.name for path in tmp_path.iterdir()] == ["topics.yaml"]
    assert exported(a_cluster(a_binding("User:")), tmp_path / "none").files == {}


def test_what_is_managed_and_can_not_be_said_is_written_as_it_was_applied(tmp_path: Path) -> None:
    """To leave it out would be to have it removed."""
    topic = a_topic(partitions=2, replication_factor=2, configs={"segment.ms": "1000"})
    quota = a_quota(consumer_byte_rate=1024)
    uneven = a_topic_state(assignment=((1, 2), (3,)), configs={"segment.ms": "soon"})
    state = with_changes(
        applied(topic, quota), uneven, a_quota_state(quota.entity, consumer_byte_rate=2.0**60)
    )
    done = exported_and_planned(state, tmp_path)
    export = done.export
    assert sum("applied" in note for note in export.notes) == 3
    limit = "replication.throttled.rate (not set) -> 52428800"
    assert done.sentence == (
        "Planned against this cluster: 0 to adopt, 4 objects to change, see above."
    )
    assert export.notes[3:] == (
        f"broker/1: a plan of this export would update it: throttles.follower.{limit}",
        f"broker/3: a plan of this export would update it: throttles.leader.{limit}",
        "topic/orders: a plan of this export would update it: configs.segment.ms soon -> "
        "1000, assignments [[1,2],[3]] -> [[1,2],[3,1]]",
        "quota/user=billing: a plan of this export would update it: quotas.consumer_byte_rate "
        "1152921504606846976 -> 1024",
    )
    assert export.lost == frozenset()
    plan = plan_of(loaded(tmp_path), state)
    fields = {field.path for change in plan.changes for field in change.fields}
    assert {path for path in fields if not path.startswith("throttles.")} == {
        "assignments",
        "configs.segment.ms",
        "quotas.consumer_byte_rate",
    }


def test_a_mechanism_that_is_managed_and_can_not_be_said_is_not_taken_away(tmp_path: Path) -> None:
    user = a_user(iterations=8192)
    state = applied(user)
    held = FoundUser(name=user.name, held={ScramMechanism.SHA_512: 20_000})
    state = state.with_objects([held], Kind.USER)
    assert "the 8192 last applied are written instead" in "".join(exported(state, tmp_path).notes)
    (change,) = plan_of(loaded(tmp_path), state).changes
    assert [field.path for field in change.fields] == [
        "scram.SCRAM-SHA-512.iterations",
        "scram.SCRAM-SHA-512.password",
    ]


def test_exact_configs_are_not_exact_any_more_where_that_would_remove_one(tmp_path: Path) -> None:
    topic = a_topic(configs={"segment.ms": "1000"}, configs_policy=ConfigsPolicy.EXACT)
    there = a_topic_state(configs={"segment.ms": "1000", "future.config": "1"})
    state = with_changes(applied(topic), there)
    assert plan_of_export(state, tmp_path).requests == ()
    assert "configsPolicy Exact is left out" in "\n".join(exported(state, tmp_path).notes)


def test_what_is_managed_and_gone_is_named(tmp_path: Path) -> None:
    gone = a_topic("gone")
    state = with_changes(applied(a_topic(), gone), gone=[a_topic_state("gone")])
    export = exported(state, tmp_path)
    (note,) = export.notes
    assert note.startswith("topic/gone: managed by this project and gone from the cluster")
    assert export.lost == {"topic/gone"}


def test_a_topic_made_anew_is_adopted_without_the_offsets_of_the_old_one(tmp_path: Path) -> None:
    topic = a_topic(delete_records_before={0: 5}, configs={"retention.ms": "1000"})
    state = with_changes(applied(topic), a_topic_state(topic_id="another", partitions=1))
    (change,) = plan_of_export(state, tmp_path).changes
    assert (change.actions, change.requests) == ((Action.ADOPT,), ())


def test_an_assignment_to_a_broker_that_is_gone_is_written_as_counts(tmp_path: Path) -> None:
    state = applied(a_topic(assignment=((1, 9), (9, 1))))
    plan = plan_of_export(state, tmp_path)
    assert (plan.requests, plan.verdict.stops) == ((), False)


@pytest.mark.parametrize(
    "word", ["true", "No", "null", "~", "1e3", "0x1F", "2026-01-01", "1_000", " ", SPLIT_BRAIN]
)
def test_words_that_yaml_readers_take_for_something_else_stay_words(
    word: str, tmp_path: Path
) -> None:
    state = a_cluster(
        a_binding(f"User:{word}"), a_quota_state(an_entity(user=word), consumer_byte_rate=1)
    )
    plan = plan_of_export(state, tmp_path)
    assert {change.actions for change in plan.changes} == {(Action.ADOPT,)}
    assert plan.requests == ()


# The same for any cluster.

NAMES = ("orders", "Orders.v2", "123", "true", "a-b_c", "-", "..x", "payments.eu.west.raw", "con")
TEXT = st.one_of(
    st.sampled_from(["billing", "a b", "CN=x,O=y", "no", "1", SPLIT_BRAIN, "${env:HOME}", "a\\b"]),
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12),
)
CONFIGS = {
    "retention.ms": ("1000", " 604800000", "-1", "+5", "soon"),
    "segment.bytes": ("1048576", "2147483647"),
    "cleanup.policy": ("delete,compact", "compact", "delete", ""),
    "preallocate": ("TRUE", "false"),
    "min.cleanable.dirty.ratio": ("0.5", "1e-5", ".25"),
    "min.compaction.lag.ms": ("0", "5000"),
    "max.compaction.lag.ms": ("1", "9000"),
    "min.insync.replicas": ("1", "3"),
    "leader.replication.throttled.replicas": ("*", "0:1"),
    "message.format.version": ("2.8-IV1",),
    "future.config": ("${var:x}", "no"),
}
POLICY = st.one_of(st.none(), st.sampled_from(DeletionPolicy))
SHAPES: tuple[Assignment, ...] = (((1, 2), (2, 3)), ((3,),), ((2, 1), (3, 1), (1, 2)), ((1, 9),))


@st.composite
def others_configs(draw: st.DrawFn) -> dict[str, str]:
    keys = draw(st.sets(st.sampled_from(sorted(CONFIGS)), max_size=4))
    return {key: draw(st.sampled_from(CONFIGS[key])) for key in sorted(keys)}


@st.composite
def topics(draw: st.DrawFn) -> tuple[DesiredTopic, TopicState]:
    """A topic as a project may have applied it, and as it stands on the cluster now."""
    name = draw(st.sampled_from(NAMES))
    shape = draw(st.sampled_from(SHAPES))
    declared = a_topic(
        name,
        assignment=shape if draw(st.booleans()) else None,
        partitions=len(shape),
        replication_factor=len(shape[0]),
        configs={"segment.bytes": "1048576"} if draw(st.booleans()) else {},
        deletion_policy=draw(POLICY),
        configs_policy=draw(st.sampled_from(ConfigsPolicy)),
        delete_records_before={0: 0} if draw(st.booleans()) else {},
    )
    grown = draw(st.sampled_from([shape, shape, (*shape, shape[0])]))
    found = a_topic_state(
        name,
        assignment=grown,
        configs=declared.configs | draw(others_configs()),
        topic_id=draw(st.sampled_from([None, None, f"new-{name}"])),
        reassigning=draw(st.booleans()),
    )
    return declared, found


@st.composite
def acls(draw: st.DrawFn) -> AclBinding:
    """Any binding that Kafka's controller takes."""
    resource = draw(st.sampled_from(ResourceType))
    cluster = resource is ResourceType.CLUSTER
    return a_binding(
        f"{draw(st.sampled_from(['User', 'User', 'Group', 'a b', '']))}:{draw(st.just('') | TEXT)}",
        draw(st.sampled_from(Operation)),
        CLUSTER_NAME if cluster else draw(st.sampled_from([*NAMES, "*", "__kgitops"]) | TEXT),
        resource=resource,
        pattern=draw(st.sampled_from(["literal", "prefixed"])),
        host=draw(st.sampled_from(["*", "10.0.0.1", "::1", "not an address"])),
        permission=draw(st.sampled_from(["Allow", "Deny"])),
    )


NUMBERS = st.one_of(
    st.integers(1, 2**53).map(float),
    st.floats(min_value=0, exclude_min=True, allow_infinity=False),
    st.sampled_from([0.0, -1.0, 1e300, 1e-320]),
)


@st.composite
def quotas(draw: st.DrawFn) -> ClientQuotaState:
    """Any quotas that a broker may answer with."""
    name = st.one_of(st.none(), st.just("<default>"), TEXT)
    entity = draw(
        st.one_of(
            st.builds(lambda user: an_entity(user=user), name),
            st.builds(lambda client: an_entity(client_id=client), name),
            st.builds(lambda user, client: an_entity(user=user, client_id=client), name, name),
            st.builds(lambda ip: an_entity(ip=ip), st.sampled_from([None, "10.0.0.1", "host"])),
        )
    )
    keys = st.sampled_from([*sorted(quota_keys(entity)), "future_rate"])
    return a_quota_state(entity, **draw(st.dictionaries(keys, NUMBERS, min_size=1, max_size=3)))


PASSWORDS = (
    UNKNOWN_PASSWORD,
    PasswordSource(env="WORD"),
    PasswordSource(command=("pass", SPLIT_BRAIN)),
    PasswordSource(generate=GeneratedPassword(file="made.txt")),
    PasswordSource(generate=GeneratedPassword(command=("keep", "it"), length=64)),
)
RESETS = (
    None,
    OffsetReset(version="1", position="earliest", topics=("orders",)),
    OffsetReset(version=" ", timestamp_ms=1_793_000_000_123, topics=("a", "b")),
    OffsetReset(version="no", offsets={"orders": {0: 5}}),
)
RESOURCE_CONFIGS: Mapping[ConfigResourceType, Mapping[str, Sequence[str]]] = {
    ConfigResourceType.GROUP: {
        "consumer.session.timeout.ms": ("50000", "soon"),
        "share.auto.offset.reset": ("earliest", "no"),
        "share.renew.acknowledge.enable": ("TRUE", "false"),
        "future.config": ("${var:x}",),
    },
    ConfigResourceType.CLIENT_METRICS: {
        "interval.ms": ("60000", "often"),
        "metrics": ("b.,a.", "", "true"),
        "match": (f"client_id={SPLIT_BRAIN}",),
        "future.config": ("no",),
    },
    ConfigResourceType.BROKER: {
        "log.cleaner.min.cleanable.ratio": ("0.5", "much"),
        "log.preallocate": ("TRUE",),
        "compression.type": ("no",),
        "future.config": ("1",),
    },
}


@st.composite
def users(draw: st.DrawFn) -> tuple[DesiredUser, FoundUser]:
    """A user as a project may have applied it, and as the cluster has it now."""
    name = draw(st.sampled_from(["sales-app", "no", SPLIT_BRAIN]))
    mechanisms = draw(st.sets(st.sampled_from(ScramMechanism), min_size=1))
    declared = a_user(
        name,
        version=draw(st.sampled_from([None, "1", "~"])),
        mechanisms=sorted(mechanisms),
        password=draw(st.sampled_from(PASSWORDS)),
        deletion_policy=draw(POLICY),
    )
    held = {key: draw(st.sampled_from([4096, 8192])) for key in sorted(mechanisms)}
    if draw(st.booleans()):  # what others set, and no manifest may say
        held = {**dict.fromkeys(ScramMechanism, 20_000), **held}
    return declared, FoundUser(name=name, held=held)


@st.composite
def resource_configs(draw: st.DrawFn, kind: ConfigResourceType) -> dict[str, str]:
    values = RESOURCE_CONFIGS[kind]
    keys = draw(st.sets(st.sampled_from(sorted(values)), min_size=1))
    return {key: draw(st.sampled_from(values[key])) for key in sorted(keys)}


@st.composite
def groups(draw: st.DrawFn) -> tuple[DesiredGroup, FoundGroup]:
    """A group as a project may have applied it, and as the cluster has it now."""
    name = draw(st.sampled_from(["billing", "0x10", SPLIT_BRAIN]))
    first = {"consumer.session.timeout.ms": "45000"} if draw(st.booleans()) else {}
    declared = a_consumer_group(
        name,
        configs=first,
        reset=draw(st.sampled_from(RESETS)),
        deletion_policy=draw(POLICY),
    )
    configs = draw(st.just({}) | resource_configs(ConfigResourceType.GROUP))
    known = draw(st.booleans())
    return declared, FoundGroup(name=name, known=known, configs={**configs, **first})


@st.composite
def client_metrics(draw: st.DrawFn) -> tuple[DesiredClientMetrics, FoundConfigs]:
    name = draw(st.sampled_from(["lag", "true", SPLIT_BRAIN]))
    declared = some_client_metrics(name, deletion_policy=draw(POLICY))
    configs = draw(resource_configs(ConfigResourceType.CLIENT_METRICS))
    kind = ConfigResourceType.CLIENT_METRICS
    return declared, some_configs(kind, name, {**configs, **declared.configs})


@st.composite
def broker_configs(draw: st.DrawFn) -> tuple[DesiredBrokerConfig, FoundConfigs]:
    name = draw(st.sampled_from(["<default>", "1", "2"]))
    declared = some_broker_configs(name, deletion_policy=draw(POLICY))
    configs = draw(resource_configs(ConfigResourceType.BROKER))
    return declared, some_configs(ConfigResourceType.BROKER, name, {**configs, **declared.configs})


@st.composite
def clusters(draw: st.DrawFn) -> ClusterState:
    """Objects of nobody, of the project, of others; what was applied to them may be history."""
    owners: dict[str, Owner] = {}

    def may_own(declared: DesiredObject) -> None:
        project = draw(st.sampled_from([None, UID, UID, "default", "search-uid"]))
        if project is not None:
            owners[declared.address] = an_owner(
                declared, project=project, adopted=draw(st.booleans()), spent=draw(st.booleans())
            )

    found: dict[str, ClusterObject] = {}
    for topic, there in draw(st.lists(topics(), max_size=4)):
        # No two topics whose names collide in Kafka's metrics.
        if found.setdefault(collision_key(topic.name), there) is there:
            may_own(topic)
    for binding in draw(st.sets(acls(), max_size=6)):
        found[acl_address(binding)] = binding
        # Only what can be declared was ever applied.
        if binding.operation in OPERATIONS[binding.resource_type] and is_principal(
            binding.principal
        ):
            may_own(an_acl(binding, deletion_policy=draw(POLICY)))
    for quota in draw(st.lists(quotas(), max_size=3)):
        found[quota_address(quota.entity)] = quota
    named = st.lists(st.one_of(users(), groups(), client_metrics(), broker_configs()), max_size=3)
    for declared, state in draw(named):
        if declared.address not in found:
            found[declared.address] = state
            may_own(declared)
    return a_cluster(
        *found.values(), owners=owners, projects={UID: PROJECT, "search-uid": "search"}
    )


RESTORED = ("the value last applied is written", "last applied are written", *_MISSING)


DEFAULTS: Mapping[str, Sequence[Json]] = {
    "partitions": (1, 4),
    "replicationFactor": (3,),
    "configsPolicy": ("Exact", "Declared"),
    "deletionPolicy": ("Delete", "Orphan", "Protect"),
}
DEFAULT_CONFIGS: Mapping[str, Sequence[Json]] = {
    "retention.ms": (1000, -1, 604_800_000),
    "segment.bytes": (1_048_576, 2_097_152),
    "cleanup.policy": ("compact", "delete", "delete,compact"),
    "preallocate": (True, False),
    "min.compaction.lag.ms": (0, 5000),
    "max.compaction.lag.ms": (9000,),
    "min.insync.replicas": (1, 3),
}


def some(choices: Mapping[str, Sequence[Json]]) -> st.SearchStrategy[dict[str, Json]]:
    optional = {key: st.sampled_from(values) for key, values in choices.items()}
    return st.fixed_dictionaries({}, optional=optional)


@st.composite
def defaults(draw: st.DrawFn, *, nulls: bool) -> dict[str, Json]:
    """Defaults of a project; those of a cluster may remove some of the project's."""
    removed = draw(st.sets(st.sampled_from(sorted(DEFAULT_CONFIGS)), max_size=2 * nulls))
    configs = draw(some(DEFAULT_CONFIGS)) | dict.fromkeys(sorted(removed))
    return draw(some(DEFAULTS)) | ({"configs": configs} if configs else {})


def workspace_with(folder: Path, of_project: Json, of_cluster: Json) -> Workspace:
    """A project with these defaults, whose manifests are in its folder of that name."""
    (folder / "manifests").mkdir()
    local = {"url": "embedded:", "defaults": {"topic": of_cluster}}
    written = {
        "apiVersion": "kgitops/v1",
        "kind": "Project",
        "metadata": {"name": PROJECT, "uid": UID},
        "spec": {"clusters": {"local": local}, "defaults": {"topic": of_project}},
    }
    (folder / "kgitops.yaml").write_text(json.dumps(written))
    return open_workspace(Selection(paths=(folder,), offline=True))


@settings(max_examples=examples(100))
@given(state=clusters(), of_project=defaults(nulls=False), of_cluster=defaults(nulls=True))
def test_any_cluster_exported_is_only_adopted_and_then_nothing_is_left_to_do(
    state: ClusterState,
    of_project: dict[str, Json],
    of_cluster: dict[str, Json],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Whatever the defaults of the project and of the cluster."""
    workspace = workspace_with(tmp_path_factory.mktemp("project"), of_project, of_cluster)
    (folder,) = workspace.manifests
    export = exported(state, folder, workspace=workspace)
    if not export.files:
        return

    def declared() -> DesiredState:
        return loaded(folder, workspace=workspace)

    plan = plan_of(replace(declared(), scope=ManagedScope(whole=False)), state)
    assert (plan.findings, plan.refusals) == ((), ())
    if not any(word in note for note in export.notes for word in RESTORED):
        plan = plan_of(declared(), state)
        assert plan.requests == ()
    for change in plan.changes:
        assert not change.requests
        assert all(field.path.startswith("lastApplied.") for field in change.fields)
        mine = (state.registry and state.registry.owners.get(change.address)) or None
        # A group without configs that has ended is created, which asks for nothing.
        ended = change.address.startswith("group/") and (Action.CREATE,)
        assert change.actions in ((Action.ADOPT,), (Action.UPDATE,), ended)
        assert change.actions == (Action.ADOPT,) or (mine and mine.project == UID)
        if change.actions == (Action.UPDATE,):
            assert "lastApplied.deletionPolicy" not in {field.path for field in change.fields}
    after = Model(state).apply(plan).state
    assert plan_of(replace(declared(), scope=ManagedScope(whole=False)), after).changes == ()
    # Another export of what is managed now says the same again.
    again = workspace_with(tmp_path_factory.mktemp("again"), of_project, of_cluster)
    exported(after, again.manifests[0], workspace=again)
    assert texts(again.manifests[0]) == texts(folder)


def test_an_acl_on_the_registry_of_another_project_is_left_out_for_one_reason() -> None:
    """Nobody can export it there: no project declares it."""
    acl = an_acl(a_binding(name="__kgitops"))
    owners = {acl.address: an_owner(acl, project="search-uid")}
    state = a_cluster(acl.binding, owners=owners, projects={"search-uid": "search"})
    (note,) = export_manifests(state, PAYMENTS).notes
    assert note == f"{acl.address}: left out, the topic belongs to kgitops"


REFUSED = (
    "is not a principal",
    "is not an IP address",
    "can only be named literally",
    "more than max.compaction.lag.ms",
)
"""Why a whole document may be left out."""


@settings(max_examples=examples(100))
@given(state=clusters())
def test_nothing_is_left_out_in_silence(
    state: ClusterState, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export_notes, "_SHOWN", 1_000)
        export = exported(state, folder)
    said = "\n".join(export.notes)
    noted = {
        address
        for note in export.notes
        if ": left out" in note
        for address in note.rpartition(": left out")[0].split(", ")
    }
    groups = {group_address(group.name) for group in state.of(FoundGroup)}
    foreign = sum(
        owner.project == "search-uid"
        and not owner.spent
        and address not in noted
        and (address in groups or not address.startswith("group/"))  # one that is gone is nobody's
        for address, owner in (state.registry.owners if state.registry else {}).items()
    )
    assert (f"{foreign} object" in said) == bool(foreign)
    desired = loaded(folder) if export.files else a_desired()
    declared = {
        **{topic.address: topic.configs.keys() for topic in desired.of(DesiredTopic)},
        **{acl.address: {"*"} for acl in desired.of(DesiredAcl)},
        **{quota.address: quota.quotas.keys() for quota in desired.of(DesiredQuota)},
        **{user.address: user.credentials.keys() for user in desired.of(DesiredUser)},
        **{group.address: group.configs.keys() for group in desired.of(DesiredGroup)},
        **{item.address: item.configs.keys() for item in desired.of(DesiredClientMetrics)},
        **{item.address: item.configs.keys() for item in desired.of(DesiredBrokerConfig)},
    }
    found = {
        **{topic_address(name): topic.configs.keys() for name, topic in state.topics.items()},
        **{acl_address(acl): {"*"} for acl in state.acls},
        **{quota_address(key): quota.quotas.keys() for key, quota in state.quotas.items()},
        **{user_address(name): held.keys() for name, held in (state.users or {}).items()},
        **{address_of(it): it.configs for it in state.of(FoundGroup)},
        **{address_of(it): it.configs for it in state.of(FoundConfigs)},
    }
    for address, keys in found.items():
        owner = state.registry.owners.get(address) if state.registry else None
        if owner and owner.project == "search-uid" and not owner.spent:
            assert address not in declared
        elif not keys and address.startswith("group/"):
            pass  # nothing of it can be declared
        elif address in declared:
            missing = {key for key in keys - declared[address] if not is_throttle(key)}
            assert all(f" {key} " in said for key in missing)
        else:
            assert address in said or any(reason in said for reason in REFUSED)
            ordinary = ("/__kgitops@", "topic/__")
            assert export.lost or any(word in address for word in ordinary)
    for note in export.notes:
        if note.startswith(("Topic ", "Acl ", "ClientQuota ")):
            assert any(reason in note for reason in REFUSED)


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.yaml")}
