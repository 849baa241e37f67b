"""Label selectors in kubectl's syntax, and the objects that they select."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.state import DesiredState
from kgitops.model.errors import UsageError

_KEY = r"[^\s,()=!<>]+"
_VALUE = r"[^,()=!]*"
_IN = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()=!]+)\)")
_EQUALS = re.compile(rf"({_KEY})\s*(==?|!=)\s*({_VALUE})")
_HAS = re.compile(rf"(!?)\s*({_KEY})")
_COMPARES = re.compile(rf"({_KEY})\s*[<>].*")
_PARTS = re.compile(r",(?![^(]*\))")
_SHOWN = 5


class Requirement(Struct, frozen=True):
    """One condition: ``key`` has one of ``values``, or any if they are None.

    If not ``wanted``, it must not have them; an object without the key is fine then, as in kubectl.
    """

    key: str
    values: frozenset[str] | None
    wanted: bool = True

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return True if these labels meet the condition."""
        has = self.key in labels and (self.values is None or labels[self.key] in self.values)
        return has is self.wanted


Selector = tuple[Requirement, ...]


def parse_selector(texts: Sequence[str]) -> Selector:
    """Parse a selector such as ``team=payments,env!=prod``, whose conditions must all hold.

    Raises:
        UsageError: a condition can't be read.
    """
    return tuple(_requirement(part.strip(), text) for text in texts for part in _PARTS.split(text))


def _requirement(part: str, text: str) -> Requirement:
    if match := _IN.fullmatch(part):
        values = frozenset(value.strip() for value in match[3].split(","))
        return Requirement(match[1], values, match[2] == "in")
    if match := _EQUALS.fullmatch(part):
        return Requirement(match[1], frozenset({match[3].strip()}), match[2] != "!=")
    if match := _HAS.fullmatch(part):
        return Requirement(match[2], None, not match[1])
    if not part:
        raise UsageError(
            f"--selector {text!r} has an empty condition; write one before and after each comma, "
            "as in team=payments,env!=prod"
        )
    if match := _COMPARES.fullmatch(part):
        raise UsageError(
            f"--selector {text!r} compares {match[1]} with < or >, which kubectl does and kgitops "
            f"doesn't; list the values, as in '{match[1]} in (2, 3)'"
        )
    raise UsageError(
        f"--selector {text!r} can't be read at {part!r}; write team=payments, env!=prod, team, "
        "!team, or 'team in (a, b)', with commas between them"
    )


def narrow_to_labels(desired: DesiredState, selector: Selector) -> DesiredState:
    """Limit planning to the objects that the selector selects.

    Raises:
        UsageError: it selects none.
    """
    every = (*desired.objects, *desired.tombstones)
    chosen = {
        item.address
        for item in every
        if all(requirement.holds(item.labels) for requirement in selector)
    }
    if not chosen:
        counts = Counter(pair for item in every for pair in item.labels.items())
        common = ", ".join(f"{key}={value}" for (key, value), _ in counts.most_common(_SHOWN))
        raise UsageError(
            "nothing that is declared here has the labels that --selector asks for; "
            f"{f'there are {common}' if common else 'no document has labels'}"
        )
    return replace(desired, scope=replace(desired.scope, targets=frozenset(chosen)))
