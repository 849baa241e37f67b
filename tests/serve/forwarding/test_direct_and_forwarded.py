"""Every forwarded API in every version: the answers through a broker are those without one."""

import struct
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest
from serve.served import ServedCluster, repeating, served
from serve.topic_requests import creating, new_topic

from kgitops.cluster.embedded.options import Compat
from kgitops.serve.announced import announced_versions
from kgitops.serve.answers.table import ANSWERS, WAITING
from kgitops.serve.forwarding.apis import FORWARDED
from kgitops.serve.forwarding.options import Routing
from kgitops.serve.nodes import NodeKind
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.frames import request_frame
from kgitops.wire.messages import Message, message_class


def forwarded_versions(compat: Compat) -> Mapping[str, range]:
    """The versions that brokers announce of the APIs that they forward, from what decides both."""
    seed = compat is Compat.SEED
    announced = announced_versions(
        [*ANSWERS, *WAITING], NodeKind.BROKER, seed=seed, virtual_clusters=True
    )
    names = {apis()[key].name: versions for key, versions in announced.items()}
    return {name: versions for name, versions in sorted(names.items()) if name in FORWARDED}


ALL = [
    (compat, api, version)
    for compat in Compat
    for api, versions in forwarded_versions(compat).items()
    for version in versions
]


def real(api: str, version: int) -> Iterator[Message]:
    """Messages as clients send them: some succeed, some are refused."""
    m = messages
    match api:
        case "CreateTopics":
            yield creating("orders", new_topic("audit", 3, 3), "a b")
            again = m.CreateTopicsRequest(topics=[new_topic("orders"), new_topic("x", 1, 9)])
            again.topics[1].configs = [
                m.CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value="-7")
            ]
            yield again
            if version >= 1:
                yield m.CreateTopicsRequest(topics=[new_topic("tried")], validate_only=True)
            yield m.CreateTopicsRequest(topics=[new_topic("late")], timeout_ms=0)
        case "DeleteTopics":
            if version >= 6:
                state = m.DeleteTopicsRequest.DeleteTopicState
                yield m.DeleteTopicsRequest(
                    topics=[state(name="there"), state(name="absent")], timeout_ms=9000
                )
                yield m.DeleteTopicsRequest(topics=[state(topic_id=bytes(15) + b"\7")])
            else:
                yield m.DeleteTopicsRequest(topic_names=["there", "absent"], timeout_ms=9000)
        case "CreatePartitions":
            row = m.CreatePartitionsRequest.CreatePartitionsTopic
            rows = [row(name="there", count=4, assignments=None), row(name="absent", count=2)]
            yield m.CreatePartitionsRequest(topics=rows, timeout_ms=9000)
        case "AlterPartitionReassignments":
            request = m.AlterPartitionReassignmentsRequest
            yield request(
                topics=[
                    request.ReassignableTopic(
                        name=name,
                        partitions=[request.ReassignablePartition(partition_index=0, replicas=[2])],
                    )
                    for name in ("there", "absent")
                ]
            )
        case "ListPartitionReassignments":
            request = m.ListPartitionReassignmentsRequest
            row = request.ListPartitionReassignmentsTopics
            yield request(topics=[row(name="there", partition_indexes=[0])])
        case "ElectLeaders":
            request = m.ElectLeadersRequest
            rows = [
                request.TopicPartitions(topic=name, partitions=[0]) for name in ("there", "absent")
            ]
            yield request(topic_partitions=rows)
            yield request(topic_partitions=None)
        case "DescribeQuorum":
            request = m.DescribeQuorumRequest
            part = request.PartitionData(partition_index=0)
            yield request(
                topics=[request.TopicData(topic_name="__cluster_metadata", partitions=[part])]
            )
        case "UpdateFeatures":
            row = m.UpdateFeaturesRequest.FeatureUpdateKey
            yield m.UpdateFeaturesRequest(
                feature_updates=[row(feature="metadata.version", max_version_level=29)]
            )
        case "CreateVirtualClusters" | "AlterVirtualClusters" | "DeleteVirtualClusters":
            yield from virtual_clusters(api)
        case "CreateAcls" | "DeleteAcls":
            yield from acls(api)
        case "AlterConfigs" | "IncrementalAlterConfigs":
            yield from configs(api)
        case "AlterClientQuotas":
            request = m.AlterClientQuotasRequest
            entity = [request.EntityData(entity_type="user", entity_name="alice")]
            yield request(
                entries=[
                    request.EntryData(entity=entity, ops=[request.OpData(key=key, value=1024.0)])
                    for key in ("producer_byte_rate", "unknown")
                ]
            )
        case "AlterUserScramCredentials":
            request = m.AlterUserScramCredentialsRequest
            yield request(deletions=[request.ScramCredentialDeletion(name="alice", mechanism=1)])
            yield request(
                upsertions=[
                    request.ScramCredentialUpsertion(
                        name="alice",
                        mechanism=1,
                        iterations=4096,
                        salt=b"salt",
                        salted_password=bytes(32),
                    )
                ]
            )
        case _:
            raise AssertionError(f"brokers forward {api}: add requests of clients for it here")


