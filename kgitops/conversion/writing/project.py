"""The project file of a converted project."""

import re
import uuid
from collections.abc import Mapping

from kgitops.conversion.objects import Conversion
from kgitops.conversion.topics import VENDORS
from kgitops.model.registry import Json
from kgitops.workflow.export.files import Inline, to_yaml

_NO_CLUSTER = """\
    # The source names no cluster: write its address here, or give it with -c kafka://HOST:PORT.
"""


def project_text(conversion: Conversion, name: str) -> str:
    """The text of ``kgitops.yaml``; its uid is new each time."""
    clusters: dict[str, Json] = {
        cluster.name: {
            "url": f"kafka://{cluster.bootstrap_servers}",
            **({"configs": dict(cluster.configs)} if cluster.configs else {}),
        }
        for cluster in conversion.clusters
    } or {"main": {"url": "kafka://localhost:9092"}}
    vendors = _vendor_configs(conversion)
    defaults = conversion.topic_defaults
    spec: dict[str, Json] = {
        "manifests": ["manifests"],
        **({"defaults": {"topic": dict(defaults)}} if defaults else {}),
        **({"defaultCluster": next(iter(clusters))} if len(clusters) == 1 else {}),
        "clusters": clusters,
        **({"allowConfigs": vendors} if vendors else {}),
    }
    document = {
        "apiVersion": "kgitops/v1",
        "kind": "Project",
        "metadata": Inline({"name": name, "uid": str(uuid.uuid4())}),
        "spec": spec,
    }
    # Placeholders for secrets are meant as such here.
    text = to_yaml([document]).removeprefix("---\n").replace("$${env:", "${env:")
    if not conversion.clusters:
        text = text.replace("  clusters:\n", f"  clusters:\n{_NO_CLUSTER}")
    return text


def project_name(folder: str) -> str:
    """The name of a folder as a project's name."""
    return re.sub(r"[^a-z0-9-]+", "-", folder.lower()).strip("-") or "converted"


def _vendor_configs(conversion: Conversion) -> list[str]:
    """Patterns for the vendors' configs that topics have."""
    keys = {
        key
        for item in conversion.objects
        for document in item.documents
        if isinstance(configs := document.spec.get("configs"), Mapping)
        for key in configs
    }
    return [f"{vendor}*" for vendor in VENDORS if any(key.startswith(vendor) for key in keys)]
