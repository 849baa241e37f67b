"""Reading all that an export or an audit is about."""

from apply.plans import open_cluster
from msgspec.structs import replace

from kgitops.desired.state import Project
from kgitops.model.requests import AlterConfigResourceRequest
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.workflow.reading import with_all_objects


def test_a_broker_that_joined_after_the_state_was_read_is_left_out() -> None:
    cluster = open_cluster()
    requests = [
        AlterConfigResourceRequest(
            resource_type=ConfigResourceType.BROKER,
            resource_name=name,
            configs={"num.io.threads": "12"},
        )
        for name in ("1", "3", "<default>")
    ]
    answers = cluster.execute(requests, validate_only=False, principal="User:a")
    assert all(answer.ok for answer in answers), answers
    state = cluster.read_state()
    before = replace(state, brokers=tuple(it for it in state.brokers if it.id != 3))
    project = Project(name="payments")
    found, unread = with_all_objects(cluster, before, project)
    assert {*found.objects} == {"broker-config/1", "broker-config/<default>"}
    assert {*with_all_objects(cluster, state, project)[0].objects} - {*found.objects} == {
        "broker-config/3"
    }
    assert unread == {}
