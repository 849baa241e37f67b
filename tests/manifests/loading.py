"""Loads manifests that a test writes down."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kgitops.desired.build import build_desired
from kgitops.desired.state import DesiredState, Project, Safety
from kgitops.manifests.load import ManifestSet, load_manifests
from kgitops.model.errors import FindingsError

Files = Mapping[str, str | bytes]


def write(folder: Path, files: Files) -> None:
    """Write files below a folder, byte for byte."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def load(
    *paths: Path | str,
    cluster: str = "local",
    variables: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    policies: Sequence[Path] = (),
) -> ManifestSet:
    """The manifests below the paths."""
    return load_manifests(
        [Path(path) for path in paths],
        cluster=cluster,
        variables=variables or {},
        env=env or {},
        policies=policies,
    )


def build(manifests: ManifestSet, *, allow_configs: tuple[str, ...] = ()) -> DesiredState:
    """What the manifests ask for, as a whole project."""
    return build_desired(
        manifests,
        project=Project(name="test"),
        whole=True,
        targets=frozenset(),
        excludes=frozenset(),
        safety=Safety(),
        principal="User:test",
        allow_configs=allow_configs,
    )


def findings(manifests: ManifestSet, *, allow_configs: tuple[str, ...] = ()) -> list[str]:
    """Everything that is said about the manifests, warnings too."""
    try:
        state = build(manifests, allow_configs=allow_configs)
    except FindingsError as error:
        return [str(finding) for finding in error.findings]
    return [str(warning) for warning in state.warnings]


def topic(name: str = "orders", spec: str = "{partitions: 1, replicationFactor: 1}") -> str:
    """A Topic document; ``spec`` stands on line 4, from column 7."""
    return f"apiVersion: kgitops/v1\nkind: Topic\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def acl(spec: str, name: str = "readers") -> str:
    """An Acl document; the fields of its spec begin on line 5, in column 3."""
    head = f"apiVersion: kgitops/v1\nkind: Acl\nmetadata: {{name: {name}}}\nspec:\n"
    return head + "".join(f"  {line}\n" for line in spec.splitlines())


def quota(entity: str, quotas: str) -> str:
    """A ClientQuota document: entity on line 5 from column 11, quotas on line 6 from column 11."""
    return (
        "apiVersion: kgitops/v1\nkind: ClientQuota\nmetadata: {name: limits}\n"
        f"spec:\n  entity: {entity}\n  quotas: {quotas}\n"
    )


def tombstone(target: str, name: str = "drop") -> str:
    """A Tombstone document: its target on line 5 from column 11."""
    return (
        f"apiVersion: kgitops/v1\nkind: Tombstone\nmetadata: {{name: {name}}}\n"
        f"spec:\n  target: {target}\n  reason: no longer needed\n"
    )


def declaration(kind: str, metadata: str, spec: str = "{}") -> str:
    """A document of any kind: metadata on line 3 from column 11, spec on line 4 from column 7."""
    return f"apiVersion: kgitops/v1\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n"
