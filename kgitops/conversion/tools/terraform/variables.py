"""The values of a root module's variables: the environment, files beside it, and files given."""

import os
import posixpath
from collections.abc import Iterable, Mapping

from kgitops.conversion.objects import SourceObject
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import Inputs
from kgitops.conversion.reading.hcl.modules import Module, VariableText, variables_of
from kgitops.conversion.reading.hcl.nodes import block_value
from kgitops.conversion.reading.hcl.parsing import HclBlock, HclFile
from kgitops.conversion.reading.hcl.scopes import Data
from kgitops.model.source import Source

VARIABLE_FILES = (".tfvars", ".tfvars.json")
_BESIDE = ("terraform.tfvars", "terraform.tfvars.json")
_AUTO = (".auto.tfvars", ".auto.tfvars.json")
ENVIRONMENT = "environment"
"""The name of what is in no file."""


class Variables:
    """All values that are given; each source wins over those before it.

    Terraform's order: `TF_VAR_NAME`, `terraform.tfvars`, `terraform.tfvars.json`, `*.auto.tfvars`
    with `*.auto.tfvars.json` by their names, `--var-file` in the order of the command.
    """

    def __init__(self, files: Iterable[HclFile], given: Iterable[HclFile], inputs: Inputs) -> None:
        own = {os.path.realpath(file.path) for file in inputs.files}
        self.given = tuple(given)
        self.files = tuple(
            file for file in files if os.path.realpath(file.file.text.name) not in own
        )
        self._environment = inputs.environment

    def of_root(self, path: str) -> dict[str, Data]:
        """The values for a root module in this folder."""
        values: dict[str, Data] = {
            name: VariableText(text) for name, text in self._environment.items()
        }
        beside = [file for file in self.files if posixpath.dirname(file.file.path) == path]
        read = [file for file in beside if _is_read(file)]
        for file in (*sorted(read, key=_order), *self.given):
            values |= variables_of(file)
        return values

    def objects(self, roots: Iterable[Module]) -> Mapping[str, list[SourceObject]]:
        """Each value with what became of it, by the paths of the files."""
        modules = list(roots)
        folders = {module.path for module in modules}
        found: dict[str, list[SourceObject]] = {}
        for file in (*self.files, *self.given):
            is_read = _is_read(file) and posixpath.dirname(file.file.path) in folders
            found[file.file.path] = [
                item
                for name in file.root.attributes
                if (item := self._object(file, name, is_read=is_read or file in self.given))
            ]
        declared = {name for module in modules for name in module.variables()}
        found[ENVIRONMENT] = [
            SourceObject(
                kind="variable",
                name=name,
                source=Source(f"TF_VAR_{name}", 1, 1),
                settings=f"the values of var.{name}",
            )
            for name in self._environment
            if name in declared
        ]
        return found

    def unused(self) -> list[str]:
        """The files for other runs, where files are given: `env/dev.tfvars`."""
        if not self.given:
            return []
        others = (file for file in self.files if not _is_read(file))
        return [f"{file.file.text.name}:1 (not given with --var-file)" for file in others]

    def _object(self, file: HclFile, name: str, *, is_read: bool) -> SourceObject | None:
        value = block_value(file.file, only_attribute(file.root, name), Module("", {}, {}))
        builder = ObjectBuilder("variable", name, value)
        if is_read:
            builder.becomes_settings(f"the values of var.{name}")
        elif self.given and not _is_read(file):
            return None
        else:
            problem = f"{builder}: Terraform reads the file only where it is named, so its value "
            advice = "give it with --var-file if it is meant, or name it NAME.auto.tfvars"
            place = next((item for _, item in value.entries()), value)
            builder.lose(place, f"{problem}is not used", advice)
        return builder.build([])


def _is_read(file: HclFile) -> bool:
    """Return whether Terraform reads the file without being told."""
    path = file.file.path
    return posixpath.basename(path) in _BESIDE or path.endswith(_AUTO)


def _order(file: HclFile) -> tuple[int, str]:
    name = posixpath.basename(file.file.path)
    return (_BESIDE.index(name) if name in _BESIDE else len(_BESIDE), name)


def only_attribute(block: HclBlock, name: str) -> HclBlock:
    """The block with one of its attributes."""
    return HclBlock("", (), {name: block.attributes[name]}, (), block.start, block.end)
