"""Policies that brokers' configs name: how they come to life, and what can't be named."""

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cluster import key_policies
from cluster.clusters import BOTH, a_new_topic, admin
from cluster.key_policies import LIVES
from msgspec.structs import replace

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigResource
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.options import Compat, Options
from kgitops.cluster.embedded.policy_keys import BROKER_KEY, TOPIC_KEY
from kgitops.cluster.embedded.policy_keys import key_policies as named
from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.results import ErrorCode
from kgitops.policy import TopicManagementPolicy
from kgitops.policy.evaluate.bundle import Bundle, Level, PythonPolicy
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.legacy import ALTER_CONFIG_KEY, CREATE_TOPIC_KEY, LegacyPolicyAdapter
from kgitops.policy.legacy import ConfigResource as Resource
from kgitops.policy.loading import load_rules
from kgitops.policy.worker.process import Limits
from kgitops.policy.worker.session import WorkerEvaluator

HERE = "cluster.key_policies"


@pytest.fixture(autouse=True)
def _no_lives() -> Iterator[None]:
    LIVES.clear()
    yield
    LIVES.clear()


def booted(compat: Compat = Compat.SEED, **configs: str) -> EmbeddedCluster:
    """``topic_management_policy_class_name="TopicRules"`` names a class of ``key_policies``."""
    static = {
        key.replace("_", "."): f"{HERE}:{value}" if key.endswith("class_name") else value
        for key, value in configs.items()
    }
    return boot(
        None,
        options=Options(compat=compat, static_configs=static),
        open_evaluator=lambda bundle: InProcessEvaluator(load_rules(bundle.policies)),
    )


def alive() -> list[str]:
    return [life.class_ for life in LIVES]


def life(class_: str) -> key_policies.Life:
    (found,) = [life for life in LIVES if life.class_ == class_]
    return found


def alter_orders(cluster: EmbeddedCluster, value: str = "5", *, type_: str = "topic") -> int:
    resource = ConfigResource(type=type_, name="orders" if type_ == "topic" else "2")
    change = [AlterConfig(key="retention.ms", value=value)]
    return admin(cluster).incremental_alter_configs([(resource, change)])[resource].code


# Life


def test_a_policy_is_made_configured_once_asked_and_closed_once(caplog):
    """P201-01, P201-43, P201-44, P201-45, P108-04, P108-05: with all of the brokers' configs; a
    failure to close is logged and harmless.
    """
    cluster = booted(topic_management_policy_class_name="TopicRules", my_own_key="x")
    assert life("TopicRules").done == ["made", "configured"]
    assert life("TopicRules").configs == {
        "node.id": "1",
        "my.own.key": "x",
        TOPIC_KEY: f"{HERE}:TopicRules",
    }
    result = admin(cluster).create_topics([a_new_topic()])["orders"]
    assert (result.code, result.message) == (44, "TopicRules")
    with caplog.at_level(logging.WARNING):
        cluster.close()
        cluster.close()
    assert life("TopicRules").done == ["made", "configured", "asked", "closed"]
    assert "it would not close" in caplog.text


def test_a_broker_policy_has_its_own_key():
    """P201-81, P201-95: it goes with every other."""
    cluster = booted(
        broker_management_policy_class_name="BrokerRules",
        topic_management_policy_class_name="TopicRules",
    )
    assert life("BrokerRules").done == ["made", "configured", *["asked"] * 3]
    assert alter_orders(cluster, type_="broker") == 0
    assert len(life("BrokerRules").asked) == 4
    assert "asked" not in life("TopicRules").done
    cluster.close()
    assert life("BrokerRules").done[-1] == "closed"


def test_a_broker_policy_goes_with_the_older_ones():
    """P201-95."""
    booted(
        broker_management_policy_class_name="BrokerRules",
        create_topic_policy_class_name="CreateOnly",
        alter_config_policy_class_name="AlterOnly",
    )
    assert sorted(alive()) == ["AlterOnly", "BrokerRules", "CreateOnly"]


def test_policies_of_keys_bind_and_are_named_after_their_class():
    options = Options(static_configs={TOPIC_KEY: "a.b:TeamPrefix", BROKER_KEY: "c:TeamPrefix"})
    policies = named(options, options.static_configs, Path("here"), ["team-prefix"])
    assert {key: policy.name for key, policy in policies.items()} == {
        TOPIC_KEY: "team-prefix-of-the-brokers",
        BROKER_KEY: "team-prefix-of-the-brokers-of-the-brokers",
    }
    assert {policy.level for policy in policies.values()} == {Level.HARD}
    assert {policy.folder for policy in policies.values()} == {Path("here")}


# The older keys


