"""What a request leaves of configs."""

from collections.abc import Mapping


def overlaid(before: Mapping[str, str], requested: Mapping[str, str | None]) -> dict[str, str]:
    """Configs overlaid by what is requested; None removes a key."""
    merged = {**before, **requested}
    return {key: value for key, value in merged.items() if value is not None}
