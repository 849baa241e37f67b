"""Finds and reads the files of the source; whatever can't be read is an object that is lost."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kgitops.conversion.objects import ConvertedFile, Loss, SourceObject
from kgitops.conversion.reading.budget import Budget, TooMuchError
from kgitops.conversion.reading.comments import Comments, find_comments, scalar_spans
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import TEMPLATE, SourceFile, Value
from kgitops.manifests.files import display_name, looks_like
from kgitops.manifests.yaml.document import SourceText, read_text
from kgitops.manifests.yaml.parse import Constructor, compose_file
from kgitops.model.errors import UsageError
from kgitops.model.source import Finding, Source

YAML_SUFFIXES = (".yaml", ".yml", ".json")
_TERRAFORM = (
    ".tf",
    ".tfvars",
    ".tfstate",
    ".tf.json",
    ".tfvars.json",
    ".tofu",
    ".tofu.json",
)
_VARIABLE = "TF_VAR_"
_LARGEST = 64 * 1024 * 1024


class FoundFile(Struct, frozen=True):
    """A file to read: its place on the disk, and its path below the converted folder."""

    path: Path
    relative: str

    @property
    def name(self) -> str:
        """The file's name in findings."""
        return display_name(self.path)


class Inputs(Struct, frozen=True):
    """The values that a user gives Terraform: `--var-file` in order, and `TF_VAR_NAME`."""

    files: tuple[FoundFile, ...] = ()
    environment: Mapping[str, str] = {}


class SourceFolder(Struct, frozen=True):
    """The files below ``given``, the path that is converted; ``lost`` can't be read.

    ``root`` is the folder that the files' paths start from: of one file that it is in.
    """

    root: Path
    files: tuple[FoundFile, ...]
    lost: tuple[SourceObject, ...] = ()
    given: Path = Path()
    inputs: Inputs = Inputs()

    def with_suffix(self, *suffixes: str) -> tuple[FoundFile, ...]:
        """The files whose names end so."""
        return tuple(file for file in self.files if file.relative.endswith(suffixes))


def with_text(folder: SourceFolder, text: str) -> SourceFolder:
    """The folder with the files that have the text, so that no other is parsed."""
    encoded = text.encode()
    files = [file for file in folder.files if file.relative.endswith(YAML_SUFFIXES)]
    return replace(folder, files=tuple(file for file in files if encoded in _bytes(file)))


def _bytes(file: FoundFile) -> bytes:
    try:
        return file.path.read_bytes() if file.path.stat().st_size <= _LARGEST else b""
    except OSError:
        return b""


class YamlFile(Struct, frozen=True):
    """The documents of a YAML file; ``broken`` are those that are not YAML, or not unambiguous."""

    file: SourceFile
    documents: tuple[Value, ...]
    broken: tuple[SourceObject, ...] = ()


def find_folder(path: Path) -> SourceFolder:
    """All files below ``path``, or the file itself; hidden ones are left out.

    Raises:
        UsageError: there is nothing to read at ``path``.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path}: {reason}; give the folder or file to convert") from error
    if stat.S_ISREG(mode):
        return SourceFolder(path.parent, (FoundFile(path, path.name),), given=path)
    if not stat.S_ISDIR(mode):
        raise UsageError(f"{path} is neither a file nor a folder; give one to convert")
    root = os.path.realpath(path)
    files: list[FoundFile] = []
    lost: list[SourceObject] = []
    for found in _below(path, "", (root,), lost):
        real = os.path.realpath(found.path)
        if not real.startswith(root + os.sep):
            lost.append(_lost(found.name, "the link leads out of the folder", "convert it itself"))
        elif not _is_regular(found.path):
            lost.append(_lost(found.name, "it is not a file", "remove it, or convert the others"))
        else:
            files.append(found)
    return SourceFolder(
        path, tuple(sorted(files, key=lambda file: file.relative)), tuple(lost), given=path
    )


def find_inputs(paths: Iterable[Path], environment: Mapping[str, str]) -> Inputs:
    """The files of variables that are given, and the variables in the environment.

    Raises:
        UsageError: there is no such file.
    """
    files = []
    for path in paths:
        if not _is_regular(path):
            raise UsageError(f"--var-file {path}: there is no such file; correct the path")
        files.append(FoundFile(path, display_name(path)))
    named = {
        key.removeprefix(_VARIABLE): text
        for key, text in environment.items()
        if key.startswith(_VARIABLE)
    }
    return Inputs(tuple(files), named)


def passed_over(folder: SourceFolder, *, terraform: bool) -> tuple[SourceObject, ...]:
    """Files that look like the source's, but whose names no tool reads: ``topics.YAML``."""
    beside: dict[Path, set[str]] = {}
    for file in folder.files:
        beside.setdefault(file.path.parent, set()).add(file.path.name)
    lost = []
    for file in folder.files:
        name = file.path.name
        if terraform:
            alike = name.lower().endswith(_TERRAFORM) and not name.endswith(_TERRAFORM)
        else:
            meant = looks_like(name, beside[file.path.parent])
            alike = meant is not None and not name.endswith(YAML_SUFFIXES)
        if alike:
            problem = "the name looks like a source file's, but files with this ending are not read"
            lost.append(_lost(file.name, problem, "rename it if it is one, else remove it"))
    return tuple(lost)