def test_the_older_policies_are_asked_where_they_always_were():
    """P201-91, P201-95, P108-02, P108-09, P201-98, P201-99: creations and altered configs only."""
    cluster = booted(
        create_topic_policy_class_name="CreateOnly", alter_config_policy_class_name="AlterOnly"
    )
    connection = admin(cluster)
    assert connection.create_topics([a_new_topic(retention_ms="7")])["orders"].ok
    (created,) = life("CreateOnly").asked
    assert (created.topic, created.num_partitions, created.replication_factor) == ("orders", 2, 2)
    assert (created.replicas_assignments, created.configs) == (None, {"retention.ms": "7"})
    assert life("AlterOnly").asked == []
    assert [alter_orders(cluster, value) for value in ("5", "7")] == [0, 44]
    item = NewPartitions(topic="orders", count=5)
    assert connection.create_partitions([item])["orders"].ok
    assert connection.alter_partition_reassignments({("orders", 0): [3]})[("orders", 0)].ok
    assert connection.delete_topics(["orders"])["orders"].ok
    assert len(life("CreateOnly").asked) == 1
    assert [request.configs for request in life("AlterOnly").asked] == [
        {"retention.ms": "5"},
        {"retention.ms": "7"},
    ]


def test_configs_that_are_all_replaced_by_none_are_altered_too():
    """P201-29, P201-91, P201-98: asked as Kafka asks, with an empty map."""
    cluster = booted(alter_config_policy_class_name="AlterOnly")
    connection = admin(cluster)
    assert connection.create_topics([a_new_topic(retention_ms="5")])["orders"].ok
    orders = ConfigResource(type="topic", name="orders")
    assert connection.alter_configs({orders: {}})[orders].ok
    (request,) = life("AlterOnly").asked
    assert request.resource == Resource(type="TOPIC", name="orders")
    assert request.configs == {}


def test_the_older_policies_keep_their_life():
    """P201-101, P108-04, P108-05: made, configured with everything, closed: each once."""
    cluster = booted(create_topic_policy_class_name="Both", alter_config_policy_class_name="Both")
    cluster.close()
    assert alive() == ["Both", "Both"]
    assert [life.done for life in LIVES] == [["made", "configured", "closed"]] * 2
    for lived in LIVES:
        assert lived.configs["node.id"] == "1"
        assert set(lived.configs) == {"node.id", CREATE_TOPIC_KEY, ALTER_CONFIG_KEY}


def test_both_older_policies_are_one_to_the_brokers():
    """P201-96."""
    options = Options(static_configs={CREATE_TOPIC_KEY: f"{HERE}:Both", ALTER_CONFIG_KEY: "x:Y"})
    (policy,) = named(options, options.static_configs, None, []).values()
    assert policy.class_ == "kgitops.policy.legacy:LegacyPolicyAdapter"
    assert policy.name == "both-and-y"
    assert issubclass(LegacyPolicyAdapter, TopicManagementPolicy)


@pytest.mark.parametrize("compat", BOTH)
def test_kraft_shows_a_creations_configs_to_the_policy_of_configs(compat: Compat):
    """P201-100, C-27: before the other, and only where there are configs."""
    cluster = booted(
        compat,
        create_topic_policy_class_name="CreateOnly",
        alter_config_policy_class_name="AlterOnly",
    )
    connection = admin(cluster)
    topics = [a_new_topic("plain"), a_new_topic("seven", retention_ms="7")]
    results = {name: int(result.code) for name, result in connection.create_topics(topics).items()}
    seen = [request.topic for request in life("CreateOnly").asked]
    if compat is Compat.KRAFT:
        assert results == {"plain": 0, "seven": 44}
        assert seen == ["plain"]
        (request,) = life("AlterOnly").asked
        assert request.resource == Resource(type="TOPIC", name="seven")
    else:
        assert results == {"plain": 0, "seven": 0}
        assert seen == ["plain", "seven"]
        assert life("AlterOnly").asked == []


@pytest.mark.parametrize("compat", BOTH)
def test_the_policy_of_configs_is_asked_about_brokers_but_not_when_they_start(compat: Compat):
    """P201-100, P201-91: it keeps its BROKER resources."""
    cluster = booted(compat, alter_config_policy_class_name="AlterOnly")
    assert life("AlterOnly").asked == []
    assert alter_orders(cluster, type_="broker") == 0
    (request,) = life("AlterOnly").asked
    assert request.resource == Resource(type="BROKER", name="2")
    assert request.configs == {"retention.ms": "5"}


