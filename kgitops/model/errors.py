"""The errors of kgitops: each has an exit code and one sentence that names the next step."""

from collections.abc import Iterable
from typing import ClassVar

from kgitops.model.source import Finding
from kgitops.model.verdict import ExitCode, Reason


class KgitopsError(Exception):
    """Anything that stops a run and that the user can do something about."""

    exit: ClassVar[ExitCode] = ExitCode.ERROR

    def __init__(self, *args: object, reasons: Iterable[Reason] = ()) -> None:
        super().__init__(*args)
        self._reasons = tuple(reasons)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons of the verdict: the error itself, unless others were given."""
        return self._reasons or (Reason(exit=self.exit, sentence=str(self)),)


class FindingsError(KgitopsError):
    """The manifests can't be used; carries every finding, not just the first."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(sorted(findings, key=lambda finding: finding.sort_key))
        super().__init__("\n".join(str(finding) for finding in self.findings))


class StaleError(KgitopsError):
    """The state that a plan was made from has changed (contract §4, exit 4)."""

    exit = ExitCode.STALE


class SafetyError(KgitopsError):
    """A safety rule refuses: protected, foreign, too many deletions, unreadable registry."""

    exit = ExitCode.REFUSED


class OtherClusterError(SafetyError):
    """The cluster has another id than the one that ``clusterId`` of the project pins.

    ``cluster_id`` is the id that it has, empty where it reports none.
    """

    def __init__(self, *args: object, cluster_id: str = "") -> None:
        super().__init__(*args)
        self.cluster_id = cluster_id


class DeniedError(KgitopsError):
    """A policy denies, or the policies that judged a plan are no longer loaded."""

    exit = ExitCode.DENIED


class LockedError(KgitopsError):
    """Someone else holds the cluster's lock; the sentence says who and since when."""

    exit = ExitCode.LOCKED


class UnreachableError(KgitopsError):
    """The cluster or its store can't be opened, or refuses the credentials."""

    exit = ExitCode.UNREACHABLE


class UntrustedPlanError(KgitopsError):
    """A plan file that was changed, expired, used, or made for another cluster."""

    exit = ExitCode.UNTRUSTED


class UsageError(KgitopsError):
    """A command line with invalid or contradictory arguments."""

    exit = ExitCode.USAGE
