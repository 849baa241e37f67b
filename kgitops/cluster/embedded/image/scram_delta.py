"""The delta of SCRAM credentials: an image and the changes of records, readable as one."""

from collections.abc import Mapping

from kgitops.cluster.embedded.image.deltas import with_value
from kgitops.cluster.embedded.image.image import ScramCredential, ScramImage
from kgitops.cluster.embedded.image.records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)


class ScramDelta:
    """Changes of the credentials of users who log in by SCRAM."""

    def __init__(self, image: ScramImage) -> None:
        self._image = image
        self._changed: dict[str, Mapping[str, ScramCredential]] = {}

    def of(self, user: str) -> Mapping[str, ScramCredential]:
        """The credentials of a user by mechanism."""
        if user in self._changed:
            return self._changed[user]
        return self._image.users.get(user, {})

    def replay(self, record: UserScramCredentialRecord | RemoveUserScramCredentialRecord) -> None:
        """Take in one credential that was set or removed."""
        credential = None
        if isinstance(record, UserScramCredentialRecord):
            credential = ScramCredential(
                salt=record.salt,
                stored_key=record.stored_key,
                server_key=record.server_key,
                iterations=record.iterations,
            )
        self._changed[record.user] = with_value(self.of(record.user), record.mechanism, credential)

    def apply(self) -> ScramImage:
        """The next image."""
        if not self._changed:
            return self._image
        merged = {**self._image.users, **self._changed}
        return ScramImage(users={user: held for user, held in merged.items() if held})
