"""The name of a policy in Python to which nobody gave one."""

import re

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z]|\b)|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def kebab_case(name: str) -> str:
    """``TeamPrefix`` as ``team-prefix``."""
    return "-".join(word.lower() for word in _WORDS.findall(name)) or name
