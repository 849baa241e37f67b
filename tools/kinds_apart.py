"""The contract that keeps the modules of kinds apart, for import-linter: it lists them itself."""

from typing import Any

from importlinter.contracts.independence import IndependenceContract

from kgitops.manifests.kind_models import KINDS, OBJECT_KINDS


class KindsApart(IndependenceContract):
    """No kind's module imports another kind's, not even through others."""

    type_name = "kinds_apart"

    def __init__(
        self, name: str, session_options: dict[str, Any], contract_options: dict[str, Any]
    ) -> None:
        """Add the modules of all kinds."""
        modules = [f"kgitops.{KINDS[kind]}" for kind in OBJECT_KINDS]
        super().__init__(name, session_options, {**contract_options, "modules": modules})
