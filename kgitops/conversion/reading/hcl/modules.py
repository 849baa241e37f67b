"""A Terraform module: the blocks of a folder's files, and the values that they refer to."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kgitops.conversion.reading.budget import Budget
from kgitops.conversion.reading.comments import is_secret_name
from kgitops.conversion.reading.hcl.expressions import evaluate
from kgitops.conversion.reading.hcl.operators import number_of
from kgitops.conversion.reading.hcl.parsing import (
    HclBlock,
    HclFile,
    Syntax,
    parsed_expression,
    written,
)
from kgitops.conversion.reading.hcl.scopes import (
    Attributes,
    Data,
    Files,
    Local,
    NotKnownError,
    Scope,
    Step,
    Unknown,
    follow,
)
from kgitops.conversion.reading.hcl.types import typed
from kgitops.conversion.reading.values import SourceFile

_DEEPEST = 8
_STEPS_OF_AN_INSTANCE = 100
"""An instance takes more memory than other values."""
_STEPS_OF_A_BLOCK = 100
"""Each call of a module reads all its blocks, and keeps what it finds."""

_META = frozenset({"count", "for_each", "provider", "depends_on"})
"""Arguments that Terraform reads itself, which are no attributes."""
_BLOCKS_A_STEP = 50
"""The number of blocks that are looked at in the time of a step."""


class Instance(Struct, frozen=True):
    """One instance of a block, by ``key`` if it has ``for_each`` or ``count``; ``scope`` is its."""

    file: SourceFile
    block: HclBlock
    scope: Scope
    key: Step | None = None


class VariableText(Struct, frozen=True):
    """The value of a variable as text, as the environment has it: its type says how it is read."""

    text: str


class Root(Struct, frozen=True):
    """The root module's folder, and the files that expressions read."""

    path: str = ""
    files: Files | None = None


