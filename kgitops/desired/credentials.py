"""Declared credentials as the registry records them, and back: references, and never a secret."""

from collections.abc import Mapping

from kgitops.desired.state import DesiredCredential
from kgitops.model.json.codec import from_json, to_json
from kgitops.model.registry import Json
from kgitops.model.resources.users import PasswordSource, ScramMechanism


def credentials_view(credentials: Mapping[ScramMechanism, DesiredCredential]) -> dict[str, Json]:
    """Show declared credentials by mechanism."""
    return {
        mechanism.value: {
            "iterations": credential.iterations,
            "password": to_json(credential.password),
            "version": credential.version,
        }
        for mechanism, credential in credentials.items()
    }


def credentials_of(view: Mapping[str, Json]) -> dict[ScramMechanism, DesiredCredential]:
    """Read the credentials that ``credentials_view`` wrote.

    Raises:
        KeyError, TypeError, ValueError: they are of another shape.
    """
    return {
        ScramMechanism(mechanism): DesiredCredential(
            iterations=item["iterations"],
            password=from_json(PasswordSource, item["password"], "password"),
            version=item["version"],
        )
        for mechanism, item in view.items()
    }
