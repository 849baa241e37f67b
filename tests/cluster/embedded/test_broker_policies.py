"""Policies on brokers' configs, when they are altered and when a broker starts; ACLs and quotas."""

import logging

import pytest
from cluster.clusters import a_grant, admin
from cluster.policing import Recorder, denying, logged, policed

from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.controls.acl_filter import AclFilter
from kgitops.cluster.embedded.controls.acls import AclAction
from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigOp, ConfigResource
from kgitops.cluster.embedded.controls.quotas import QuotaAlteration
from kgitops.cluster.embedded.options import AuthorizerKind, Compat, Options
from kgitops.cluster.embedded.policy_keys import POLICY_KEYS
from kgitops.model.cluster_state import Broker
from kgitops.model.errors import DeniedError
from kgitops.model.requests import AlterBrokerRequest
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.model.verdict import ExitCode
from kgitops.policy import BaseTopicPolicy, Principal
from kgitops.policy.evaluate.bundle import Bundle, Level, PythonPolicy
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.python_rule import PythonRule

ALL = ConfigResource(type="broker", name="")
RETENTION = "log.retention.ms"


def broker(number: int) -> ConfigResource:
    return ConfigResource(type="broker", name=str(number))


def setting(value: str | None = "5", key: str = RETENTION) -> AlterConfig:
    op = ConfigOp.DELETE if value is None else ConfigOp.SET
    return AlterConfig(key=key, value=value, op=op)


def altered(cluster, *resources: ConfigResource, operation: AlterConfig | None = None, **how):
    changes = [(resource, [operation or setting()]) for resource in resources]
    return admin(cluster).incremental_alter_configs(changes, **how)


# Alterations


def test_a_brokers_configs_come_to_the_broker_policy_of_that_broker():
    """P201-71, P201-82…85, P201-87, P201-89, P201-40: merged, requested, and judged on it."""
    recorder = Recorder()
    cluster = policed(recorder, broker_configs={2: {"marker": "x"}})
    recorder.calls.clear()
    admin(cluster).incremental_alter_configs([(broker(2), [setting("1"), setting("9", "a.b")])])
    altered(cluster, broker(2), operation=setting(None, "a.b"))
    first, second = recorder.requests
    assert recorder.methods == ["alter broker"] * 2
    assert (first.broker_id, first.principal) == (2, Principal("User", "ANONYMOUS"))
    before = {"node.id": "2", "marker": "x"}
    assert first.requested_state.configs == {**before, RETENTION: "1", "a.b": "9"}
    assert first.requested_state.requested_configs == {RETENTION: "1", "a.b": "9"}
    assert recorder.calls[0].node == before
    assert second.requested_state.configs == {**before, RETENTION: "1"}
    assert second.requested_state.requested_configs == {"a.b": None}
    assert recorder.calls[1].node == {**before, RETENTION: "1", "a.b": "9"}


def test_what_is_set_for_all_is_in_force_below_a_brokers_own():
    """P201-40, P201-83."""
    recorder = Recorder()
    cluster = policed(recorder, static_configs={"a": "static", "b": "static", "c": "static"})
    for resource, key in ((ALL, "b"), (ALL, "c"), (broker(1), "c")):
        value = "own" if resource.name else "all"
        assert altered(cluster, resource, operation=setting(value, key))[resource].ok
    recorder.calls.clear()
    for number in (1, 2):
        altered(cluster, broker(number))
    held = [{key: call.node[key] for key in "abc"} for call in recorder.calls]
    assert held == [
        {"a": "static", "b": "all", "c": "own"},
        {"a": "static", "b": "all", "c": "all"},
    ]
    described = admin(cluster).describe_configs([broker(1), ALL])
    # Kafka hides the values of configs that it does not know, not where they come from.
    assert {key: str(described[broker(1)].entries[key].source) for key in "abc"} == {
        "a": "STATIC_BROKER_CONFIG",
        "b": "DYNAMIC_DEFAULT_BROKER_CONFIG",
        "c": "DYNAMIC_BROKER_CONFIG",
    }