def _below(
    folder: Path, prefix: str, parents: tuple[str, ...], lost: list[SourceObject]
) -> Iterator[FoundFile]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        reason = error.strerror or str(error)
        lost.append(_lost(display_name(folder), f"it can't be read: {reason}", "allow it"))
        return
    for entry in entries:
        path = folder / entry.name
        if entry.name.startswith("."):
            continue
        if not entry.is_dir():
            yield FoundFile(path, prefix + entry.name)
            continue
        real = os.path.realpath(path)
        if real in parents:
            lost.append(_lost(display_name(path), "it links to a folder it lies in", "remove it"))
        elif entry.is_symlink() and not real.startswith(parents[0] + os.sep):
            lost.append(
                _lost(display_name(path), "the link leads out of the folder", "convert it itself")
            )
        else:
            yield from _below(path, f"{prefix}{entry.name}/", (*parents, real), lost)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def read_yaml_files(
    folder: SourceFolder,
    dialect: Dialect = Dialect.YAML_12,
    placeholder: re.Pattern[str] = TEMPLATE,
) -> list[YamlFile]:
    """Every YAML file of the folder, parsed; its scalars are read as the dialect has them.

    A scalar with a ``placeholder`` is a template, whose value is not known.
    """
    files = folder.with_suffix(*YAML_SUFFIXES)
    return [read_yaml(file, dialect, placeholder) for file in files]


def documents_of(files: Iterable[YamlFile]) -> Iterator[Value]:
    """All documents that could be parsed."""
    return (document for file in files for document in file.documents)


def converted_file(file: YamlFile, objects: Iterable[SourceObject]) -> ConvertedFile:
    """The file with the objects read from it, in its order, and the comments that none took.

    An object that stands for more than a file may is lost, with all that would be read after it.
    """
    found = list(file.broken)
    try:
        found.extend(objects)
    except TooMuchError as error:
        found.append(beyond_budget(error))
    found.sort(key=lambda item: item.source)
    return ConvertedFile(
        path=file.file.path, objects=tuple(found), comments=file.file.comments.rest()
    )


def beyond_budget(error: TooMuchError) -> SourceObject:
    """The object that stands for more than its file may; none after it is read."""
    assert error.source is not None  # noqa: S101 (a document has a place)
    problem = "the file stands for more documents than a conversion writes, so this object and "
    problem += "all later ones are not read"
    return _lost(error.source.file, problem, "split the file", kind="files", source=error.source)


def read_yaml(
    file: FoundFile,
    dialect: Dialect = Dialect.YAML_12,
    placeholder: re.Pattern[str] = TEMPLATE,
) -> YamlFile:
    """The documents of a file; problems are objects that are lost."""
    text = read_source(file)
    if isinstance(text, Finding):
        empty = SourceFile(SourceText(file.name, ""), file.relative, Comments())
        return YamlFile(empty, (), (broken_document(text, file.name),))
    problems: list[Finding] = []
    roots = [(root, offset) for root, offset in compose_file(text, problems) if root is not None]
    broken = [broken_document(_explained(problem, text), file.name) for problem in problems]
    spans = [span for root, offset in roots for span in scalar_spans(root, offset)]
    comments = Comments(find_comments(text.text, spans) if not broken else ())
    budget = Budget(len(text.text))
    source = SourceFile(text, file.relative, comments, "", dialect, placeholder, budget)
    documents = []
    for root, offset in roots:
        constructor = Constructor(empty=None)
        constructor.build(root)
        if constructor.problems:
            finding = constructor.problems[0].finding(text, offset)
            broken.append(broken_document(_explained(finding, text), file.name))
        else:
            documents.append(Value(source, root, offset))
    return YamlFile(source, tuple(documents), tuple(broken))


def read_source(file: FoundFile) -> SourceText | Finding:
    """The text of a file, or the finding that it can't be read."""
    try:
        size = file.path.stat().st_size
    except OSError:
        size = 0  # reading it says why
    if size > _LARGEST:
        problem = f"the file is larger than {_LARGEST // 1024 // 1024} MiB"
        return Finding(source=Source(file.name, 1, 1), problem=problem, advice="split it")
    return read_text(file.path, file.name)


def _explained(finding: Finding, text: SourceText) -> Finding:
    """The finding, or that the document is a template, where it has signs of one."""
    lines = text.text.splitlines()
    first = last = (finding.source.line if finding.source else 1) - 1
    while first > 0 and not lines[first - 1].startswith("---"):
        first -= 1
    while last + 1 < len(lines) and not lines[last + 1].startswith("---"):
        last += 1
    if TEMPLATE.search("\n".join(lines[first : last + 1])) is None:
        return finding
    return replace(
        finding,
        problem="the document is a template, and what it stands for is not known here",
        advice="convert what the template tool makes of it",
    )


def broken_document(finding: Finding, name: str) -> SourceObject:
    """A document, or a whole file, that can't be parsed."""
    return _lost(name, finding.problem, finding.advice, kind="document", source=finding.source)


def lost_document(value: Value, problem: str, advice: str) -> SourceObject:
    """A whole document that has no counterpart."""
    lost = _lost("", problem, advice, kind="document", source=value.source)
    return replace(lost, comments=value.take_comments())


def _lost(
    file: str, problem: str, advice: str, *, kind: str = "file", source: Source | None = None
) -> SourceObject:
    source = source or Source(file, 1, 1)
    return SourceObject(
        kind=kind,
        name=file if kind == "file" else "",
        source=source,
        losses=(Loss(source=source, problem=problem, advice=advice),),
    )
