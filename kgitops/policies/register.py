"""A policy that asks something outside of Kafka."""

from pathlib import Path
from typing import TextIO

from kgitops.policies.topic_rule import TopicPolicy
from kgitops.policy import ClusterState, DeleteTopicRequest, PolicyViolation
from kgitops.policy.settings import Setting


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