def test_a_broker_tells_its_own_properties():
    cluster = policed(Recorder(), broker_configs={2: {"marker": "x", "log.dir": "/there"}})
    described = admin(cluster).describe_configs([broker(1), broker(2)])
    assert "marker" not in described[broker(1)].entries
    assert described[broker(2)].entries["marker"].sensitive
    assert described[broker(1)].entries["log.dir"].value == "/tmp/kafka-logs"  # noqa: S108
    assert described[broker(2)].entries["log.dir"].value == "/there"


@pytest.mark.parametrize("validate_only", [True, False])
def test_a_denial_is_one_brokers(validate_only: bool):
    """P201-66, P201-85, P201-87, P201-76: brokers 1 and 2, 1 is denied, 2 is changed."""
    policy = Recorder(says=lambda request, _: "not on 1" if request.broker_id == 1 else None)
    cluster = policed(policy)
    results = altered(cluster, broker(1), broker(2), validate_only=validate_only)
    told = results[broker(1)]
    assert (told.code, told.message) == (ErrorCode.POLICY_VIOLATION, "not on 1")
    assert results[broker(2)].ok
    held = cluster.controller.image().configs.brokers
    assert held == ({} if validate_only else {"2": {RETENTION: "5"}})


def test_a_topic_policy_is_not_asked_about_brokers():
    """P201-71."""

    class Topics(BaseTopicPolicy):
        def validate_alter_topic(self, request, cluster_state):
            raise AssertionError

    cluster = policed(Topics())
    assert altered(cluster, broker(1))[broker(1)].ok


def test_the_default_of_all_is_judged_on_every_broker_that_lives():
    """P201-89: three calls, any rejection rejects; a dead broker can't say anything."""
    policy = Recorder(says=lambda request, _: "3 won't" if request.broker_id == 3 else None)
    cluster = policed(policy)
    told = altered(cluster, ALL)[ALL]
    assert (told.code, told.message) == (44, "3 won't")
    assert [request.broker_id for request in policy.requests] == [1, 2, 3]
    assert [call.node["node.id"] for call in policy.calls] == ["1", "2", "3"]
    assert cluster.controller.image().configs.brokers == {}
    cluster.fence(3)
    policy.calls.clear()
    assert altered(cluster, ALL)[ALL].ok
    assert [request.broker_id for request in policy.requests] == [1, 2]
    cluster.fence(1, 2, 3)
    assert altered(cluster, ALL, operation=setting("6"))[ALL].code == 44


def test_the_port_judges_brokers_as_the_admin_does():
    policy = Recorder(says=lambda request, _: "no" if request.broker_id == 2 else None)
    cluster = policed(policy)
    key = "leader.replication.throttled.rate"
    requests = [AlterBrokerRequest(broker=number, configs={key: "9"}) for number in (1, 2)]
    for validate_only in (True, False):
        results = cluster.execute(requests, validate_only=validate_only, principal="User:a")
        assert [int(result.code) for result in results] == [0, 44]
    assert list(cluster.controller.image().configs.brokers) == ["1"]


@pytest.mark.parametrize("key", POLICY_KEYS)
@pytest.mark.parametrize("value", ["rules:Other", None])
@pytest.mark.parametrize("resource", [ALL, broker(1)])
def test_which_policies_there_are_is_not_altered_while_brokers_run(key, value, resource):
    """P201-47: the keys are static; changing one needs a restart."""
    policy = Recorder()
    cluster = policed(policy)
    before = logged(cluster)
    result = altered(cluster, resource, operation=setting(value, key))[resource]
    assert result.code is ErrorCode.INVALID_REQUEST
    assert result.message == f"Cannot update these configs dynamically: [{key}]"
    assert (logged(cluster), policy.calls) == (before, [])


# Start


