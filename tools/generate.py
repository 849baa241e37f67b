"""Writes every file of the repository that follows from the code.

uv run python tools/generate.py            writes what is out of date, and names it
uv run python tools/generate.py --check    only names it, and exits 1
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from commands_reference import render_commands
from gateway_apis import render_gateway_apis
from manifests_reference import render_reference
from policies_cel import render_cel
from policy_pack import render_pack
from risk_codes import render_risks
from served_requests import render_served_requests

from kgitops.apply.journal.importing import export_schema
from kgitops.gateway.naming.names_document import names_schema
from kgitops.manifests.schema import schema_files
from kgitops.model.json.schema import schema_text
from kgitops.model.registry import Json
from kgitops.reconcile.http.status_document import status_schema
from kgitops.report.fleet.fleet_json import fleet_schema
from kgitops.report.json.plan_schema import plan_schema_text

ROOT = Path(__file__).parents[1]
PAGES: Mapping[str, Callable[[], str]] = {
    "docs/reference/commands.md": render_commands,
    "docs/reference/gateway-apis.md": render_gateway_apis,
    "docs/reference/manifests.md": render_reference,
    "docs/reference/policies-cel.md": render_cel,
    "docs/reference/policy-pack.md": render_pack,
    "docs/reference/risk-codes.md": render_risks,
    "docs/reference/served-requests.md": render_served_requests,
    "schemas/plan.schema.json": plan_schema_text,
}
SCHEMAS = "schemas"
OTHER_SCHEMAS: Mapping[str, Callable[[], Mapping[str, Json]]] = {
    "fleet": fleet_schema,
    "gateway-names": names_schema,
    "reconcile-status": status_schema,
    "registry-export": export_schema,
}


def generated() -> dict[str, Callable[[], str]]:
    """Each generated file, and what it must hold."""
    texts = {
        **schema_files(),
        **{f"{name}.schema.json": schema_text(make()) for name, make in OTHER_SCHEMAS.items()},
    }
    return {**PAGES, **{f"{SCHEMAS}/{name}": text.__str__ for name, text in texts.items()}}


def out_of_date() -> dict[str, str]:
    """The files that don't hold what they must, and their texts."""
    texts = {name: text() for name, text in generated().items()}
    return {name: text for name, text in texts.items() if _held(name) != text}


def _held(name: str) -> str:
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--check", action="store_true")
    check = options.parse_args().check
    found = out_of_date()
    for name, text in found.items():
        if not check:
            (ROOT / name).write_text(text, encoding="utf-8")
        print(name)
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(main())
