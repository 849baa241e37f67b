"""Answers with one error for every item, as Kafka's requests make them (``getErrorResponse``)."""

from collections.abc import Callable, Mapping

from kgitops.model.results import ErrorCode
from kgitops.wire import messages
from kgitops.wire.messages import Message, message_class

Fail = Callable[[Message, ErrorCode], Message]
_TEXTS = {
    # org.apache.kafka.common.protocol.Errors, for requests that answer with its texts.
    ErrorCode.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing "
    "the request.",
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.NOT_CONTROLLER: "This is not the correct controller for this cluster.",
}


def failed(api: str, version: int, request: Message, code: ErrorCode) -> Message:
    """The answer to a request with the same error for each of its items."""
    make = _BY_API.get(api)
    response = make(request, code) if make is not None else message_class(f"{api}Response")()
    if hasattr(response, "error_code") and (api, version) != ("ElectLeaders", 0):
        response.error_code = code
    if api in _WITH_TEXTS:
        response.error_message = _TEXTS.get(code)
    elif hasattr(response, "error_message"):
        response.error_message = None
    return response


_WITH_TEXTS = frozenset({"DescribeQuorum", "UnregisterBroker", "AddRaftVoter", "RemoveRaftVoter"})


def _rows(api: str, items: str, rows: str, row: str, *same: str) -> Fail:
    """Answer with a row for each item of the request, which has ``same`` fields of the item."""

    def fail(request: Message, code: ErrorCode) -> Message:
        response = message_class(f"{api}Response")
        make = getattr(response, row)
        failures = [
            make(
                error_code=code, error_message=None, **{name: getattr(item, name) for name in same}
            )
            for item in getattr(request, items)
        ]
        return response(**{rows: failures})

    return fail


def _delete_topics(request: Message, code: ErrorCode) -> Message:
    row = messages.DeleteTopicsResponse.DeletableTopicResult
    topics = [row(name=t.name, topic_id=t.topic_id, error_code=code) for t in request.topics]
    named = [row(name=name, error_code=code) for name in request.topic_names]
    return messages.DeleteTopicsResponse(responses=[*topics, *named])


def _elect_leaders(request: Message, code: ErrorCode) -> Message:
    response = messages.ElectLeadersResponse
    results = [
        response.ReplicaElectionResult(
            topic=topic.topic,
            partition_result=[
                response.PartitionResult(partition_id=number, error_code=code, error_message=None)
                for number in topic.partitions
            ],
        )
        for topic in request.topic_partitions or ()
    ]
    return response(replica_election_results=results)


def _alter_partition_reassignments(request: Message, code: ErrorCode) -> Message:
    response = messages.AlterPartitionReassignmentsResponse
    rows = [
        response.ReassignableTopicResponse(
            name=topic.name,
            partitions=[
                response.ReassignablePartitionResponse(
                    partition_index=row.partition_index, error_code=code, error_message=None
                )
                for row in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return response(responses=rows)


def _list_partition_reassignments(request: Message, _: ErrorCode) -> Message:
    response = messages.ListPartitionReassignmentsResponse
    topics = [
        response.OngoingTopicReassignment(
            name=topic.name,
            partitions=[
                response.OngoingPartitionReassignment(partition_index=number)
                for number in topic.partition_indexes
            ],
        )
        for topic in request.topics or ()
    ]
    return response(topics=topics)


def _alter_client_quotas(request: Message, code: ErrorCode) -> Message:
    response = messages.AlterClientQuotasResponse
    entries = [
        response.EntryData(
            error_code=code,
            error_message=_TEXTS.get(code),
            entity=[
                response.EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
                for part in entry.entity
            ],
        )
        for entry in request.entries
    ]
    return response(entries=entries)


def _alter_user_scram_credentials(request: Message, code: ErrorCode) -> Message:
    users = sorted({row.name for row in (*request.deletions, *request.upsertions)})
    row = messages.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
    rows = [row(user=user, error_code=code, error_message=None) for user in users]
    return messages.AlterUserScramCredentialsResponse(results=rows)


def _alter_virtual_clusters(request: Message, code: ErrorCode) -> Message:
    response = messages.AlterVirtualClustersResponse
    rows = [
        response.VirtualClusterData(
            name=asked.name,
            resources=[
                response.VirtualClusterResource(
                    resource_type=item.resource_type,
                    resource_name=item.resource_name,
                    resource_operation=item.resource_operation,
                    error_code=code,
                )
                for item in asked.resources
            ],
        )
        for asked in request.virtual_cluster
    ]
    return response(virtual_cluster=rows)


_OF_CONFIGS = (
    "resources", "responses", "AlterConfigsResourceResponse", "resource_type", "resource_name"
)  # fmt: skip
_BY_API: Mapping[str, Fail] = {
    "CreateTopics": _rows("CreateTopics", "topics", "topics", "CreatableTopicResult", "name"),
    "DeleteTopics": _delete_topics,
    "CreatePartitions": _rows(
        "CreatePartitions", "topics", "results", "CreatePartitionsTopicResult", "name"
    ),
    "CreateAcls": _rows("CreateAcls", "creations", "results", "AclCreationResult"),
    "DeleteAcls": _rows("DeleteAcls", "filters", "filter_results", "DeleteAclsFilterResult"),
    "AlterConfigs": _rows("AlterConfigs", *_OF_CONFIGS),
    "IncrementalAlterConfigs": _rows("IncrementalAlterConfigs", *_OF_CONFIGS),
    "ElectLeaders": _elect_leaders,
    "AlterPartitionReassignments": _alter_partition_reassignments,
    "ListPartitionReassignments": _list_partition_reassignments,
    "AlterClientQuotas": _alter_client_quotas,
    "AlterUserScramCredentials": _alter_user_scram_credentials,
    "CreateVirtualClusters": _rows(
        "CreateVirtualClusters",
        "virtual_clusters",
        "virtual_clusters",
        "CreatableVirtualClustersResult",
        "name",
    ),
    "AlterVirtualClusters": _alter_virtual_clusters,
    "DeleteVirtualClusters": _rows(
        "DeleteVirtualClusters",
        "virtual_clusters",
        "responses",
        "DeletableVirtualClusterResult",
        "name",
    ),
}
