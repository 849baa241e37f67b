"""A classic group in a test: steps at given times, and the answers that they gave."""

from collections.abc import Sequence

from msgspec.structs import replace

from kgitops.model.results import ErrorCode
from kgitops.serve.groups.checks import heartbeat
from kgitops.serve.groups.expiring import Leaving, expired, leave, next_deadline_ms
from kgitops.serve.groups.group import Answer, Group, JoinAnswer, SyncAnswer
from kgitops.serve.groups.joining import Joining, join
from kgitops.serve.groups.settings import GroupSettings
from kgitops.serve.groups.syncing import Syncing, sync

SESSION_MS, REBALANCE_MS = 10_000, 60_000
RANGE = (("range", b"r"),)


class GroupSteps:
    """The group now, the time now, and all answers by ticket."""

    def __init__(self, **settings: int) -> None:
        self.group = Group()
        self.now_ms = 0
        self.settings = GroupSettings(**settings)
        self.answers: dict[int, Answer] = {}
        self._tickets = 0

    def join(self, member_id: str = "", new_id: str = "", **request: object) -> int:
        """Send a JoinGroup; its ticket."""
        self._tickets += 1
        asked = Joining(
            ticket=self._tickets,
            new_member_id=new_id,
            member_id=member_id,
            **{
                "protocols": RANGE,
                "session_timeout_ms": SESSION_MS,
                "rebalance_timeout_ms": REBALANCE_MS,
                **request,
            },
        )
        self._after(join(self.group, asked, self.now_ms, self.settings))
        return self._tickets

    def sync(
        self, member_id: str, generation: int, assignments: dict[str, bytes] | None = None, **more
    ) -> int:
        """Send a SyncGroup; its ticket."""
        self._tickets += 1
        asked = Syncing(
            ticket=self._tickets,
            member_id=member_id,
            generation=generation,
            assignments=assignments or {},
            **more,
        )
        self._after(sync(self.group, asked, self.now_ms))
        return self._tickets

    def beat(self, member_id: str, generation: int, instance_id: str | None = None) -> ErrorCode:
        """Send a heartbeat; its answer."""
        group, error = heartbeat(self.group, member_id, instance_id, generation, self.now_ms)
        self._after(group)
        return error

    def leave(self, *members: tuple[str, str | None]) -> Sequence[ErrorCode]:
        """Let members leave, by member id and instance id; the answers."""
        leaving = [Leaving(member_id=i, instance_id=instance) for i, instance in members]
        group, errors = leave(self.group, leaving, self.now_ms)
        self._after(group)
        return errors

    def wait(self, ms: int) -> None:
        """Let time pass, and what is due happen."""
        end = self.now_ms + ms
        while (due := next_deadline_ms(self.group)) is not None and due <= end:
            self.now_ms = max(due, self.now_ms)
            self._after(expired(self.group, self.now_ms, self.settings))
        self.now_ms = end

    def joined(self, ticket: int) -> JoinAnswer:
        """The answer to a JoinGroup."""
        answer = self.answers[ticket]
        assert isinstance(answer, JoinAnswer)
        return answer

    def synced(self, ticket: int) -> SyncAnswer:
        """The answer to a SyncGroup."""
        answer = self.answers[ticket]
        assert isinstance(answer, SyncAnswer)
        return answer

    def stable(self, *members: str, instances: bool = False, **request: object) -> int:
        """A stable group of these members, the first of which leads; its generation."""
        for name in members:
            self.join(new_id=name, instance_id=f"i-{name}" if instances else None, **request)
        self.wait(0)
        for name in members[:1] if self.group.generation == 0 else ():
            raise AssertionError(f"{name} did not join")
        generation = self.group.generation
        assignments = {name: f"of {name}".encode() for name in members}
        for name in reversed(members):
            instance_id = f"i-{name}" if instances else None
            self.sync(
                name, generation, assignments if name == members[0] else {}, instance_id=instance_id
            )
        return generation

    def _after(self, group: Group) -> None:
        for ticket, answer in group.answers:
            assert ticket not in self.answers, "answered twice"
            self.answers[ticket] = answer
        self.group = replace(group, answers=())
