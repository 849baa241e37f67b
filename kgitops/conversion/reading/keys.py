"""Tables of the keys that a tool's files may have, and mappings that are read by such a table.

Each mapping of a source is read by a table (``Keys``), which gives each key one of four fates:

- ``declared()``: a document of kgitops declares it; the reader takes it.
- ``setting(place)``: it becomes part of the project, at ``place``; the reader takes it.
- ``harmless(reason)``: it changes nothing on a cluster; no reader sees it.
- ``lost(problem, advice)``: it has no counterpart; it is reported where it is set.

A key that is in no table is reported. A key that the table says is taken, and that the reader
did not take, is reported when the object is built. Reading a key that the table does not have, or
has as harmless or lost, is a ``LookupError``, whatever the file holds. So no reader drops a key.

    TOPIC = {
        "metadata": declared({"name": declared(), "labels": declared()}),
        "spec": declared({
            **same(declared(), "partitions", "replicas"),
            "configs": declared(),                       # any keys: ``entries`` or ``texts``
            "acls": declared({"host": declared()}),      # a list of mappings: ``mappings``
            "users": declared({"*": declared()}),        # a mapping by names: ``take_all``
            "wait": harmless("how long the tool waits"),
            "rebalance": lost("kgitops does not rebalance", unless=("false",)),
        }),
        "x-*": harmless("the tool's own notes"),         # every key that begins so
    }

    fields = builder.read(TOPIC)                         # unknown and lost keys are losses now
    spec = fields.fields("spec")                         # by the table inside ``spec``
    partitions = spec.integer("partitions")
    for entry in spec.mappings("acls", "an ACL"):
        host = entry.text("host")
    return builder.build()                               # what was not taken is a loss

``value.at("metadata", "name")`` looks at a value that another object reads, and takes nothing.
A tool's module has its tables in ``TABLES``, by its kinds; ``tests/conversion/schemas`` has the
keys that the tool documents, and a test finds each of them in a table.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field

from kgitops.conversion.objects import Loss
from kgitops.conversion.reading.values import Value


class Fate(StrEnum):
    """The four ways in which a key ends."""

    DECLARED = "declared"
    SETTING = "setting"
    HARMLESS = "harmless"
    LOST = "lost"


class Key(Struct, frozen=True):
    """A key's fate.

    Attributes:
        fate: what becomes of it.
        why: the place of a setting, the reason why it is harmless, or the problem of a loss.
        advice: what to do about a loss.
        keys: the table of the mapping, or of the mappings in the list, under it; None for a value
            that is read as a whole.
        unless: the texts with which a lost key says nothing, such as the tool's own default.
    """

    fate: Fate
    why: str = ""
    advice: str = ""
    keys: "Keys | None" = None
    unless: tuple[str, ...] = ()


Keys = Mapping[str, Key]
"""A table: keys, of which those that end with ``*`` stand for all that begin so."""


def declared(keys: Keys | None = None) -> Key:
    """A key that a document declares."""
    return Key(Fate.DECLARED, keys=keys)


def setting(place: str, keys: Keys | None = None) -> Key:
    """A key that becomes part of the project: ``setting("spec.clusters")``."""
    return Key(Fate.SETTING, place, keys=keys)


def harmless(reason: str) -> Key:
    """A key that changes nothing on a cluster."""
    return Key(Fate.HARMLESS, reason)


def lost(problem: str, advice: str = "it is left out", *, unless: tuple[str, ...] = ()) -> Key:
    """A key without a counterpart, reported as ``OBJECT: KEY: problem; advice``."""
    return Key(Fate.LOST, problem, advice, unless=unless)


def same(key: Key, *names: str) -> Keys:
    """A table whose keys have one fate."""
    return dict.fromkeys(names, key)


def find_key(keys: Keys, name: str) -> Key | None:
    """The entry for ``name``: its own, or that of the longest beginning; None if it is unknown."""
    if name in keys:
        return keys[name]
    starts = [key for key in keys if key.endswith("*") and name.startswith(key[:-1])]
    return keys[max(starts, key=len)] if starts else None


def key_at(keys: Keys, path: tuple[str, ...]) -> Key | None:
    """The entry of the key at ``path``, or of the one that it is read with as a whole."""
    found: Key | None = None
    inner: Keys | None = keys
    for name in path:
        if inner is None:
            return found
        found = find_key(inner, name)
        if found is None:
            return None
        inner = found.keys
    return found


class Reading(Struct):
    """An object being read: its losses so far, and the mappings that were read of it."""

    losses: list[Loss] = field(default_factory=list)
    mappings: list["KeyedFields"] = field(default_factory=list)

    def lose(self, at: Value, problem: str, advice: str) -> None:
        """Add a loss at the place of a value."""
        self.losses.append(Loss(source=at.source, problem=problem, advice=advice))

    def lose_rest(self) -> None:
        """Make a loss of each key that no reader took, so that none is dropped."""
        for mapping in self.mappings:
            for name, value in mapping.rest():
                self.lose(value, f"{name} of {mapping.of} has no counterpart", "it is left out")
        self.mappings.clear()


class KeyedFields:
    """A mapping that is read key by key, by a table; ``of`` names it in findings."""

    def __init__(self, value: Value | None, keys: Keys, of: str, reading: Reading) -> None:
        self.value = value
        self.of = of
        self._keys = keys
        self._reading = reading
        self._left: dict[str, Value] = {}
        reading.mappings.append(self)
        if value is None or value.is_null():
            return
        if not value.is_mapping():
            problem = f"{of}: {value.shown} stands where a mapping belongs"
            reading.lose(value, problem, "correct it there")
        self._lose_merges(value)
        for name, item in value.entries():
            self._sort(name, item)

    def _lose_merges(self, value: Value) -> None:
        for merge in value.merges():
            problem = f"{self.of}: the tool's reader of YAML merges no mappings (<<)"
            self._reading.lose(merge, problem, "kgitops merged them; write the keys out there")

    def _sort(self, name: str, value: Value) -> None:
        key = find_key(self._keys, name)
        if key is None:
            problem = f"{name} of {self.of} has no counterpart"
            self._reading.lose(value, problem, "it is left out")
        elif key.fate is Fate.LOST:
            if not value.is_empty() and value.typed_text() not in key.unless:
                problem = f"{self.of}: {name}: {key.why}"
                self._reading.lose(value, problem, key.advice)
        elif key.fate is not Fate.HARMLESS:
            self._left[name] = value

    def __contains__(self, name: str) -> bool:
        self._require(name)
        return name in self._left

    def rest(self) -> Iterator[tuple[str, Value]]:
        """The keys that were not taken."""
        yield from self._left.items()

    def take(self, *names: str) -> Value | None:
        """The value under the first of ``names`` that is there; None if none is, or it is null.

        A second one that says something else is a loss.
        """
        for name in names:
            self._require(name)
        found = [self._left.pop(name) for name in names if name in self._left]
        values = [value for value in found if not value.is_null()]
        for other in values[1:]:
            if other.content != values[0].content:
                problem = f"{self.of}: {' and '.join(names)} say two things"
                advice = f"the value of line {values[0].source.line} is kept"
                self._reading.lose(other, problem, advice)
        return values[0] if values else None

    def fields(self, name: str, word: str = "") -> "KeyedFields":
        """The mapping under ``name``, by its own table; an empty one if there is none."""
        of = self.of if name == "spec" else f"{word or name} of {self.of}"
        return KeyedFields(self.take(name), self._inner(name), of, self._reading)

    def mappings(self, name: str, word: str = "") -> list["KeyedFields"]:
        """The mappings of the list under ``name``, each by the table of that key."""
        keys, of = self._inner(name), f"{word or name} of {self.of}"
        return [KeyedFields(item, keys, of, self._reading) for item in self.items(name)]

    def take_all(self) -> list[tuple[str, Value]]:
        """The keys and values that are left."""
        entries = list(self._left.items())
        self._left.clear()
        return entries

    def lose(self, at: Value, problem: str, advice: str) -> None:
        """Add a loss of this mapping at the place of a value."""
        self._reading.lose(at, f"{self.of}: {problem}", advice)

    def entries(self, name: str) -> list[tuple[str, Value]]:
        """The keys and values of the mapping under ``name``, whatever they are called."""
        value = self.take(name)
        if value is not None and not value.is_mapping():
            problem = f"{self.of}: {name} is {value.shown}, not a mapping"
            self._reading.lose(value, problem, "correct it there")
        if value is None:
            return []
        self._lose_merges(value)
        entries = list(value.entries())
        for key, item in entries:
            if item.has_ambiguous_key():
                problem = f"{self.of}: the key {key} of {name} is no text in YAML 1.1"
                self._reading.lose(item, problem, "put it in quotes there")
        return entries

    def texts(self, name: str) -> dict[str, str]:
        """The mapping under ``name`` as texts, such as labels; anything but a scalar is a loss."""
        texts = {}
        for key, value in self.entries(name):
            text = "" if value.is_null() else value.text()
            if text is None:
                problem = f"{self.of}: {key} of {name} is {value.shown}, not a text"
                self._reading.lose(value, problem, "it is left out")
            else:
                texts[key] = text
        return texts

    def items(self, name: str) -> list[Value]:
        """The list under ``name``; a single value counts as a list of one."""
        value = self.take(name)
        if value is None:
            return []
        return value.items() if value.is_list() else [value]

    def text(self, *names: str) -> str | None:
        """The text under one of ``names``; anything but a scalar is a loss."""
        value = self.take(*names)
        if value is None:
            return None
        text = value.text()
        if text is None and not value.is_empty():
            self._lose_type(value, names[0], "a text")
        return text

    def text_or(self, name: str, default: str) -> str | None:
        """The text under ``name``, ``default`` if there is none.

        None, and a loss, if it is no text: the default may be more than what is written.
        """
        self._require(name)
        value = self._left.get(name)
        absent = value is None or value.is_empty()
        text = self.text(name)
        return default if absent else text

    def integer(self, *names: str) -> int | None:
        """The whole number under one of ``names``; anything else is a loss."""
        value = self.take(*names)
        number = value.integer() if value is not None else None
        if value is not None and number is None:
            self._lose_type(value, names[0], "a number")
        return number

    def flag(self, *names: str) -> bool | None:
        """The boolean under one of ``names``; anything else is a loss."""
        value = self.take(*names)
        flag = value.flag() if value is not None else None
        if value is not None and flag is None:
            self._lose_type(value, names[0], "true or false")
        return flag

    def _lose_type(self, value: Value, name: str, wanted: str) -> None:
        problem = f"{self.of}: {name} is {value.shown}, not {wanted}"
        self._reading.lose(value, problem, "correct it there")

    def _require(self, name: str) -> Key:
        key = find_key(self._keys, name)
        if key is None or key.fate not in (Fate.DECLARED, Fate.SETTING):
            raise LookupError(f"the table of {self.of} does not say that {name} is taken")
        return key

    def _inner(self, name: str) -> Keys:
        keys = self._require(name).keys
        if keys is None:
            raise LookupError(f"the table of {self.of} has none for what is in {name}")
        return keys
