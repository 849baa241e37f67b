"""Plans in files: told apart from manifests, and read."""

import re
from pathlib import Path

from kgitops.model.errors import UntrustedPlanError, UsageError
from kgitops.plan.document.file import SealedPlan, read_plan

_MARK = '"kgitops.plan"'
_YAML = (".yaml", ".yml")
_DIGEST = re.compile("sha256:[0-9a-f]{64}")
_NEXT = "name a file that kgitops plan -o wrote"


def load_plan(path: Path) -> SealedPlan:
    """The plan saved at ``path``.

    Raises:
        UsageError: there is no such file.
        UntrustedPlanError: it is no plan, or one that can't be trusted.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} can't be read: {(error.strerror or str(error)).lower()}; {_NEXT}"
        ) from error
    except UnicodeDecodeError as error:
        raise UntrustedPlanError(f"{path} is no plan: it is not UTF-8; {_NEXT}") from error
    return read_plan(text, str(path))


def check_digest(sealed: SealedPlan, expected: str | None) -> None:
    """The plan is the one that was reviewed, where the caller says which that was.

    Raises:
        UsageError: what is expected is no digest.
        UntrustedPlanError: it is another plan.
    """
    if expected is None or expected == sealed.plan_digest:
        return
    if not _DIGEST.fullmatch(expected):
        raise UsageError(
            f"--expect-digest {expected!r} is no digest; write the whole of the line that begins "
            "with sha256: below a plan"
        )
    raise UntrustedPlanError(
        f"the plan's digest is {sealed.plan_digest}, expected was {expected}; review this plan, "
        "or apply the one that was reviewed"
    )


def is_plan(path: Path) -> bool:
    """Whether a path given to ``apply`` means a saved plan and not manifests.

    A file that is not YAML by its name is one unless it reads like a manifest, so that a damaged
    plan is refused as a plan and never loaded as something else.
    """
    if not path.is_file():
        return False
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return path.suffix not in _YAML
    if text.startswith("{") and _MARK in text:
        return True
    return path.suffix not in _YAML and "apiVersion" not in text