@pytest.mark.parametrize(
    "keys",
    [[CREATE_TOPIC_KEY], [ALTER_CONFIG_KEY], [CREATE_TOPIC_KEY, ALTER_CONFIG_KEY], []],
    ids=["create", "alter", "both", "only the newer"],
)
def test_older_keys_are_warned_of_once_a_start(keys: list[str], caplog):
    """P201-92: one line for each."""
    named_policies = dict.fromkeys(keys, "Both") or {TOPIC_KEY: "TopicRules"}
    with caplog.at_level(logging.WARNING):
        cluster = booted(**{key.replace(".", "_"): name for key, name in named_policies.items()})
        admin(cluster).create_topics([a_new_topic()])
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            logging.WARNING,
            f"{key} is deprecated; implement TopicManagementPolicy and use {TOPIC_KEY}",
        )
        for key in keys
    ]


# What can't be named


@pytest.mark.parametrize("older", [CREATE_TOPIC_KEY, ALTER_CONFIG_KEY])
def test_the_older_and_the_newer_way_do_not_go_together(older: str, tmp_path: Path):
    """P201-93, P201-94: the error names both, nothing is made."""
    configs = {TOPIC_KEY: f"{HERE}:TopicRules", older: f"{HERE}:Both"}
    with pytest.raises(KgitopsError) as error:
        boot(tmp_path / "local.db", options=Options(static_configs=configs))
    assert str(error.value) == (
        f"the brokers' configs have both {TOPIC_KEY} and {older}; the first judges all that the "
        "older judge: leave the older out"
    )
    assert LIVES == []
    assert list(tmp_path.iterdir()) == []


def test_one_brokers_configs_name_no_policies():
    with pytest.raises(KgitopsError, match=f"the configs of broker 2 have {BROKER_KEY}"):
        boot(None, options=Options(broker_configs={2: {BROKER_KEY: "a:B"}}))


OLD = """
from kgitops.policy.legacy import CreateTopicPolicy


class Fine(CreateTopicPolicy):
    def validate(self, request):
        pass


class Needy(CreateTopicPolicy):
    def __init__(self, needed):
        pass

    def validate(self, request):
        pass


class Half(CreateTopicPolicy):
    pass


class Other:
    pass
"""


@pytest.mark.parametrize(
    ("key", "class_", "says"),
    [
        (TOPIC_KEY, "nowhere:Rules", "there is no module nowhere"),
        (TOPIC_KEY, "rules", "'rules' names no class"),
        (TOPIC_KEY, "rules:Nobody", "rules has no class Nobody"),
        (BROKER_KEY, "rules:Other", "implements no interface of policies"),
        (TOPIC_KEY, "rules:Fine", "implements no interface of policies"),
        (TOPIC_KEY, f"{HERE}:NeedsArguments", "can't be made without needed"),
        (CREATE_TOPIC_KEY, "nowhere:Rules", "names nowhere:Rules, which can't be made: No module"),
        (CREATE_TOPIC_KEY, "rules", "is 'rules'; write module:Class"),
        (CREATE_TOPIC_KEY, "rules:Nobody", "names rules:Nobody, but there is no such class"),
        (CREATE_TOPIC_KEY, "rules:Other", "names rules:Other, which is no CreateTopicPolicy"),
        (CREATE_TOPIC_KEY, "rules:Needy", "which can't be made: "),
        (CREATE_TOPIC_KEY, "rules:Half", "which can't be made: Can't instantiate abstract class"),
        (ALTER_CONFIG_KEY, "rules:Fine", "names rules:Fine, which is no AlterConfigPolicy"),
    ],
)
def test_what_can_not_be_loaded_lets_no_broker_start(
    key: str, class_: str, says: str, tmp_path: Path
):
    """P201-43, P108-06: an error at the start that names the key, never at a request."""
    (tmp_path / "rules.py").write_text(OLD, encoding="utf-8")
    with pytest.raises(FindingsError) as error:
        connect("embedded:", base=tmp_path, configs={key: class_})
    told = str(error.value)
    assert key in told
    assert says in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("configs", "says"),
    [
        ({"num.partitions": "many"}, "Invalid value many for configuration num.partitions"),
        ({"default.replication.factor": "0"}, "Invalid value 0"),
        ({"log.retention.ms": "long"}, "Invalid value long for configuration log.retention.ms"),
    ],
)
def test_configs_that_no_broker_can_have_are_said_before_anything_is_made(
    configs, says, tmp_path: Path
):
    with pytest.raises(KgitopsError) as error:
        connect("embedded:local.db", base=tmp_path, configs=configs)
    assert says in str(error.value)
    assert "correct it among the cluster's configs" in str(error.value)
    assert list(tmp_path.iterdir()) == []


# From a project


