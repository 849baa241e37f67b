"""kgitops as a library: open a project, plan it, look at the plan, apply it.

``import kgitops`` gives these names without importing anything heavy (contract §13)::

    with kgitops.open("payments", cluster="local") as project:
        plan = project.plan()
        if not plan.verdict.stops:
            result = project.apply(plan, on_event=print)

Everything is as with the commands: the same files, variables, policies, lock and journal.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.events import Event
from kgitops.apply.result import ApplyResult
from kgitops.apply.secrets import PasswordSettings
from kgitops.cluster.port import Cluster
from kgitops.model.errors import UsageError
from kgitops.model.resources.names import is_principal
from kgitops.model.verdict import Verdict
from kgitops.plan.document.file import SealedPlan, to_text
from kgitops.plan.document.plan import Change, Drift
from kgitops.report.plan_formats import render_plan
from kgitops.workflow.drift import plan_drift
from kgitops.workflow.execution import execute_plan, execute_resume
from kgitops.workflow.loading import Loaded, loaded
from kgitops.workflow.pipeline import plan_against
from kgitops.workflow.project.saved_plan import load_plan
from kgitops.workflow.project.selection import Selection, Workspace, folder_names, open_workspace

PlanFormat = Literal["text", "json", "markdown", "html", "sarif", "junit", "github"]
OnEvent = Callable[[Event], None]


class Plan(Struct, frozen=True):
    """A sealed plan: what an apply would do, exactly."""

    sealed: SealedPlan

    @property
    def changes(self) -> tuple[Change, ...]:
        """Each change with its reason, risks, preconditions and requests."""
        return self.sealed.plan.changes

    @property
    def drift(self) -> tuple[Drift, ...]:
        """Differences that others made since the last apply."""
        return self.sealed.plan.drift

    @property
    def verdict(self) -> Verdict:
        """The exit code and its reasons; ``.stops`` is True for a plan that can't be applied."""
        return self.sealed.plan.verdict

    @property
    def digest(self) -> str:
        """``sha256:…``, the digest to review and to compare with."""
        return self.sealed.plan_digest

    def to_json(self) -> str:
        """The text of the plan's file, as ``kgitops plan -o`` writes it (contract §6)."""
        return to_text(self.sealed)

    def render(self, format: PlanFormat = "text", *, full: bool = False) -> str:  # noqa: A002
        """The plan in one of the forms of ``kgitops plan --format``, without colour.

        Args:
            format: the form.
            full: every change with all its fields and requests, in the form ``text``.

        Raises:
            ValueError: there is no such form.
        """
        return render_plan(self.sealed, format, full=full)


class OpenProject:
    """A project with its manifests loaded and its cluster connected (:func:`open_project`)."""

    def __init__(self, workspace: Workspace, declared: Loaded, cluster: Cluster) -> None:
        self._workspace = workspace
        self._declared = declared
        self._cluster = cluster

    def plan(self) -> Plan:
        """Compare the manifests with the cluster as it is now; nothing is changed.

        Raises:
            UnreachableError: the cluster can't be read.
            SafetyError: its registry can't be trusted.
        """
        return Plan(plan_against(self._cluster, self._declared, self._workspace))

    def drift(self) -> tuple[Drift, ...]:
        """Differences between the cluster and what this project last applied, by address and path.

        Raises:
            UnreachableError: the cluster can't be read.
            SafetyError: its registry can't be trusted.
        """
        return plan_drift(self._cluster, self._workspace).plan.drift

    def apply(
        self,
        plan: Plan,
        *,
        on_event: OnEvent | None = None,
        parallelism: int = 10,
        allow_plaintext_secrets: bool = False,
        allow_secret_commands: bool = False,
    ) -> ApplyResult:
        """Execute exactly this plan, or nothing.

        Args:
            plan: a plan of this project for this cluster, made here or read by ``read_plan``.
            on_event: is called with each event while the plan is executed.
            parallelism: the requests that may be under way at once.
            allow_plaintext_secrets: set passwords of users over a connection without TLS.
            allow_secret_commands: start the programs and write the files that the plan names for
                passwords.

        Raises:
            KgitopsError: the plan is refused, and no change request was sent.
            LockedError: another run holds the lock, or took it over meanwhile.
        """
        passwords = PasswordSettings(
            base=self._workspace.base,
            allow_plaintext=allow_plaintext_secrets,
            may_act=allow_secret_commands,
        )
        context = self._context(on_event, parallelism, passwords)
        return execute_plan(plan.sealed, self._workspace, self._declared.policies, context)

    def resume(
        self,
        *,
        on_event: OnEvent | None = None,
        parallelism: int = 10,
        allow_plaintext_secrets: bool = False,
        allow_secret_commands: bool = False,
    ) -> ApplyResult | None:
        """Finish this project's unfinished run; None if there is none. Arguments as of ``apply``.

        Raises:
            KgitopsError: it can't be resumed, and no change request was sent.
        """
        passwords = PasswordSettings(
            base=self._workspace.base,
            allow_plaintext=allow_plaintext_secrets,
            may_act=allow_secret_commands,
        )
        context = self._context(on_event, parallelism, passwords)
        return execute_resume(self._workspace, self._declared.policies, context)

    def _context(
        self, on_event: OnEvent | None, parallelism: int, passwords: PasswordSettings
    ) -> ApplyContext:
        return ApplyContext(
            cluster=self._cluster,
            cluster_name=self._workspace.target_name,
            settings=ApplySettings(parallelism=parallelism),
            on_event=on_event or (lambda _: None),
            interrupted=lambda: None,
            passwords=passwords,
        )


@contextmanager
def open_project(
    *paths: str | Path,
    cluster: str | None = None,
    principal: str | None = None,
    targets: Iterable[str] = (),
    excludes: Iterable[str] = (),
    allow_empty_folders: Iterable[str | Path] = (),
    environ: Mapping[str, str] | None = None,
) -> Iterator[OpenProject]:
    """Open a project on one of its clusters, within a ``with`` block.

    The manifests are read once, now; open the project again to read them again.

    Args:
        paths: the project's folder, or some of its files; without any the folder worked in.
        cluster: a cluster of the project file, or a URL; else the project's default.
        principal: the principal that policies are asked about; else the project's.
        targets: addresses to plan alone.
        excludes: addresses to leave out.
        allow_empty_folders: folders of manifests that may be empty while objects are removed.
        environ: the environment for ``${env:NAME}`` and ``KGITOPS_…``; else the process's.

    Raises:
        FindingsError: the project or its manifests have errors: ``.findings`` has them all.
        UsageError: the paths or the cluster don't exist.
        UnreachableError: the cluster can't be reached.
    """
    if principal is not None and not is_principal(principal):
        raise UsageError(f"{principal!r} is not a principal; write Type:name, as in User:alice")
    workspace = open_workspace(
        Selection(
            paths=tuple(map(Path, paths)),
            cluster=cluster,
            principal=principal,
            targets=frozenset(targets),
            excludes=frozenset(excludes),
            allow_empty_folders=folder_names(allow_empty_folders),
            environ=dict(os.environ if environ is None else environ),
        )
    )
    with (
        loaded(workspace) as declared,
        workspace.connected(declared.policies.bundle) as connection,
    ):
        yield OpenProject(workspace, declared, connection)


def read_plan(file: str | Path) -> Plan:
    """The plan that ``kgitops plan -o`` or :meth:`Plan.to_json` left in a file.

    Raises:
        UsageError: there is no such file.
        UntrustedPlanError: it is not a plan, or it was changed since it was sealed.
    """
    return Plan(load_plan(Path(file)))