def test_a_broker_starts_only_with_configs_that_policies_accept(caplog):
    """P201-86, P201-88: it is dead to clients, the log has the words, the others start."""

    def short(request, _):
        ms = int(request.requested_state.configs[RETENTION])
        return f"{ms} ms are too long" if ms > 100 else None

    policy = Recorder(says=short)
    with caplog.at_level(logging.ERROR):
        cluster = policed(
            policy,
            brokers=[Broker(id=1, rack="a"), Broker(id=2), Broker(id=3)],
            static_configs={RETENTION: "50"},
            broker_configs={2: {RETENTION: "500"}},
        )
    assert [broker.id for broker in cluster.read_state().brokers if broker.fenced] == [2]
    (record,) = caplog.records
    assert record.getMessage() == (
        "broker 2 does not start: POLICY_VIOLATION (44): 500 ms are too long"
    )
    first, second, _ = policy.requests
    assert first.principal == Principal("User", "kafka")
    full = {"node.id": "1", "broker.rack": "a", RETENTION: "50"}
    assert first.requested_state.configs == first.requested_state.requested_configs == full
    assert second.requested_state.configs == {"node.id": "2", RETENTION: "500"}
    assert [call.node for call in policy.calls] == [{}] * 3
    # It answers nothing, and another one may die beside it.
    cluster.fence(3)
    assert [broker.id for broker in cluster.read_state().brokers if broker.fenced] == [2, 3]
    cluster.fence()
    assert [broker.id for broker in cluster.read_state().brokers if broker.fenced] == [2]
    request = AlterBrokerRequest(broker=2, configs={"leader.replication.throttled.rate": "9"})
    (result,) = cluster.execute([request], validate_only=False, principal="User:a")
    assert result.code is ErrorCode.NETWORK_EXCEPTION
    assert altered(cluster, broker(1), operation=setting("60"))[broker(1)].ok
    assert altered(cluster, broker(1), operation=setting("600"))[broker(1)].code == 44


def test_brokers_are_judged_where_only_one_has_configs():
    """P201-86: nothing is configured for all; each is judged, the one with configs refused."""
    policy = Recorder(
        says=lambda request, _: "no" if RETENTION in request.requested_state.configs else None
    )
    cluster = policed(policy, broker_configs={2: {RETENTION: "500"}})
    assert [request.broker_id for request in policy.requests] == [1, 2, 3]
    assert [broker.id for broker in cluster.read_state().brokers if broker.fenced] == [2]


def test_who_could_not_start_is_not_written_down(tmp_path):
    """P201-86: the store keeps no configs, so the next process decides by its own."""
    rule = PythonRule(
        "p", Level.HARD, Recorder(says=lambda request, _: "no" if request.broker_id == 1 else None)
    )
    placeholder = PythonPolicy(name="p", level=Level.HARD, digest="", class_="a:B")
    path = tmp_path / "local.db"
    denied = boot(
        path,
        options=Options(static_configs={RETENTION: "5"}),
        policies=Bundle(policies=(placeholder,)),
        open_evaluator=lambda _: InProcessEvaluator([rule]),
    )
    assert denied.read_state().controller_id == 2
    assert altered(denied, broker(2))[broker(2)].ok
    denied.close()
    again = boot(path)
    assert again.read_state().controller_id == 1
    assert not any(broker.fenced for broker in again.read_state().brokers)
    again.close()


def test_where_no_broker_starts_there_is_no_cluster():
    """P201-86."""
    policy = Recorder(says=lambda request, _: f"{request.broker_id} is not wanted")
    with pytest.raises(DeniedError) as error:
        policed(policy, brokers=2, static_configs={RETENTION: "5"})
    assert str(error.value) == (
        "no broker of the embedded cluster starts, because policies deny their configs "
        "(broker 1: POLICY_VIOLATION (44): 1 is not wanted; broker 2: POLICY_VIOLATION (44): "
        "2 is not wanted); correct the brokers' configs or the policies"
    )
    assert error.value.exit is ExitCode.DENIED
    assert policy.closed == 1


def test_a_policy_that_fails_lets_no_broker_start():
    """P201-67, P201-86: nobody said yes."""

    def fails(request, _):
        raise ZeroDivisionError

    with pytest.raises(DeniedError, match="policy-0 failed"):
        policed(Recorder(says=fails), static_configs={RETENTION: "5"})


# ACLs and quotas: kgitops' own extension

