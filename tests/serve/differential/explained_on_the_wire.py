"""The closed list of what a served cluster answers otherwise than a real Kafka, and why."""

import re
from collections.abc import Sequence

from cluster.kafka.explained_differences import Reason, Source
from msgspec import Struct
from serve.differential.comparable import Difference


class Explanation(Struct, frozen=True, kw_only=True):
    """The reason for the differences in some fields of an answer; patterns match whole values."""

    apis: Sequence[str]
    fields: str
    served: str = ".*"
    real: str = ".*"
    reason: Reason

    def explains(self, difference: Difference) -> bool:
        return (
            difference.api in self.apis
            and re.fullmatch(self.fields, difference.field) is not None
            and re.fullmatch(self.served, difference.served, re.DOTALL) is not None
            and re.fullmatch(self.real, difference.real, re.DOTALL) is not None
        )


_NEWER_CONFIGS = (
    "errors.deadletterqueue.group.enable|max.decompressed.message.bytes|remote.copy.lag.bytes|"
    "remote.copy.lag.ms"
)
_CLIENTS = "clients/src/main/java/org/apache/kafka/common/requests"
_CONTROLLER = "metadata/src/main/java/org/apache/kafka/controller"
_COORDINATOR = "group-coordinator/src/main/java/org/apache/kafka/coordinator/group"

EXPLAINED_ON_THE_WIRE: Sequence[Explanation] = (
    Explanation(
        apis=["CreateTopics", "DescribeConfigs"],
        fields="(topics|results).configs",
        served=f".*'name': '({_NEWER_CONFIGS})'.*",
        real="'no row'",
        reason=Reason(
            why="The embedded cluster knows the topic configs of Kafka 4.4, four more than 4.3.",
            source=Source(
                path="storage/src/main/java/org/apache/kafka/storage/internals/log/LogConfig.java",
                method="configNames",
            ),
        ),
    ),
    Explanation(
        apis=["CreateTopics"],
        fields="topics..*",
        served=r"17|-1|'no id'|\[\]|.*collides with existing topic: e[._]f.",
        real=r"0|1|2|'id of e_f'|\[{.*|None",
        reason=Reason(
            why="Kafka looks for names that collide among those that exist, and makes both of two "
            "in a request. The embedded cluster judges a batch as a whole, and makes the first.",
            source=Source(
                path=f"{_CONTROLLER}/ReplicationControlManager.java", method="createTopics"
            ),
        ),
    ),
    Explanation(
        apis=["AlterConfigs", "IncrementalAlterConfigs"],
        fields="responses.error_message",
        served="['\"]Invalid value .*",
        real="['\"]Invalid value .*",
        reason=Reason(
            why="Of several wrong values Kafka tells the one whose config it defines first, the "
            "embedded cluster the one that the request has first.",
            source=Source(
                path="storage/src/main/java/org/apache/kafka/storage/internals/log/LogConfig.java",
                method="validate",
            ),
        ),
    ),
    Explanation(
        apis=["IncrementalAlterConfigs"],
        fields="responses.error_(code|message)",
        served="42|'Cannot update these configs dynamically: .process.roles.'",
        real="-1|None",
        reason=Reason(
            why="Kafka fails to subtract from a list that a broker reads once, where it only "
            "stands in its properties; the embedded cluster says that it can't be changed.",
            source=Source(
                path="core/src/main/scala/kafka/server/ConfigAdminManager.scala",
                method="prepareIncrementalConfigs",
            ),
        ),
    ),
    Explanation(
        apis=["AlterClientQuotas"],
        fields="entries.error_message",
        real="'Ignoring duplicate entity .*",
        reason=Reason(
            why="Both refuse an entry whose entity is none and that has a key twice; Kafka's "
            "sentence is about the second.",
            source=Source(
                path=f"{_CONTROLLER}/ClientQuotaControlManager.java", method="alterClientQuotas"
            ),
        ),
    ),
    Explanation(
        apis=["CreateAcls"],
        fields="results.error_(code|message)",
        served="42|'Invalid .* (ANY|MATCH)'|0|''|None|'.*",
        real="-1|None",
        reason=Reason(
            why="Where one ACL has a value that only filters may have, Kafka fails to read the "
            "request, and answers every row with an unknown error. The embedded cluster refuses "
            "that row alone.",
            source=Source(path=f"{_CLIENTS}/CreateAclsRequest.java", method="aclBinding"),
        ),
    ),
    Explanation(
        apis=["DeleteGroups", "OffsetDelete"],
        fields="results.error_code|error_code|topics",
        served=r"69|\[\]",
        reason=Reason(
            why="Kafka makes a group in memory as soon as somebody wants to commit its offsets, "
            "also if none of them is kept. The embedded cluster has groups that have something.",
            source=Source(
                path=f"{_COORDINATOR}/OffsetMetadataManager.java", method="validateOffsetCommit"
            ),
        ),
    ),
    Explanation(
        apis=["DescribeTopicPartitions"],
        fields="topics.(error_code|topic_authorized_operations|partitions|topic_id)",
        real=r"-1|-2147483648|\[\]|'no id'",
        reason=Reason(
            why="Kafka fails where the empty name is among the topics, and answers all of them "
            "with an unknown error. The embedded cluster tells that the name is none.",
            source=Source(
                path="core/src/main/java/kafka/server/handlers/"
                "DescribeTopicPartitionsRequestHandler.java",
                method="handleDescribeTopicPartitionsRequest",
            ),
        ),
    ),
    Explanation(
        apis=["DescribeProducers", "OffsetFetch"],
        fields="(groups.)?topics(.partitions)?",
        served=r"'no row'|\[\]",
        real=r"\[?{.*'error_code': .*",
        reason=Reason(
            why="Kafka repeats in its answer what a request repeats. The embedded cluster tells it "
            "once, so that no small request has a huge answer.",
            source=Source(
                path="core/src/main/scala/kafka/server/KafkaApis.scala",
                method="handleDescribeProducersRequest",
            ),
        ),
    ),
    Explanation(
        apis=["ElectLeaders"],
        fields="replica_election_results.partition_result.error_(code|message)",
        served="84|'Leader election not needed for topic partition.'",
        real="0|None",
        reason=Reason(
            why="After a move Kafka's partition keeps its leader for a while, so there is one to "
            "elect. In the embedded cluster the first replica that lives leads at once.",
            source=Source(
                path=f"{_CONTROLLER}/ReplicationControlManager.java", method="electLeader"
            ),
        ),
    ),
    Explanation(
        apis=["UpdateFeatures"],
        fields="error_message",
        served=".*levels of features can't be changed in an embedded cluster.*",
        reason=Reason(
            why="An embedded cluster has the features of its version, and refuses all changes.",
            source=Source(path=f"{_CONTROLLER}/FeatureControlManager.java", method="updateFeature"),
        ),
    ),
)
