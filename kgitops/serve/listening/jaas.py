"""Reads Kafka's JAAS configs: a login module, a control flag, and options in quotes."""

import re

from msgspec import Struct

_ITEM = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s=;"']+)|([=;]))""")
_FLAGS = ("required", "requisite", "sufficient", "optional")
_USER = "user_"


class LoginModule(Struct, frozen=True):
    """One login module with its options."""

    name: str
    options: dict[str, str]

    @property
    def users(self) -> dict[str, str]:
        """The passwords of the users that PLAIN knows, by name."""
        return {
            key.removeprefix(_USER): value
            for key, value in self.options.items()
            if key.startswith(_USER)
        }

    def __repr__(self) -> str:
        """Without passwords."""
        return f"LoginModule({self.name})"


def parse_jaas(text: str) -> LoginModule:
    """The login module of ``MODULE required OPTION="VALUE" …;``.

    Raises:
        ValueError: the text is something else; the message has no value of it.
    """
    items = _items(text)
    if not items or items[-1] != (";", True):
        raise ValueError("it does not end with a semicolon")
    if (";", True) in items[:-1]:
        raise ValueError("it names more than one login module")
    names = [item for item, _ in items[:2]]
    if len(names) < 2 or names[1].lower() not in _FLAGS:
        raise ValueError("it does not begin with a login module and the word required")
    options: dict[str, str] = {}
    rest = items[2:-1]
    while rest:
        if len(rest) < 3 or rest[1] != ("=", True):
            raise ValueError('its options are not all of the form NAME="VALUE"')
        (key, _), _, (value, sign) = rest[:3]
        if sign or key in options:
            raise ValueError('its options are not all of the form NAME="VALUE", each once')
        options[key] = value
        rest = rest[3:]
    return LoginModule(names[0], options)


def _items(text: str) -> list[tuple[str, bool]]:
    """Words and quoted texts; True with the signs between them."""
    items: list[tuple[str, bool]] = []
    at = 0
    while text[at:].strip():
        found = _ITEM.match(text, at)
        if found is None:
            raise ValueError("a quote in it is not closed")
        double, single, word, sign = found.groups()
        quoted = double if double is not None else single
        if quoted is not None:
            items.append((re.sub(r"\\(.)", r"\1", quoted), False))
        else:
            items.append((word or sign, sign is not None))
        at = found.end()
    return items
