"""Topics and records that must not be deleted, or not so many."""

from pathlib import Path
from typing import TextIO

from kgitops.policies.topic_rule import TopicPolicy
from kgitops.policy import ClusterState, DeleteRecordsRequest, DeleteTopicRequest, PolicyViolation
from kgitops.policy.readers import flag, patterns, whole
from kgitops.policy.settings import Setting, optional


class ProtectFromDeletion(TopicPolicy):
    """Certain topics are not deleted, and neither are their records."""

    remediation = "Keep the topic, or ask an administrator to plan it with --as."

    topics = Setting(patterns, "patterns of the protected topics")

    def validate_delete_topic(
        self, request: DeleteTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse to delete a protected topic."""
        if self.judges(request):
            raise PolicyViolation(
                f"{request.name} is protected and must not be deleted{self._except()}"
            )

    def validate_delete_records(
        self, request: DeleteRecordsRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse to delete records of a protected topic."""
        if self.judges(request):
            raise PolicyViolation(
                f"{request.name} is protected: its records must not be deleted{self._except()}",
                field="deleteRecordsBefore",
            )

    def _except(self) -> str:
        return f" except by {self.except_principals}" if self.except_principals else ""


class RecordDeletionLimit(TopicPolicy):
    """Nobody deletes very many records at once, or records of all partitions.

    Records are counted from offset 0, because a policy can't see where a log begins: of a log
    that has lost records the number is more than are deleted. A topic with one partition is not
    held to the rule about all partitions.
    """

    remediation = "Delete fewer records at a time, or ask an administrator."

    max = optional(whole, "the most records below the offsets, all partitions together")
    all_partitions = Setting(flag, "whether all partitions may lose records at once", "false")

    def validate_delete_records(
        self, request: DeleteRecordsRequest, cluster_state: ClusterState
    ) -> None:
        """Count the records below the offsets, and the partitions."""
        if not self.judges(request):
            return
        offsets = request.deleted_message_offsets
        records = sum(offsets.values())
        if self.max is not None and records > self.max:
            raise PolicyViolation(
                f"up to {records} records of {request.name} would be deleted; at most "
                f"{self.max} are allowed",
                field="deleteRecordsBefore",
            )
        topic = cluster_state.topic_state(request.topic)
        if self.all_partitions or topic is None or topic.num_partitions == 1:
            return
        if len(offsets) == topic.num_partitions:
            raise PolicyViolation(
                f"all {len(offsets)} partitions of {request.name} would lose records; leave "
                "one out",
                field="deleteRecordsBefore",
            )


class MassDeleteGuard(TopicPolicy):
    """Not many topics are deleted at once, whoever asks and for whatever reason.

    It counts the deletions of one plan, or of one request to a broker.
    """

    remediation = "Delete the topics in several steps, or ask an administrator."

    max = Setting(whole, "the most topics that may be deleted at once", "10")

    def validate_delete_topic(
        self, request: DeleteTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse one topic too many."""
        if not self.judges(request):
            return
        if len(cluster_state.deleted_topics()) >= self.max:
            raise PolicyViolation(
                f"{request.name} would be one more than the {self.max} topics that may be "
                "deleted at once"
            )


class DeleteOnlyIfUnused(TopicPolicy):
    """A topic is deleted only when a register of topics in use doesn't list it.

    The register is a text file: a topic's name on each line, ``#`` begins a comment; of a topic in
    a virtual cluster either of its names counts. It is opened when the policy is loaded and read
    again for each deletion. A relative path begins at the folder in which kgitops runs.
    """

    remediation = "Have the topic taken out of the register once nobody uses it."

    register = Setting(Path, "the path of the file that lists the topics in use")
    _file: TextIO | None = None

    def settle(self) -> None:
        """Open the register, so that a missing one is told of at once."""
        try:
            self._file = self.register.open(encoding="utf-8")
        except OSError as error:
            raise ValueError(
                f"register: {self.register} can't be opened: {error.strerror}"
            ) from None

    def validate_delete_topic(
        self, request: DeleteTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse to delete a topic that is listed."""
        if not self.judges(request):
            return
        if self._file is None:
            raise ValueError("the register is not open")
        self._file.seek(0)
        listed = {line.partition("#")[0].strip() for line in self._file}
        if listed & {request.name, request.topic}:
            raise PolicyViolation(
                f"{request.name} is in use and must not be deleted: {self.register.name} lists it"
            )

    def close(self) -> None:
        """Close the register."""
        if self._file is not None:
            self._file.close()
