"""Names within the blobs that members of classic consumer groups send each other.

The coordinator reads the topics of a subscription: it keeps the offsets of no others in a group
that is alive, and it makes a KIP-848 group of them.
"""

from kgitops.gateway.rewriting.hooks import names_splicer
from kgitops.wire.errors import MalformedError

CONSUMER = b"consumer"
_NEWEST = 3


def change_subscription(blob: bytes, hooks: object) -> bytes:
    """A ConsumerProtocolSubscription with its topics changed; any other blob as it is."""
    return _changed("ConsumerProtocolSubscription", blob, hooks)


def change_assignment(blob: bytes, hooks: object) -> bytes:
    """A ConsumerProtocolAssignment with its topics changed; any other blob as it is."""
    return _changed("ConsumerProtocolAssignment", blob, hooks)


def _changed(message: str, blob: bytes, hooks: object) -> bytes:
    """The sticky assignors' own data are left alone: only members read them."""
    if len(blob) < 2:
        return blob
    version = int.from_bytes(blob[:2], "big", signed=True)
    if version < 0:
        return blob
    splice = names_splicer(message, min(version, _NEWEST))
    if splice is None:
        return blob
    try:
        return blob[:2] + b"".join(splice(blob, 2, hooks))
    except MalformedError:
        # Connect has a protocol of its own, and clients may have theirs: coordinators take any.
        return blob
