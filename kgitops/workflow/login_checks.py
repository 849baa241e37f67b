"""Passwords, of which Kafka shows nothing: tried by a login, or told where they are in doubt."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from kgitops.apply.observe.objects import with_objects
from kgitops.apply.run.resume import unconfirmed_requests
from kgitops.apply.secrets.core_dumps import forbid_core_dumps
from kgitops.apply.secrets.passwords import sets_password
from kgitops.apply.secrets.reading import read_secret, source_problem
from kgitops.cluster.port import ChecksLogins, Cluster
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.json.declared import DesiredUser, credentials_of
from kgitops.model.resources.users import FoundUser, PasswordSource, ScramMechanism
from kgitops.model.source import Finding, Severity
from kgitops.plan.document.plan import Drift, Plan, PlannedRequest

LOGIN_RULE = "login"
"""The rule of drift that only a login shows."""


def with_login_drift(cluster: Cluster, plan: Plan, desired: DesiredState, base: Path) -> Plan:
    """Add the declared passwords that no longer log in, and warn of those that can't be tried.

    Raises:
        UnreachableError: the cluster can't be reached.
        KgitopsError: a password is missing.
    """
    users = [user.address for user in desired.of(DesiredUser)]
    current = with_objects(cluster, cluster.read_state(frozenset()), users)
    due = [(user, key) for user in desired.of(DesiredUser) for key in user.credentials]
    reasons = [_untried(cluster, current, *item) for item in due]
    tried = [item for item, reason in zip(due, reasons, strict=True) if reason is None]
    if tried:
        forbid_core_dumps()
    missing = list(_missing(tried, base))
    if missing:
        raise KgitopsError(f"{'; '.join(missing)}; set them and verify again")
    rows = [
        Drift(
            address=user.address,
            path=f"scram.{mechanism}.password",
            last_applied="as declared",
            found="another one",
            rule=LOGIN_RULE,
        )
        for user, mechanism in tried
        if not _holds(cluster, user, mechanism, base)
    ]
    warnings = [
        Finding(
            source=user.located.at("spec", "scram"),
            problem=f"{user.address}: the password of {mechanism} was not verified: {reason}",
            advice="see docs/guides/users.md",
            severity=Severity.WARNING,
        )
        for (user, mechanism), reason in zip(due, reasons, strict=True)
        if reason is not None
    ]
    drift = sorted((*plan.drift, *rows), key=lambda row: (row.address, row.path))
    return replace(plan, drift=tuple(drift), warnings=(*plan.warnings, *warnings))


def with_doubtful_passwords(cluster: Cluster, plan: Plan, desired: DesiredState) -> Plan:
    """Warn of passwords that an unfinished run may have set, and that this plan leaves as they are.

    Raises:
        UnreachableError: the journal can't be read.
        SafetyError: it is damaged.
    """
    if not desired.of(DesiredUser):
        return plan
    begun = unconfirmed_requests(cluster.registry.read() or (), desired.project)
    maybe_applied = _passwords_set_by(begun) - _passwords_set_by(plan.requests)
    warnings = [
        Finding(
            source=user.located.at("spec", "scram"),
            problem=f"{user.address}: an apply that did not finish may have set the password of "
            f"{mechanism}, and this plan leaves it as it is",
            advice="run kgitops apply --resume first, which sets it",
            severity=Severity.WARNING,
        )
        for user in desired.of(DesiredUser)
        for mechanism in user.credentials
        if (user.name, mechanism) in maybe_applied
    ]
    return replace(plan, warnings=(*plan.warnings, *warnings)) if warnings else plan


def _passwords_set_by(requests: Iterable[PlannedRequest]) -> frozenset[tuple[str, ScramMechanism]]:
    due = (planned.request for planned in requests)
    return frozenset((request.user, request.mechanism) for request in due if sets_password(request))


def _untried(
    cluster: Cluster, current: ClusterState, user: DesiredUser, mechanism: ScramMechanism
) -> str | None:
    """Explain why no login is tried; None if one is."""
    if not isinstance(cluster, ChecksLogins) or not cluster.offers_login(mechanism):
        return f"the listener that kgitops connects to offers no {mechanism}"
    owner = current.registry.owners.get(user.address) if current.registry else None
    applied = {} if owner is None or owner.spent else credentials_of(owner.last_applied["scram"])
    was = applied.get(mechanism)
    if was is None or was.version != user.credentials[mechanism].version:
        return "what is declared was not applied yet"
    found = current.find(FoundUser, user.address)
    if found is None or mechanism not in found.held:
        return "the user has no such mechanism any more"
    return None if _readable(user.credentials[mechanism].password) else "its password has no source"


def _readable(source: PasswordSource) -> PasswordSource | None:
    """Return where the password can be read; a generated one is in its file."""
    if source.generate is not None:
        file = source.generate.file
        return None if file is None else PasswordSource(file=file)
    return source if source.known else None


def _missing(tried: list[tuple[DesiredUser, ScramMechanism]], base: Path) -> Iterator[str]:
    for user, mechanism in tried:
        source = _readable(user.credentials[mechanism].password)
        problem = source and source_problem(source, base)
        if problem:
            yield f"{user.address} has no password for {mechanism}: {problem}"


def _holds(cluster: Cluster, user: DesiredUser, mechanism: ScramMechanism, base: Path) -> bool:
    source = _readable(user.credentials[mechanism].password)
    if source is None or not isinstance(cluster, ChecksLogins):
        raise AssertionError("it was found out before that a login can be tried")
    return cluster.logs_in(user.name, mechanism, read_secret(source, base))
