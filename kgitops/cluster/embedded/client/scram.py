"""AlterUserScramCredentials and DescribeUserScramCredentials."""

from collections.abc import Sequence

from kgitops.cluster.embedded.client.connection import Connection
from kgitops.cluster.embedded.controls import scram as scram_control
from kgitops.cluster.embedded.controls.scram import (
    ScramDeletion,
    ScramUpsertion,
    UserScramCredentials,
)
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.results import RequestResult


class ScramCalls(Connection):
    """Calls about users who log in by SCRAM; a bound caller's are those of its virtual cluster."""

    def alter_user_scram_credentials(
        self, *, deletions: Sequence[ScramDeletion] = (), upsertions: Sequence[ScramUpsertion] = ()
    ) -> dict[str, RequestResult]:
        """Remove and set credentials; one result for each user."""
        users = [item.user for item in deletions] + [item.user for item in upsertions]
        try:
            return self._decide(
                lambda draft: scram_control.alter_user_scram_credentials(
                    draft, deletions, upsertions
                ),
                users,
            )
        except Refusal as refusal:
            return dict.fromkeys(users, refusal.result)

    def describe_user_scram_credentials(
        self, users: Sequence[str] | None = None
    ) -> list[UserScramCredentials]:
        """The mechanisms and iterations of these users, or of all; never a key.

        Raises:
            Refusal: the caller may not see them.
        """
        return self._read(lambda draft: scram_control.describe_user_scram_credentials(draft, users))
