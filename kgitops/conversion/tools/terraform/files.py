"""Terraform's and OpenTofu's files: resources of Kafka's providers, in modules and state files."""

import posixpath
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kgitops.conversion.objects import Conversion, ConvertedFile, Loss, SourceObject
from kgitops.conversion.reading.budget import Budget, TooMuchError
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import FoundFile, SourceFolder, YamlFile, read_yaml
from kgitops.conversion.reading.hcl.expressions import Data, Unknown
from kgitops.conversion.reading.hcl.modules import Instance, Module, variables_of
from kgitops.conversion.reading.hcl.nodes import block_value
from kgitops.conversion.reading.hcl.parsing import HclBlock, HclFile, read_hcl
from kgitops.conversion.reading.values import SourceFile, Value
from kgitops.conversion.tools.terraform.blocks import Found, ModuleReading
from kgitops.conversion.tools.terraform.clusters import name_clusters, root_providers
from kgitops.conversion.tools.terraform.keys import TABLES
from kgitops.conversion.tools.terraform.resources import is_kafkas
from kgitops.conversion.tools.terraform.state import Configuration, configuration_of, read_state
from kgitops.model.source import Source

__all__ = ["TABLES", "convert", "count"]

_MORE_RESOURCES = (".tf.json", ".tofu", ".tofu.json")
_VARIABLES = "terraform.tfvars"
_AUTO = ".auto.tfvars"
_UNREAD = {
    (".tf.json", ".tfvars.json"): "Terraform's JSON syntax is not read",
    (".tofu", ".tofu.json"): "OpenTofu's own files are not read",
    ("terragrunt.hcl",): "what Terragrunt gives to Terraform is not read",
}
"""Endings of files that have a part of the configuration, with what is wrong with them."""


def count(folder: SourceFolder) -> int:
    """The number of files with resources of Kafka."""
    found = sum(
        any(
            block.type == "resource" and any(map(is_kafkas, block.labels[:1]))
            for block in read_hcl(file).root.blocks
        )
        for file in folder.with_suffix(".tf")
    )
    return found + sum(map(_has_kafka, map(read_yaml, folder.with_suffix(".tfstate"))))


def _has_kafka(state: YamlFile) -> bool:
    """Return whether a state file has a resource of Kafka, or can't be read."""
    resources = [
        resource
        for document in state.documents
        if (found := document.at("resources")) is not None
        for resource in found.items()
    ]
    kinds = (resource.text_at("type") or "" for resource in resources)
    return bool(state.broken) or any(map(is_kafkas, kinds))


def convert(folder: SourceFolder) -> Conversion:
    """Read all modules that no other calls, with those they call, and all state files."""
    files = [read_hcl(file) for file in folder.with_suffix(".tf")]
    reading = _Reading(files, [read_hcl(file) for file in folder.with_suffix(".tfvars")])
    reading.read()
    converted = [
        ConvertedFile(
            path=file.file.path,
            objects=tuple(
                sorted(reading.found.objects[file.file.path], key=lambda item: item.source)
            ),
            comments=file.file.comments.rest(),
        )
        for file in [*files, *reading.variables]
    ]
    for endings, problem in _UNREAD.items():
        converted += [_unread(file, problem) for file in folder.with_suffix(*endings)]
    if not reading.is_complete or folder.with_suffix(*_MORE_RESOURCES):
        for configuration in reading.roots.values():
            configuration.is_complete = False
    for state in map(read_yaml, folder.with_suffix(".tfstate")):
        path = state.file.path
        read = read_state(state, configuration_of(path, reading.roots))
        converted.append(ConvertedFile(path=path, objects=read.objects))
        reading.found.ignored += read.ignored
    objects = [item for file in converted for item in file.objects]
    names, clusters = name_clusters(objects, reading.found.clusters)
    return Conversion(
        tool="terraform",
        files=tuple(
            replace(file, objects=tuple(_for_clusters(item, names) for item in file.objects))
            for file in converted
        ),
        clusters=clusters,
        ignored=tuple(reading.found.ignored),
    )


def _for_clusters(item: SourceObject, names: dict[str, tuple[str, ...]]) -> SourceObject:
    documents = [
        replace(document, clusters=names[document.clusters[0]]) for document in item.documents
    ]
    return replace(item, documents=tuple(documents))


