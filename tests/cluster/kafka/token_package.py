"""The token provider of the guide to connections, installed as its package would be."""

import re
import tomllib
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "connections.md"
GROUP = "kgitops.token_providers"


def blocks(language: str) -> list[str]:
    """The code blocks of the guide's section on tokens from elsewhere."""
    section = GUIDE.read_text().split("### Tokens from elsewhere\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def install_example(folder: Path) -> None:
    """Put the guide's module into a folder for the path, with the entry point it writes."""
    (module,) = blocks("python")
    (table,) = blocks("toml")
    points = tomllib.loads(table)["project"]["entry-points"][GROUP]
    (folder / "our_tokens.py").write_text(module)
    register(folder, "our-tokens", points)


def register(folder: Path, package: str, points: dict[str, str]) -> None:
    """What an installer records of a package (entry_points.txt, METADATA)."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"[{GROUP}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
