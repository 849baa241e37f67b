"""The principal that a certificate's subject is, by the rules of a listener."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from kgitops.cluster.kafka.configs.subjects import subject_name
from kgitops.serve.listening.settings import PrincipalRule
from kgitops.serve.patterns import compile_pattern

ANONYMOUS = "User:ANONYMOUS"
_CASES = {"L": str.lower, "U": str.upper}


class UnmappedNameError(Exception):
    """No rule makes a principal of a certificate's name."""


def certificate_principal(certificate: bytes | None, rules: Sequence[PrincipalRule]) -> str:
    """The principal of the client that has this certificate (in DER), or none.

    Raises:
        UnmappedNameError: no rule is for it, or it has no name.
    """
    if certificate is None:
        return ANONYMOUS
    try:
        name = subject_name(certificate)
    except ValueError as error:
        raise UnmappedNameError("its certificate has no subject that can be read") from error
    return f"User:{mapped_name(name, rules)}"


def mapped_name(name: str, rules: Sequence[PrincipalRule]) -> str:
    """The name that the first rule which fits makes of a distinguished name.

    Raises:
        UnmappedNameError: none fits.
    """
    for rule in rules:
        if rule.pattern is None:
            return name
        pattern = compile_pattern(rule.pattern)
        if pattern.fullmatch(name):
            made = pattern.sub(partial(_replaced, rule.replacement), name, count=1)
            return _CASES[rule.case](made) if rule.case else made
    raise UnmappedNameError(
        f"no rule of ssl.principal.mapping.rules fits the name {name} of its certificate"
    )


def _replaced(java: str, found: Any) -> str:  # noqa: ANN401 (a match of RE2, without types)
    """Java's replacement with the groups of a match in the places of ``$1``."""
    return re.sub(r"\$(\d)", lambda group: found.group(int(group[1])) or "", java)