BINDINGS = [a_grant(Operation.READ, name=name) for name in ("a", "b")]


@pytest.mark.parametrize("compat", list(Compat))
def test_acls_and_quotas_are_judged(compat: Compat):
    """P201-76: quotas also under validate_only, which ACLs don't have."""
    policy = Recorder()
    cluster = policed(policy, compat=compat)
    connection = admin(cluster)
    quota = QuotaAlteration(entity=(("user", "a"),), operations=[("request_percentage", 5.0)])

    def all_of_them() -> list[int]:
        resource = ResourceType.TOPIC, "a"
        actions = [AclAction(binding=BINDINGS[0], is_add=add) for add in (True, False)]
        return [
            *(int(result.code) for result in connection.create_acls(BINDINGS)),
            *(int(result.code) for result in connection.alter_client_quotas([quota]).values()),
            *(
                int(result.code)
                for result in connection.alter_acls([(resource, actions)])[resource]
            ),
            int(connection.delete_acls([AclFilter(resource_name="b")])[0].result.code),
        ]

    assert all_of_them() == [0] * 6
    expected = ["create acl"] * 2 + ["alter quota", "delete acl", "create acl", "delete acl"]
    assert policy.methods == expected
    state = policy.requests[2].requested_state
    assert state.quotas == state.requested_quotas == {"request_percentage": 5.0}
    before, log = cluster.read_state(), logged(cluster)
    policy.says = lambda _, __: "no"
    assert all_of_them()[:3] == [44] * 3
    (dry,) = connection.alter_client_quotas([quota], validate_only=True).values()
    assert (dry.code, dry.message) == (44, "no")
    assert (cluster.read_state(), logged(cluster)) == (before, log)


@pytest.mark.parametrize("compat", list(Compat))
def test_what_is_not_correct_never_comes_to_a_policy(compat: Compat):
    """P201-77: neither brokers' configs, nor ACLs, nor quotas."""
    policy = denying()
    cluster = policed(policy, compat=compat)
    connection = admin(cluster)
    unnamed = a_grant(Operation.READ, name="")
    quota = QuotaAlteration(entity=(("user", "a"),), operations=[("nonsense", 5.0)])
    refused = [
        altered(cluster, broker(1), operation=setting("x"))[broker(1)].code,
        altered(cluster, ALL, operation=setting("x"))[ALL].code,
        altered(cluster, broker(9))[broker(9)].code,
        connection.create_acls([unnamed])[0].code,
        *(result.code for result in connection.alter_client_quotas([quota]).values()),
    ]
    # In KRaft the broker that is asked looks at values first, and has one code for it.
    wrong = 40 if compat is Compat.SEED else 42
    assert refused == [wrong, wrong, 42, 42, 42]
    assert policy.calls == []


@pytest.mark.parametrize("compat", list(Compat))
def test_who_may_not_ask_never_comes_to_a_policy(compat: Compat):
    """P201-78: a policy tells nothing to someone without rights."""
    policy = denying()
    cluster = policed(policy, compat=compat, authorizer=AuthorizerKind.ACLS, acls=BINDINGS)
    connection = admin(cluster)
    quota = QuotaAlteration(entity=(("user", "a"),), operations=[("request_percentage", 5.0)])
    refused = [
        altered(cluster, broker(1))[broker(1)].code,
        altered(cluster, ALL)[ALL].code,
        connection.create_acls(BINDINGS[:1])[0].code,
        connection.delete_acls([AclFilter(resource_name="b")])[0].result.code,
        *(result.code for result in connection.alter_client_quotas([quota]).values()),
    ]
    assert refused == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * 5
    assert policy.calls == []


def test_a_filter_deletes_all_that_it_means_or_nothing():
    policy = Recorder(says=lambda request, _: "b stays" if request.binding == BINDINGS[1] else None)
    cluster = policed(policy, acls=BINDINGS)
    (outcome,) = admin(cluster).delete_acls([AclFilter(principal="User:a")])
    assert (outcome.result.code, outcome.result.message) == (44, "b stays")
    assert outcome.bindings == ()
    assert cluster.read_state().acls == set(BINDINGS)
