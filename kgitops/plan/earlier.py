"""Facts that an earlier plan found out once, and that may have moved on since.

An apply plans again to see whether a plan is honest. Placements depend on the brokers of the
moment, and resets on offsets that grow: planning again keeps to the earlier choice where it is
still one that could have been made. Each kind decides that.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from kgitops.model.resources.groups import CommittedOffsets
from kgitops.model.resources.topics import Assignment


class EarlierFacts(Struct, frozen=True, kw_only=True):
    """The choices of an earlier plan, by the address of the object.

    ``placements`` are the assignments of topics, with new partitions and after all moves;
    ``offsets`` those that resets commit, none for a group that has nothing to commit; ``records``
    the offsets by partition below which records are deleted; ``waits`` the topics whose change
    waits for a reassignment that was running.
    """

    placements: Mapping[str, tuple[Assignment, Assignment]] = field(default_factory=dict)
    offsets: Mapping[str, CommittedOffsets] = field(default_factory=dict)
    records: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    waits: frozenset[str] = frozenset()


NOTHING_EARLIER = EarlierFacts()
