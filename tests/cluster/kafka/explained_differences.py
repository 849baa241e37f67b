"""The closed list of what the embedded cluster answers otherwise, and why."""

from collections.abc import Mapping

from msgspec import Struct


class Source(Struct, frozen=True, kw_only=True):
    """A place in Kafka's source: a path in its repository, and a method of that class."""

    path: str
    method: str

    @property
    def class_file(self) -> str:
        """The class as it stands in a jar."""
        module, _, name = self.path.partition("/src/main/")
        del module
        return name.partition("/")[2].rpartition(".")[0] + ".class"

    def __str__(self) -> str:
        return f"`{self.path}`, `{self.method}`"


class Reason(Struct, frozen=True, kw_only=True):
    """The reason for a difference: a text, a rule's id or Kafka's source."""

    why: str
    rule: str | None = None
    source: Source | None = None

    def __str__(self) -> str:
        said = [str(item) for item in (self.rule, self.source) if item]
        return f"{self.why} ({'; '.join(said)})"


_NO_NUMBER = Reason(
    why="Kafka only asks whether a value is 0 or less, which neither NaN nor infinity is. The "
    "embedded cluster takes no quota that can't be kept to.",
    rule="F590-51",
    source=Source(
        path="metadata/src/main/java/org/apache/kafka/controller/ClientQuotaControlManager.java",
        method="validateQuotaKeyValue",
    ),
)

EXPLAINED: Mapping[str, Reason] = {
    "CreateTopic: the registry": Reason(
        why="To Kafka the registry is a topic as any other, and kgitops makes it so. In the "
        "embedded cluster it is no topic. No plan has it on either.",
        rule="F590-37",
    ),
    "CreateTopic: tiered storage where there is none": Reason(
        why="Brokers have tiered storage if remote.log.storage.system.enable says so, which is "
        "not the default. The embedded ones always have it.",
        source=Source(
            path="storage/src/main/java/org/apache/kafka/storage/internals/log/LogConfig.java",
            method="validateRemoteStorageOnlyIfSystemEnabled",
        ),
    ),
    "CreateTopic: twice in a batch": Reason(
        why="Kafka refuses a name that stands in a request twice, so kgitops sends two requests. "
        "A dry run of the second sees nothing of the first; the embedded cluster judges a batch as "
        "a whole.",
        rule="A4-31",
        source=Source(
            path="core/src/main/scala/kafka/server/ControllerApis.scala", method="createTopics"
        ),
    ),
    "AlterClientQuota: not a number": _NO_NUMBER,
    "AlterClientQuota: infinite": _NO_NUMBER,
}
