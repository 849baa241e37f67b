"""Plans in files: told apart from manifests, and read."""

from pathlib import Path

from kgitops.model.errors import UntrustedPlanError
from kgitops.plan.plan_file import SealedPlan, read_plan

_MARK = '"kgitops.plan"'
_SUFFIXES = (".json", ".plan")


def load_plan(path: Path) -> SealedPlan:
    """The plan saved at ``path``.

    Raises:
        UntrustedPlanError: there is no such plan, or it can't be trusted.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UntrustedPlanError(
            f"{path} can't be read as a plan: {reason}; name a file that kgitops plan -o wrote"
        ) from error
    return read_plan(text, str(path))


def is_plan(path: Path) -> bool:
    """Whether a path given to ``apply`` means a saved plan and not manifests.

    A ``.json`` file is one unless it reads like a manifest, so that a damaged plan is refused as
    a plan and never loaded as something else.
    """
    if path.suffix == ".plan":
        return True
    if not path.is_file() or path.suffix not in _SUFFIXES:
        return False
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return _MARK in text or '"apiVersion"' not in text
