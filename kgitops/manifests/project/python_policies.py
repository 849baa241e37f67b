"""Policies in Python that the project file names; none of their code runs here."""

import ast
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

from kgitops.manifests.project.document import PythonPolicy as PolicySettings
from kgitops.manifests.yaml.nodes import scalar_text
from kgitops.model.json.canonical import canonical_json
from kgitops.model.source import Source
from kgitops.policy.evaluate.bundle import Level, PythonPolicy, kebab_case


def python_policy(settings: PolicySettings, source: Source, folder: Path) -> PythonPolicy:
    """The policy as a rule; its module's text is read if it is in the project's ``folder``.

    Its digest covers the class, the configs and that text, but not the module's imports.
    """
    class_name = settings.class_.partition(":")[2]
    configs = {key: scalar_text(value) for key, value in settings.configs.items()}
    text = _text(_file(folder, settings.class_))
    texts = _class_texts(text, class_name)
    content = {"class": settings.class_, "configs": configs, "text": text}
    return PythonPolicy(
        name=settings.name or kebab_case(class_name or settings.class_),
        level=Level(settings.level),
        digest=f"sha256:{sha256(canonical_json(content)).hexdigest()}",
        class_=settings.class_,
        description=texts.get("description", ""),
        remediation=texts.get("remediation", ""),
        source=source,
        folder=folder,
        configs=configs,
    )


def module_file(policy: PythonPolicy) -> Path | None:
    """The file of the policy's module; None if it is in an installed package."""
    return None if policy.folder is None else _file(policy.folder, policy.class_)


def class_for_file(path: str) -> str:
    """Return the advice for a Python file that is listed by its path, as if it were a manifest."""
    module = PurePosixPath(path).with_suffix("").parts
    if not all(part.isidentifier() for part in module):
        return 'write {class: "MODULE:CLASS"}, with a module in the project\'s folder'
    return f'write {{class: "{".".join(module)}:CLASS"}}, with the name of the policy\'s class'


def _file(folder: Path, class_: str) -> Path | None:
    path = folder.joinpath(*class_.partition(":")[0].split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if _is_file(file)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except ValueError:  # no file can have such a name
        return False


def _text(file: Path | None) -> str | None:
    try:
        return file.read_text(encoding="utf-8") if file else None
    except (OSError, ValueError):
        return None


def _class_texts(text: str | None, name: str) -> Mapping[str, str]:
    """``description`` and ``remediation`` of the class, or the first line of its docstring.

    A module that is not Python is a finding when it is loaded.
    """
    try:
        body = ast.parse(text or "").body
    except (SyntaxError, ValueError, RecursionError):
        return {}
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            first_line = (ast.get_docstring(node) or "").partition("\n")[0].strip()
            return {"description": first_line} | dict(_texts(node))
    return {}


def _texts(node: ast.ClassDef) -> list[tuple[str, str]]:
    """The class's attributes that are plain text."""
    return [
        (target.id, statement.value.value)
        for statement in node.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name) and isinstance(statement.value.value, str)
    ]