class Module:
    """The blocks of one folder with its variables' values."""

    def __init__(
        self,
        path: str,
        folders: Mapping[str, list[HclFile]],
        inputs: Mapping[str, Data],
        budget: Budget | None = None,
        depth: int = 0,
        root: Root | None = None,
    ) -> None:
        self.path = path
        self._root = Root(path) if root is None else root
        self._folders = folders
        self._inputs = inputs
        self._budget = budget or Budget()
        self._depth = depth
        self._blocks: list[tuple[SourceFile, HclBlock]] = []
        self._overrides: list[tuple[SourceFile, HclBlock]] = []
        for file in folders.get(path, ()):
            blocks = self._overrides if is_override(file) else self._blocks
            blocks += [(file.file, block) for block in file.root.blocks]
        self._open: set[tuple[str, ...]] = set()
        self._values: dict[tuple[str, ...], Data] = {}
        self._instances: dict[int, list[Instance] | Unknown] = {}
        self._called: dict[tuple[int, Step | None], Module | None] = {}

    def blocks(self) -> Iterator[tuple[SourceFile, HclBlock]]:
        """All blocks of its files."""
        return iter(self._blocks)

    def variables(self) -> Iterator[str]:
        """The names of its variables."""
        return (block.labels[0] for _, block in self._blocks if block.type == "variable")

    def overrides(self) -> Iterator[tuple[SourceFile, HclBlock]]:
        """The blocks of its override files, whose values win over those of other files."""
        return iter(self._overrides)

    def is_overridden(self, block: HclBlock) -> bool:
        """Return whether an override file changes a block of another file."""
        own = (block.type, block.labels)
        return any((other.type, other.labels) == own for _, other in self._overrides)

    def spend(self, steps: int) -> None:
        """Take steps of what all modules together may take."""
        self._budget.spend(steps)

    def files(self) -> Files | None:
        """The files that functions may read."""
        return self._root.files

    def instances(self, file: SourceFile, block: HclBlock) -> list[Instance] | Unknown:
        """The instances of a resource or of a module's call; ``Unknown`` if they are not known."""
        found = self._instances.get(id(block))
        if found is None:
            found = self._instances[id(block)] = self._new_instances(file, block)
        return found

    def _new_instances(self, file: SourceFile, block: HclBlock) -> list[Instance] | Unknown:
        asked = block.attributes.get("for_each") or block.attributes.get("count")
        if asked is None:
            return self._enabled(file, block)
        value = evaluate(asked, self)
        keys = _keys(value) if "for_each" in block.attributes else _indices(value)
        try:
            if keys is None:
                raise NotKnownError(value)
            self.spend(_STEPS_OF_AN_INSTANCE * len(keys))
        except LookupError:
            return value if isinstance(value, Unknown) else Unknown(f"${{{written(asked)}}}")
        return [Instance(file, block, Local(self, _names(value, key)), key) for key in keys]

    def _enabled(self, file: SourceFile, block: HclBlock) -> list[Instance] | Unknown:
        """The only instance, unless OpenTofu's ``lifecycle { enabled = … }`` leaves it out."""
        asked = [
            inner.attributes["enabled"]
            for inner in block.blocks
            if inner.type == "lifecycle" and "enabled" in inner.attributes
        ]
        for tree in asked:
            enabled = evaluate(tree, self)
            if not isinstance(enabled, bool):
                return Unknown(f"${{{written(tree)}}}")
            if not enabled:
                return []
        return [Instance(file, block, self)]

    def called(self, instance: Instance) -> "Module | None":
        """The module that a call's ``source`` names, if it lies among the files.

        Raises:
            TooMuchError: reading its blocks once more takes more steps than are left.
        """
        key = (id(instance.block), instance.key)
        if key not in self._called:
            self._called[key] = self._new_module(instance)
        return self._called[key]

    def _new_module(self, instance: Instance) -> "Module | None":
        inputs = {
            name: evaluate(tree, instance.scope) for name, tree in instance.block.attributes.items()
        }
        source = inputs.pop("source", None)
        if not isinstance(source, str) or not source.startswith(".") or self._depth >= _DEEPEST:
            return None
        path = posixpath.normpath(posixpath.join(self.path, source))
        path = "" if path == "." else path
        if path not in self._folders or path == self.path:
            return None
        blocks = sum(len(file.root.blocks) for file in self._folders[path])
        self.spend(_STEPS_OF_AN_INSTANCE + _STEPS_OF_A_BLOCK * blocks)
        return Module(path, self._folders, inputs, self._budget, self._depth + 1, self._root)

    def find(self, root: str, steps: tuple[Step, ...]) -> Data:
        """The value of ``var.…``, ``local.…``, a module's output or a resource's attribute.

        Raises:
            NotKnownError: it is not known, or refers to itself.
        """
        if not steps:
            raise NotKnownError(root)
        name = str(steps[0])
        if root == "path":
            return follow(self._paths(), steps)
        if root in ("var", "local"):
            return follow(self._once((root, name)), steps[1:])
        return self._attribute(root, name, steps[1:])

    def _paths(self) -> dict[str, Data]:
        """The paths that Terraform has where it is run in the root module."""
        return {"root": ".", "module": posixpath.relpath(self.path or ".", self._root.path or ".")}

    def _once(self, key: tuple[str, ...]) -> Data:
        if key in self._values:
            return self._values[key]
        if key in self._open:
            raise NotKnownError(key)
        self._open.add(key)
        try:
            root, name = key
            reads = {"var": self._variable, "local": self._local, "output": self._output}
            found = reads[root](name) if root in reads else self._all_instances(root, name)
            self._values[key] = found
        finally:
            self._open.discard(key)
        return found

    def _variable(self, name: str) -> Data:
        blocks = [
            block
            for _, block in (*self._blocks, *self._overrides)
            if block.type == "variable" and block.labels == (name,)
        ]
        declared = {key: tree for block in blocks for key, tree in block.attributes.items()}
        if "sensitive" in declared or (not blocks and name not in self._inputs):
            raise NotKnownError(name)
        value = self._inputs.get(name)
        if isinstance(value, VariableText):
            if is_secret_name(name):  # the environment is where a secret belongs
                raise NotKnownError(name)
            value = _read_written(value.text, declared.get("type"))
        nullable = evaluate(declared["nullable"], self) if "nullable" in declared else True
        if name not in self._inputs or (value is None and nullable is not True):
            if "default" not in declared:
                raise NotKnownError(name)
            value = evaluate(declared["default"], self)
        return typed(value, declared["type"], self) if "type" in declared else value

    def _local(self, name: str) -> Data:
        for _, block in (*self._overrides[::-1], *self._blocks):
            if block.type == "locals" and name in block.attributes:
                return evaluate(block.attributes[name], self)
        raise NotKnownError(name)

    def _output(self, name: str) -> Data:
        for _, block in self._blocks:
            if block.type == "output" and block.labels == (name,):
                return evaluate(block.attributes["value"], self)
        raise NotKnownError(name)

    def _attribute(self, root: str, name: str, steps: tuple[Step, ...]) -> Data:
        """An attribute of ``root.name``, or of its instance; for a module's call, an output."""
        self.spend(len(self._blocks) // _BLOCKS_A_STEP)
        if not steps:
            return self._once((root, name))
        file, block = self._block(root, name)
        instances = self.instances(file, block)
        if isinstance(instances, Unknown):
            return instances
        if "for_each" in block.attributes or "count" in block.attributes:
            key, *rest = steps
            instance = next(item for item in instances if str(item.key) == str(key))
            steps = tuple(rest)
        else:
            (instance,) = instances
        if not steps:
            return self._attributes(instance)
        attribute, *rest = steps
        open_key = (root, name, str(instance.key), str(attribute))
        if open_key in self._open:
            raise NotKnownError(attribute)
        self._open.add(open_key)
        try:
            return follow(self._of_instance(instance, str(attribute)), tuple(rest))
        finally:
            self._open.discard(open_key)

    def _all_instances(self, root: str, name: str) -> Data:
        """A resource or a call as a whole: a map by the keys of `for_each`, a list by `count`."""
        file, block = self._block(root, name)
        instances = self.instances(file, block)
        if isinstance(instances, Unknown):
            return instances
        if "for_each" in block.attributes:
            return {str(instance.key): self._attributes(instance) for instance in instances}
        values = [self._attributes(instance) for instance in instances]
        if "count" in block.attributes:
            return values
        (only,) = values
        return only

    def _block(self, root: str, name: str) -> tuple[SourceFile, HclBlock]:
        """The block that expressions call ``root.name``, and its file."""
        is_call = root == "module"
        kind, labels = ("module", (name,)) if is_call else ("resource", (root, name))
        return next(
            (file, block)
            for file, block in self._blocks
            if block.type == kind and block.labels == labels
        )

    def _attributes(self, instance: Instance) -> Attributes:
        """The attributes of a resource's instance that Terraform does not ignore, or outputs."""
        block = instance.block
        names = [key for key in block.attributes if key not in _META and not _ignores(block, key)]
        if block.type == "module":
            module = self.called(instance)
            if module is None:
                raise NotKnownError(*block.labels)
            names = [inner.labels[0] for _, inner in module.blocks() if inner.type == "output"]
        self.spend(len(names))
        return Attributes((name, self._of_instance(instance, name)) for name in names)

    def _of_instance(self, instance: Instance, attribute: str) -> Data:
        if instance.block.type == "resource":
            if attribute not in instance.block.attributes or _ignores(instance.block, attribute):
                raise NotKnownError(attribute)
            return evaluate(instance.block.attributes[attribute], instance.scope)
        module = self.called(instance)
        if module is None:
            raise NotKnownError(attribute)
        return module._once(("output", attribute))  # noqa: SLF001 (its twin)


def _read_written(text: str, type_: Syntax | None) -> Data:
    """A value from the environment: a text, or an expression if the type has parts."""
    if type_ is None or written(type_).strip('"') in ("string", "number", "bool"):
        return text
    return evaluate(parsed_expression(text), Module("", {}, {}))


def _ignores(block: HclBlock, attribute: str) -> bool:
    """True if Terraform ignores changes of the attribute: its value is then the cluster's."""
    words = {
        word
        for inner in block.blocks
        if inner.type == "lifecycle" and "ignore_changes" in inner.attributes
        for word in re.findall(r"[\w-]+", written(inner.attributes["ignore_changes"]))
    }
    return not words.isdisjoint({"all", attribute})


def is_override(file: HclFile) -> bool:
    """Return whether Terraform merges the file's blocks into those of the other files."""
    stem = posixpath.basename(file.file.path).partition(".")[0]
    return stem == "override" or stem.endswith("_override")


def _keys(value: Data) -> Sequence[Step] | None:
    """The keys of ``for_each``; None if the value is no map, and no set of texts."""
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        return None
    is_keyed = isinstance(value, dict | list) and not isinstance(value, Attributes)
    return list(value) if is_keyed else None


def _indices(value: Data) -> Sequence[Step] | None:
    """The indices of ``count``; None if the value is no whole number from 0."""
    try:
        number = number_of(value)
    except (TypeError, ValueError):
        return None
    return range(number) if isinstance(number, int) and number >= 0 else None


def _names(value: Data, key: Step) -> dict[str, Data]:
    """The names that an instance's expressions have besides."""
    if isinstance(key, int):
        return {"count": {"index": key}}
    return {"each": {"key": key, "value": value[key] if isinstance(value, dict) else key}}


def variables_of(file: HclFile) -> dict[str, Data]:
    """The values that a file of variables (``.tfvars``) sets."""
    nothing = Module("", {}, {})
    return {name: evaluate(tree, nothing) for name, tree in file.root.attributes.items()}
