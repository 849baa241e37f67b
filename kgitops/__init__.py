"""Declare what an Apache Kafka cluster should hold, review the plan, apply exactly that plan.

As a library (``docs/reference/library.md``) kgitops is the names of ``__all__``, and
``kgitops.policy``, ``kgitops.policy.testing``, ``kgitops.policies`` and ``kgitops.testing``; the
rest may change. Importing ``kgitops`` imports nothing else: a name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgitops.apply.result import ApplyResult
    from kgitops.library import OpenProject, Plan, read_plan
    from kgitops.library import open_project as open  # noqa: A004 (as in gzip.open)
    from kgitops.model.errors import FindingsError, KgitopsError
    from kgitops.model.verdict import ExitCode, Reason, Verdict
    from kgitops.plan.document.plan import Change

__version__ = "0.1.0"
__all__ = [
    "ApplyResult",
    "Change",
    "ExitCode",
    "FindingsError",
    "KgitopsError",
    "OpenProject",
    "Plan",
    "Reason",
    "Verdict",
    "open",
    "read_plan",
]

_PLACES = {
    "ApplyResult": "kgitops.apply.result:ApplyResult",
    "Change": "kgitops.plan.document.plan:Change",
    "ExitCode": "kgitops.model.verdict:ExitCode",
    "FindingsError": "kgitops.model.errors:FindingsError",
    "KgitopsError": "kgitops.model.errors:KgitopsError",
    "OpenProject": "kgitops.library:OpenProject",
    "Plan": "kgitops.library:Plan",
    "Reason": "kgitops.model.verdict:Reason",
    "Verdict": "kgitops.model.verdict:Verdict",
    "open": "kgitops.library:open_project",
    "read_plan": "kgitops.library:read_plan",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first used (PEP 562)."""
    if name not in _PLACES:
        raise AttributeError(f"module 'kgitops' has no attribute {name!r}")
    module, _, attribute = _PLACES[name].partition(":")
    value: object = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
