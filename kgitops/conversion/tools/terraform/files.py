"""Terraform's and OpenTofu's files: resources of Kafka's providers, in modules and state files."""

import posixpath
from collections.abc import Iterable, Iterator

from kgitops.conversion.objects import (
    Conversion,
    ConvertedCluster,
    ConvertedFile,
    Loss,
    SourceObject,
)
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import FoundFile, SourceFolder, lost_document, read_yaml
from kgitops.conversion.reading.hcl.budget import Budget
from kgitops.conversion.reading.hcl.expressions import Data, Unknown
from kgitops.conversion.reading.hcl.modules import Instance, Module, variables_of
from kgitops.conversion.reading.hcl.nodes import block_value
from kgitops.conversion.reading.hcl.parsing import HclBlock, HclFile, read_hcl
from kgitops.conversion.reading.values import SourceFile, Value
from kgitops.conversion.tools.terraform.providers import provider_cluster
from kgitops.conversion.tools.terraform.resources import read_state, resource_object

_OF_KAFKA = ("kafka_", "confluent_")
# Blocks that name values, or say how Terraform works: what they name is in what uses it.
_NAMES = (
    "variable",
    "locals",
    "output",
    "terraform",
    "data",
    "moved",
    "import",
    "removed",
    "check",
)
_PROVIDERS = ("kafka", "confluent")


def count(folder: SourceFolder) -> int:
    """The number of files with resources of Kafka."""
    found = sum(
        any(block.type == "resource" and _is_kafkas(block) for block in read_hcl(file).root.blocks)
        for file in folder.with_suffix(".tf")
    )
    return found + len(folder.with_suffix(".tfstate"))


def convert(folder: SourceFolder) -> Conversion:
    """Read all modules that no other calls, with those they call, and all state files."""
    files = [read_hcl(file) for file in folder.with_suffix(".tf")]
    reading = _Reading(files, [read_hcl(file) for file in folder.with_suffix(".tfvars")])
    reading.read()
    converted = [
        ConvertedFile(
            path=file.file.path,
            objects=tuple(sorted(reading.found[file.file.path], key=lambda item: item.source)),
            comments=file.file.comments.rest(),
        )
        for file in [*files, *reading.variables]
    ]
    converted += map(_json_syntax, folder.with_suffix(".tf.json", ".tfvars.json"))
    states = [read_yaml(file) for file in folder.with_suffix(".tfstate")]
    converted += [
        ConvertedFile(path=state.file.path, objects=tuple(read_state(state))) for state in states
    ]
    return Conversion(
        tool="terraform",
        files=tuple(converted),
        clusters=tuple(reading.clusters.values()),
        ignored=tuple(reading.ignored),
    )


def _json_syntax(file: FoundFile) -> ConvertedFile:
    """A file in Terraform's JSON syntax, which is lost as a whole."""
    read = read_yaml(file)
    problem = "Terraform's JSON syntax is not read"
    advice = "convert the state file, or write it as .tf"
    lost = [lost_document(document, problem, advice) for document in read.documents]
    return ConvertedFile(path=file.relative, objects=(*read.broken, *lost))


def _is_kafkas(block: HclBlock) -> bool:
    return bool(block.labels) and block.labels[0].startswith(_OF_KAFKA)


