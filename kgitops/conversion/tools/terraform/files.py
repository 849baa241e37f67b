"""Terraform's and OpenTofu's files: resources of Kafka's providers, in modules and state files."""

import os
import posixpath
import re
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from kgitops.conversion.objects import Conversion, ConvertedFile, Loss, SourceObject
from kgitops.conversion.reading.budget import Budget, TooMuchError
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import FoundFile, SourceFolder, YamlFile, read_yaml
from kgitops.conversion.reading.hcl.expressions import evaluate
from kgitops.conversion.reading.hcl.files import RootFiles
from kgitops.conversion.reading.hcl.json_syntax import read_json
from kgitops.conversion.reading.hcl.modules import Instance, Module, Root
from kgitops.conversion.reading.hcl.nodes import block_value
from kgitops.conversion.reading.hcl.parsing import HclBlock, HclFile, read_hcl
from kgitops.conversion.reading.hcl.scopes import Unknown
from kgitops.conversion.reading.values import SourceFile, Value
from kgitops.conversion.tools.terraform.blocks import Found, ModuleReading
from kgitops.conversion.tools.terraform.clusters import name_clusters, root_providers
from kgitops.conversion.tools.terraform.keys import TABLES
from kgitops.conversion.tools.terraform.resources import is_kafkas
from kgitops.conversion.tools.terraform.state import Configuration, configuration_of, read_state
from kgitops.conversion.tools.terraform.variables import (
    ENVIRONMENT,
    VARIABLE_FILES,
    Variables,
    only_attribute,
)
from kgitops.model.source import Source

__all__ = ["TABLES", "convert", "count"]

_MODULES = (".tf", ".tofu", ".tf.json", ".tofu.json")
_UNREAD = {("terragrunt.hcl",): "what Terragrunt gives to Terraform is not read"}
"""Endings of files that have a part of the configuration, with what is wrong with them."""


def count(folder: SourceFolder) -> int:
    """The number of files with resources of Kafka."""
    found = sum(
        any(
            block.type == "resource" and any(map(is_kafkas, block.labels[:1]))
            for block in file.root.blocks
        )
        for file in _modules(folder, _shadowed(folder.files))
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
    shadowed = _shadowed(folder.files)
    files = _modules(folder, shadowed)
    variables = Variables(
        map(_read_variables, folder.with_suffix(*VARIABLE_FILES)),
        map(_read_variables, folder.inputs.files),
        folder.inputs,
    )
    reading = _Reading(folder, files, variables)
    reading.read()
    converted = [
        ConvertedFile(
            path=file.file.path,
            objects=tuple(
                sorted(reading.found.objects[file.file.path], key=lambda item: item.source)
            ),
            comments=file.file.comments.rest(),
        )
        for file in [*files, *variables.files, *variables.given]
    ]
    environment = tuple(reading.found.objects[ENVIRONMENT])
    converted += [ConvertedFile(path=ENVIRONMENT, objects=environment)] if environment else []
    reading.found.ignored += [*shadowed.values(), *variables.unused()]
    for endings, problem in _UNREAD.items():
        converted += [_unread(file, problem) for file in folder.with_suffix(*endings)]
    if not reading.is_complete:
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


def _read(file: FoundFile) -> HclFile:
    return read_json(file) if file.relative.endswith(".json") else read_hcl(file)


def _read_variables(file: FoundFile) -> HclFile:
    is_json = file.relative.endswith(".json")
    return read_json(file, templates=False) if is_json else read_hcl(file)


def _modules(folder: SourceFolder, shadowed: Container[str]) -> list[HclFile]:
    """The files of all modules: those of the folder, and those that they call elsewhere."""
    files = [_read(file) for file in folder.with_suffix(*_MODULES) if file.relative not in shadowed]
    known = {posixpath.dirname(file.file.path) for file in files}
    left = list(files)
    while left:
        file = left.pop()
        for block in file.root.blocks:
            path = _called_folder(file, block)
            if path is not None and path not in known:
                known.add(path)
                found = _files_in(Path(os.path.normpath(folder.root / path)), path)
                files += found
                left += found
    return files


def _called_folder(file: HclFile, block: HclBlock) -> str | None:
    """The folder of a call's module; None if it is none, or lies in no folder."""
    tree = block.attributes.get("source")
    if block.type != "module" or tree is None:
        return None
    source = evaluate(tree, Module("", {}, {}))
    if not isinstance(source, str) or not source.startswith("."):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file.file.path), source))
    return "" if path == "." else path


def _files_in(folder: Path, relative: str) -> list[HclFile]:
    """The files of a module; none if there is no such folder, which its call reports."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 (names only)
    except OSError:
        return []
    found = [
        FoundFile(folder / name, f"{relative}/{name}")
        for name in names
        if name.endswith(_MODULES) and not name.startswith(".") and (folder / name).is_file()
    ]
    shadowed = _shadowed(found)
    return [_read(file) for file in found if file.relative not in shadowed]


def _shadowed(files: Iterable[FoundFile]) -> dict[str, str]:
    """The files that OpenTofu leaves out, because one in its own format has their name."""
    own = list(files)
    names = {file.relative for file in own}
    others = {
        file: re.sub(r"\.tf(\.json)?$", r".tofu\1", file.relative)
        for file in own
        if file.relative.endswith((".tf", ".tf.json"))
    }
    return {
        file.relative: f"{file.name}:1 (OpenTofu reads {posixpath.basename(other)} in its place)"
        for file, other in others.items()
        if other in names
    }


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

    def __init__(self, folder: SourceFolder, files: list[HclFile], variables: Variables) -> None:
        read = [*files, *variables.files, *variables.given]
        self.found = Found({file.file.path: list(file.broken) for file in read})
        self._folder = folder
        self._variables = variables
        self._root_modules: list[Module] = []
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
                value = block_value(file.file, only_attribute(file.root, name), Module("", {}, {}))
                self._lose(file.file, value, name, "it is in no block", "correct it there")
        for path, objects in self._variables.objects(self._root_modules).items():
            self.found.objects.setdefault(path, []).extend(objects)

    def _read_modules(self) -> None:
        modules = [
            Module(
                path,
                self._folders,
                self._variables.of_root(path),
                self._budget,
                root=Root(path, RootFiles(self._folder, path)),
            )
            for path in self._folders
        ]
        called = {inner.path for module in modules for inner in _called(module)}
        for module in modules:
            if module.path not in called:
                self._root_modules.append(module)
                configuration = Configuration(root_providers(module))
                self.roots[module.path] = configuration
                providers = configuration.providers
                ModuleReading(self.found, module, configuration, providers, "").read()

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