def _unread(file: FoundFile, problem: str) -> ConvertedFile:
    """A file that is lost as a whole."""
    source = Source(file.name, 1, 1)
    advice = "convert the state file, or write it as .tf"
    loss = Loss(source=source, problem=problem, advice=advice)
    lost = SourceObject(kind="document", name="", source=source, losses=(loss,))
    return ConvertedFile(path=file.relative, objects=(lost,))


class _Reading:
    """The objects of all files, as they are found module by module."""

    def __init__(self, files: list[HclFile], variables: list[HclFile]) -> None:
        self.variables = variables
        self.found = Found({file.file.path: list(file.broken) for file in [*files, *variables]})
        self.roots: dict[str, Configuration] = {}
        self.is_complete = True
        self._files = files
        self._budget = Budget(sum(len(file.file.text.text) for file in files))
        self._folders: dict[str, list[HclFile]] = {}
        for file in files:
            self._folders.setdefault(posixpath.dirname(file.file.path), []).append(file)

    def read(self) -> None:
        """Read the modules that no other calls."""
        try:
            self._read_modules()
        except TooMuchError:
            self.is_complete = False
            self._report_too_much()
        for file in self._files:
            if file.broken:
                self.is_complete = False
            for name in file.root.attributes:
                value = block_value(file.file, _only(file.root, name), Module("", {}, {}))
                self._lose(file.file, value, name, "it is in no block", "correct it there")
        for file in self.variables:
            self._report_variables(file)

    def _read_modules(self) -> None:
        modules = [
            Module(path, self._folders, self._inputs(path), self._budget) for path in self._folders
        ]
        called = {inner.path for module in modules for inner in _called(module)}
        for module in modules:
            if module.path not in called:
                configuration = Configuration(root_providers(module))
                self.roots[module.path] = configuration
                providers = configuration.providers
                ModuleReading(self.found, module, configuration, providers, "").read()

    def _report_variables(self, file: HclFile) -> None:
        """The values of a file: those that Terraform reads by itself are in what refers to them."""
        path = file.file.path
        is_read = _is_read_by_itself(path) and posixpath.dirname(path) in self.roots
        for name in file.root.attributes:
            value = block_value(file.file, _only(file.root, name), Module("", {}, {}))
            if is_read:
                builder = ObjectBuilder("variable", name, value)
                builder.becomes_settings(f"the values of var.{name}")
                self.found.objects[path].append(builder.build([]))
            else:
                self._lose(
                    file.file,
                    value,
                    name,
                    "Terraform reads the file only where it is named, so its value is not used",
                    "rename the file to NAME.auto.tfvars in the root module if it is meant",
                )

    def _lose(self, file: SourceFile, value: Value, name: str, problem: str, advice: str) -> None:
        builder = ObjectBuilder("variable", name, value)
        place = next((item for _, item in value.entries()), value)
        builder.lose(place, f"{builder}: {problem}", advice)
        self.found.objects[file.path].append(builder.build([]))

    def _report_too_much(self) -> None:
        place = self.found.unread or self._files[0].file.text.place(0)
        loss = Loss(
            source=place,
            problem="the instances and expressions up to this block take more steps than a "
            "conversion makes, so it and all later blocks are not read",
            advice="convert the state file",
        )
        lost = SourceObject(kind="files", name="", source=place, losses=(loss,))
        path = next(file.file.path for file in self._files if file.file.text.name == place.file)
        self.found.objects[path].append(lost)

    def _inputs(self, path: str) -> dict[str, Data]:
        """The variables that Terraform reads by itself: terraform.tfvars, then *.auto.tfvars."""
        files = [file for file in self.variables if posixpath.dirname(file.file.path) == path]
        files.sort(key=lambda file: (file.file.path.endswith(_AUTO), file.file.path))
        inputs: dict[str, Data] = {}
        for file in files:
            if _is_read_by_itself(file.file.path):
                inputs |= variables_of(file)
        return inputs


def _is_read_by_itself(path: str) -> bool:
    return posixpath.basename(path) == _VARIABLES or path.endswith(_AUTO)


def _only(block: HclBlock, name: str) -> HclBlock:
    """The block with one of its attributes."""
    return HclBlock("", (), {name: block.attributes[name]}, (), block.start, block.end)


def _called(module: Module) -> Iterator[Module]:
    for file, block in module.blocks():
        if block.type == "module":
            instances = module.instances(file, block)
            itself = [Instance(file, block, module)]
            first: Iterable[Instance] = (
                itself if isinstance(instances, Unknown) else instances[:1] or itself
            )
            for instance in first:
                inner = module.called(instance)
                if inner is not None:
                    yield inner