RULES = """
from kgitops.policy import BaseTopicPolicy, PolicyViolation


class Small(BaseTopicPolicy):
    def configure(self, configs):
        self.most = int(configs["small.most"])

    def validate_create_topic(self, request, cluster_state):
        if request.requested_state.num_partitions > self.most:
            raise PolicyViolation(f"more than {self.most} partitions", field="partitions")
"""


def test_a_projects_cluster_has_the_policies_that_its_configs_name(tmp_path: Path):
    """P108-02, P108-06: modules are found from the project's folder, configs are the brokers'."""
    (tmp_path / "small.py").write_text(RULES, encoding="utf-8")
    configs = {TOPIC_KEY: "small:Small", "small.most": "1"}
    with closing(connect("embedded:", base=tmp_path, configs=configs)) as cluster:
        assert isinstance(cluster, EmbeddedCluster)
        result = admin(cluster).create_topics([a_new_topic()])["orders"]
        assert (result.code, result.message) == (44, "more than 1 partitions")
    assert [path.name for path in tmp_path.iterdir()] == ["small.py"]


SLOW = """
import time

from kgitops.policy import BaseTopicPolicy


class Slow(BaseTopicPolicy):
    def validate_create_topic(self, request, cluster_state):
        if request.topic == "b":
            time.sleep(600)
"""


def test_a_policy_that_takes_too_long_refuses_that_topic(tmp_path: Path, caplog):
    """P201-68: -1 and not 7, nothing is written of it, and the rest of the batch is fine."""
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    cluster = boot(
        None,
        options=Options(static_configs={TOPIC_KEY: "slow:Slow"}),
        policy_folder=tmp_path,
        open_evaluator=lambda bundle: WorkerEvaluator(bundle.policies, limits=Limits(seconds=0.5)),
    )
    with closing(cluster), caplog.at_level(logging.ERROR):
        results = admin(cluster).create_topics([a_new_topic(name) for name in "abc"])
        assert {name: int(result.code) for name, result in results.items()} == {
            "a": 0,
            "b": ErrorCode.UNKNOWN_SERVER_ERROR,
            "c": 0,
        }
        assert results["b"].message == "The policy slow failed; the brokers' log says why."
        assert "took longer" in caplog.text
        assert list(cluster.read_state().topics) == ["a", "c"]


PACKED = """
from kgitops.policies import MinInsyncReplicasRange, ReplicationFactorRange, RetentionRange
from kgitops.policy.python_rule import AllOf


class OurRules(AllOf):
    def __init__(self):
        super().__init__(
            [
                ReplicationFactorRange({"min": "2", "max": "3"}),
                MinInsyncReplicasRange({"min": "1", "spare": "1"}),
                RetentionRange({"min": "1h", "max": "7d"}),
            ]
        )
"""


def test_the_use_cases_of_the_first_policy_hold_on_brokers(tmp_path: Path):
    """P108-32: replication factor, min.insync.replicas and retention within what is allowed."""
    (tmp_path / "packed.py").write_text(PACKED, encoding="utf-8")
    configs = {TOPIC_KEY: "packed:OurRules"}
    with closing(connect("embedded:", base=tmp_path, configs=configs)) as cluster:
        assert isinstance(cluster, EmbeddedCluster)

        def answer(replicas: int, **configs: str) -> int:
            topic = replace(
                a_new_topic(retention_ms="86400000", min_insync_replicas="1"),
                replication_factor=replicas,
            )
            asked = replace(topic, configs={**topic.configs, **configs})
            return admin(cluster).create_topics([asked], validate_only=True)["orders"].code

        assert answer(2) == answer(3) == ErrorCode.NONE
        assert answer(1) == ErrorCode.POLICY_VIOLATION
        assert answer(3, **{"min.insync.replicas": "3"}) == ErrorCode.POLICY_VIOLATION
        assert answer(3, **{"retention.ms": "-1"}) == ErrorCode.POLICY_VIOLATION
        assert answer(3, **{"retention.ms": "1000"}) == ErrorCode.POLICY_VIOLATION


def test_a_projects_own_policies_are_its_brokers_too(tmp_path: Path):
    """P201-01: beside those that the brokers' configs name."""
    (tmp_path / "small.py").write_text(RULES, encoding="utf-8")
    policy = PythonPolicy(
        name="small",
        level=Level.HARD,
        digest="",
        class_="small:Small",
        folder=tmp_path,
        configs={"small.most": "1"},
    )
    with closing(
        connect("embedded:", base=tmp_path, policies=Bundle(policies=(policy,)))
    ) as cluster:
        assert isinstance(cluster, EmbeddedCluster)
        assert admin(cluster).create_topics([a_new_topic()])["orders"].code == 44