def acls(api: str) -> Iterator[Message]:
    request = message_class(f"{api}Request")
    if api == "CreateAcls":
        row = request.AclCreation
        yield request(
            creations=[
                row(
                    resource_type=kind,
                    resource_name="orders",
                    resource_pattern_type=3,
                    principal="User:alice",
                    host="*",
                    operation=3,
                    permission_type=3,
                )
                for kind in (2, 3, 99)
            ]
        )
    else:
        row = request.DeleteAclsFilter
        yield request(
            filters=[
                row(
                    resource_type_filter=2,
                    resource_name_filter="orders",
                    pattern_type_filter=3,
                    operation=operation,
                    permission_type=1,
                )
                for operation in (1, 3)
            ]
        )


def configs(api: str) -> Iterator[Message]:
    request = message_class(f"{api}Request")
    config = request.AlterableConfig
    resources = (2, "there"), (2, "absent"), (4, "1"), (4, "2"), (4, ""), (9, "")
    for value in ("86400000", "never", None):
        yield request(
            resources=[
                request.AlterConfigsResource(
                    resource_type=kind,
                    resource_name=name,
                    configs=[config(name="retention.ms", value=value)],
                )
                for kind, name in resources
            ]
        )


def virtual_clusters(api: str) -> Iterator[Message]:
    """About one that is there and one that is not."""
    request = message_class(f"{api}Request")
    for names in (("team", "new"), ("absent", "team")):
        match api:
            case "CreateVirtualClusters":
                row = request.CreatableVirtualCluster
                yield request(virtual_clusters=[row(name=name) for name in names])
            case "AlterVirtualClusters":
                user = request.VirtualClusterResource(
                    resource_type=2, resource_name="User:alice", resource_operation=1
                )
                row = request.VirtualClusterData
                yield request(virtual_cluster=[row(name=name, resources=[user]) for name in names])
            case _:
                row = request.DeletableVirtualCluster
                yield request(virtual_clusters=[row(name=name) for name in names])


@pytest.fixture(scope="module")
def pairs() -> Iterator[dict[Compat, tuple[ServedCluster, ServedCluster]]]:
    """For each mode two clusters with the same past: one decides directly, one forwards."""
    with ExitStack() as stack:
        yield {
            compat: tuple(
                stack.enter_context(
                    served(compat=compat, routing=routing, clock_and_ids=repeating())
                )
                for routing in (Routing.DIRECT, Routing.FORWARD)
            )
            for compat in Compat
        }


def answers(brokers: ServedCluster, api: str, version: int) -> tuple[list[bytes], list[int]]:
    """The whole frames that a client gets, and how many Envelopes the broker sent for each.

    A topic ``there`` and a virtual cluster ``team`` are there before each request.
    """
    found = apis()[keys()[api]]
    got, envelopes = [], []
    team = messages.CreateVirtualClustersRequest.CreatableVirtualCluster(name="team")
    with brokers.client(1) as client:
        for request in (message_class(found.request)(), *real(api, version)):
            client.ask("CreateTopics", 7, creating(new_topic("there", 2, 2)))
            client.ask("CreateVirtualClusters", 0, messages.CreateVirtualClustersRequest([team]))
            before = brokers.redirected()
            client.socket.sendall(request_frame(found, version, 4711, "raw", request))
            got.append(client.receive_frame())
            envelopes.append(brokers.redirected() - before)
    # Only the ports of the two clusters differ, which DescribeQuorum tells.
    port = struct.pack(">H", brokers.endpoint(3000).port)
    if api == "DescribeQuorum":
        got = [data.replace(port, b"PO") for data in got]
    return got, envelopes


@pytest.mark.parametrize(("compat", "api", "version"), ALL)
def test_answers_are_the_same_byte_for_byte(
    pairs: dict[Compat, tuple[ServedCluster, ServedCluster]], compat: Compat, api: str, version: int
) -> None:
    """F590-04, F590-05, F590-06, F590-09, F590-16, F590-23, F590-41, A4-30, A4-60, A4-82, A4-106.

    F590-13: a broker that decides directly is one of before the upgrade.
    """
    direct, forwarded = pairs[compat]
    got, envelopes = answers(forwarded, api, version)
    assert (got, [0] * len(got)) == answers(direct, api, version)
    assert envelopes == [1] * len(got)
    assert all(struct.unpack(">i", data[:4]) == (4711,) for data in got)
    assert len(got) >= 2
    assert forwarded.topics() == direct.topics()


@pytest.mark.parametrize("compat", Compat)
def test_every_version_that_a_broker_announces_is_compared(
    pairs: dict[Compat, tuple[ServedCluster, ServedCluster]], compat: Compat
) -> None:
    """F590-06, F590-23: those of the test above are what a client is told."""
    _, forwarded = pairs[compat]
    with forwarded.client(1) as client:
        announced = {
            apis()[row.api_key].name: range(row.min_version, row.max_version + 1)
            for row in client.ask("ApiVersions", 3).api_keys
        }
    told = {name: versions for name, versions in announced.items() if name in FORWARDED}
    assert told == forwarded_versions(compat)
    assert len(told) > 15
