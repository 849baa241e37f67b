"""Rules on users who log in by SCRAM: their names, their mechanisms, and who answers for them."""

from kgitops.model.resources.users import DEFAULT_ITERATIONS, MAX_ITERATIONS, ScramMechanism
from kgitops.policy import (
    AlterUserScramCredentialsRequest,
    ClusterState,
    PolicyViolation,
    UserManagementPolicy,
)
from kgitops.policy.readers import names, patterns, principals, regex, whole
from kgitops.policy.settings import Configured, Setting, optional


def _mechanisms(text: str) -> tuple[str, ...]:
    listed = names(text)
    for name in listed:
        if name not in [*ScramMechanism]:
            raise ValueError(f"{name!r} is not a mechanism (write for example SCRAM-SHA-512)")
    return listed


class _UserPolicy(Configured, UserManagementPolicy):
    """A policy on what users log in with; a mechanism that is taken away is not judged."""

    users = Setting(patterns, "patterns of the users that it judges", "*")
    except_principals = optional(principals, "patterns of principals whom it never refuses")

    def check(self, request: AlterUserScramCredentialsRequest, *, new: bool) -> None:
        """Refuse what is set by raising PolicyViolation; the user is ``new`` to the cluster."""
        raise NotImplementedError

    def validate_alter_user_scram_credentials(
        self, request: AlterUserScramCredentialsRequest, cluster_state: ClusterState
    ) -> None:
        """Look at a mechanism that is set."""
        excepted = self.except_principals and str(request.principal) in self.except_principals
        if request.iterations is not None and request.user in self.users and not excepted:
            self.check(request, new=not cluster_state.user_credentials(request.user))


class ScramStrength(_UserPolicy):
    """Users log in by mechanisms that are strong enough, with passwords hashed often enough."""

    remediation = "Declare an allowed mechanism in spec.scram, with enough iterations."

    mechanisms = Setting(_mechanisms, "the mechanisms that may be set", "SCRAM-SHA-512")
    min_iterations = Setting(whole, "the fewest iterations", str(DEFAULT_ITERATIONS))

    def settle(self) -> None:
        """Brokers must be able to do what is asked for."""
        if self.min_iterations > MAX_ITERATIONS:
            raise ValueError(f"minIterations is more than the {MAX_ITERATIONS} that Kafka accepts")

    def check(self, request: AlterUserScramCredentialsRequest, *, new: bool) -> None:
        """Refuse a weak mechanism, or too few iterations."""
        if request.mechanism not in self.mechanisms:
            raise PolicyViolation(
                f"{request.user} would log in by {request.mechanism}; "
                f"{' or '.join(self.mechanisms)} is allowed",
                field="scram",
            )
        if request.iterations is not None and request.iterations < self.min_iterations:
            raise PolicyViolation(
                f"the password of {request.user} would be hashed {request.iterations} times; at "
                f"least {self.min_iterations} is needed",
                field="scram",
            )


class UserNaming(_UserPolicy):
    """New users are named by one pattern, and by no name that is reserved.

    Users that are there keep their names.
    """

    remediation = "Give the user another name."

    pattern = optional(regex, "the regular expression that matches the whole name")
    reserved = optional(patterns, "patterns of names that nobody gets, such as admin, kafka-*")

    def settle(self) -> None:
        """Some rule must be given."""
        if self.pattern is None and self.reserved is None:
            raise ValueError("pattern and reserved are missing (write one of them)")

    def check(self, request: AlterUserScramCredentialsRequest, *, new: bool) -> None:
        """Refuse a name that is reserved or doesn't match."""
        if not new:
            return
        if self.reserved is not None and request.user in self.reserved:
            raise PolicyViolation(f"{request.user} is reserved: no user may be named so")
        if self.pattern is not None and not self.pattern.fullmatch(request.user):
            raise PolicyViolation(
                f"{request.user} is no name for a user; it must match {self.pattern.pattern}"
            )


class RequiredUserLabels(_UserPolicy):
    """A user's document says who answers for it, by its labels.

    What is asked for without a document, by a command or another client, has no labels: except the
    principals who may.
    """

    remediation = "Write the label into metadata.labels of the user's document."

    labels = Setting(names, "the labels that there must be, such as owner, team")

    def check(self, request: AlterUserScramCredentialsRequest, *, new: bool) -> None:
        """Refuse a user that nobody answers for."""
        missing = [label for label in self.labels if not request.labels.get(label, "").strip()]
        if missing:
            raise PolicyViolation(
                f"{request.user} has no label {' and no label '.join(missing)}",
                field=f"metadata.labels.{missing[0]}",
            )
