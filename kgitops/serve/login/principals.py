"""The principal of a client that has shown a certificate (``ssl.principal.mapping.rules``)."""

import re
from collections.abc import Sequence

from kgitops.serve.listening.settings import PrincipalRule
from kgitops.serve.login.distinguished_names import subject_name

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
        if re.fullmatch(rule.pattern, name):
            made = re.sub(rule.pattern, _replacement(rule.replacement), name, count=1)
            return _CASES[rule.case](made) if rule.case else made
    raise UnmappedNameError(
        f"no rule of ssl.principal.mapping.rules fits the name {name} of its certificate"
    )


def _replacement(java: str) -> str:
    """Java's ``$1`` as Python writes it; any other sign stands for itself."""
    return re.sub(r"\$(\d)", r"\\g<\1>", java.replace("\\", "\\\\"))