class _Reading:
    """The objects of all files, as they are found module by module."""

    def __init__(self, files: list[HclFile], variables: list[HclFile]) -> None:
        self.variables = variables
        self.found: dict[str, list[SourceObject]] = {
            file.file.path: list(file.broken) for file in [*files, *variables]
        }
        self.clusters: dict[str, ConvertedCluster] = {}
        self.ignored: list[str] = []
        self._budget = Budget(sum(len(file.file.text.text) for file in files))
        self._folders: dict[str, list[HclFile]] = {}
        for file in files:
            self._folders.setdefault(posixpath.dirname(file.file.path), []).append(file)
        providers = [
            block
            for file in files
            for block in file.root.blocks
            if block.type == "provider" and block.labels == ("kafka",)
        ]
        self._several = len(providers) > 1

    def read(self) -> None:
        """Read the modules that no other calls."""
        modules = [
            Module(path, self._folders, self._inputs(path), self._budget) for path in self._folders
        ]
        called = {inner.path for module in modules for inner in _called(module)}
        for module in modules:
            if module.path not in called:
                self._module(module, "")
        if self._budget.is_spent:
            self._tell_of_too_much(next(iter(self._folders.values()))[0].file)
        for file in self.variables:
            for name in file.root.attributes:
                block = HclBlock("variable", (name,), {}, (), 0, 0)
                self._names(file.file, block, f"the values of var.{name}")

    def _tell_of_too_much(self, first: SourceFile) -> None:
        place = first.text.place(0)
        loss = Loss(
            source=place,
            problem="the expressions of all files take more steps than a conversion makes",
            advice="convert the state file",
        )
        lost = SourceObject(kind="files", name="", source=place, losses=(loss,))
        self.found[first.path].append(lost)

    def _inputs(self, path: str) -> dict[str, Data]:
        """The variables that Terraform reads by itself: terraform.tfvars, then *.auto.tfvars."""
        files = [file for file in self.variables if posixpath.dirname(file.file.path) == path]
        files.sort(
            key=lambda file: (not file.file.path.endswith("terraform.tfvars"), file.file.path)
        )
        inputs: dict[str, Data] = {}
        for file in files:
            if file.file.path.endswith((".auto.tfvars", "terraform.tfvars")):
                inputs |= variables_of(file)
        return inputs

    def _module(self, module: Module, prefix: str) -> None:
        for file, block in module.blocks():
            if block.type == "resource" and _is_kafkas(block):
                self._resource(module, file, block, prefix)
            elif block.type == "module":
                self._call(module, file, block, prefix)
            elif block.type == "provider" and block.labels[:1] == ("kafka",):
                if not prefix:
                    self._provider(module, file, block)
            elif block.type in _NAMES or block.labels[:1] in [(name,) for name in _PROVIDERS]:
                if not prefix:
                    self._names(file, block, "what refers to it")
            elif not prefix:
                place = file.text.place(block.start)
                self.ignored.append(f"{place.file}:{place.line}")

    def _names(self, file: SourceFile, block: HclBlock, what: str) -> None:
        """A block whose values are in the objects that use them."""
        value = block_value(
            file, HclBlock(block.type, (), {}, (), block.start, block.end), Module("", {}, {})
        )
        builder = ObjectBuilder(block.type, ".".join(block.labels), value)
        builder.becomes_settings(what)
        self.found[file.path].append(builder.build())

    def _provider(self, module: Module, file: SourceFile, block: HclBlock) -> None:
        builder = ObjectBuilder(
            "provider", ".".join(block.labels), block_value(file, block, module)
        )
        fields = builder.fields()
        cluster = provider_cluster(builder, fields)
        if cluster is not None:
            self.clusters.setdefault(cluster.name, cluster)
        self.found[file.path].append(builder.build([]))

    def _call(self, module: Module, file: SourceFile, block: HclBlock, prefix: str) -> None:
        name = f"{prefix}module.{'.'.join(block.labels)}"
        builder = ObjectBuilder(
            "module",
            name,
            block_value(file, HclBlock("", (), {}, (), block.start, block.end), module),
        )
        instances = module.instances(file, block)
        if isinstance(instances, Unknown):
            self.found[file.path].append(_unknown(builder, instances))
            return
        for instance in instances:
            inner = module.called(instance)
            if inner is None:
                builder.lose(
                    builder.value,
                    f"{builder} is not among the files, or calls itself",
                    "convert it together with its caller, or the state file",
                )
                break
            self._module(inner, f"{name}{_key(instance)}.")
        builder.becomes_settings("the resources of the module")
        self.found[file.path].append(builder.build())

    def _resource(self, module: Module, file: SourceFile, block: HclBlock, prefix: str) -> None:
        kind, *names = block.labels
        instances = module.instances(file, block)
        name = f"{prefix}{'.'.join(names)}"
        if isinstance(instances, Unknown):
            builder = ObjectBuilder(kind, name, block_value(file, block, module))
            self.found[file.path].append(_unknown(builder, instances))
            return
        for instance in instances:
            value = block_value(file, block, instance.scope)
            builder = ObjectBuilder(kind, f"{name}{_key(instance)}", value)
            clusters = (_provider_name(value),) if self._several else ()
            self.found[file.path].append(resource_object(builder, clusters))
        if not instances:
            self._names(file, block, "nothing: it has no instances")


def _called(module: Module) -> Iterator[Module]:
    for file, block in module.blocks():
        if block.type == "module":
            instances = module.instances(file, block)
            first: Iterable[Instance] = (
                [Instance(file, block, module)] if isinstance(instances, Unknown) else instances[:1]
            )
            for instance in first:
                inner = module.called(instance)
                if inner is not None:
                    yield inner


def _provider_name(value: Value) -> str:
    """The alias that a resource names, which stands as ``${kafka.alias}`` where it is unknown."""
    for key, item in value.entries():
        if key == "provider":
            return (item.text() or "").strip("${}").partition(".")[2] or "main"
    return "main"


def _key(instance: Instance) -> str:
    if instance.key is None:
        return ""
    return f"[{instance.key}]" if isinstance(instance.key, int) else f'["{instance.key}"]'


def _unknown(builder: ObjectBuilder, unknown: Unknown) -> SourceObject:
    return builder.refuse(
        f"it has one instance for each of {unknown.text}, which is not known here",
        "convert the state file, or what has the values",
    )
