"""The JSON Schema of a plan, from the classes that plans are written and read by.

Objects may gain keys within a major version, so readers must ignore what they don't know; request
bodies may not, for an apply carries them out.
"""

from kgitops.model.json.objects import ShortestDecimals
from kgitops.model.json.requests import REQUESTS, body_classes
from kgitops.model.json.schema import document_schema, schema_text
from kgitops.model.registry import Json
from kgitops.model.resources.topics import RATES
from kgitops.plan.document.documents import ChangeDocument, PassedDocument, PlanDocument
from kgitops.plan.document.plan import PolicyResult
from kgitops.plan.document.risks import Risk

# A pattern, not the codes of today: they may grow within a major version.
_CODE: Json = {"type": "string", "pattern": "^KG[0-9]{3}$"}

_DECIMALS: Json = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}


def plan_schema() -> dict[str, Json]:
    """The schema of what ``plan -o`` writes and ``--format json`` prints."""
    bodies = {api: body_classes(api) for api in REQUESTS}
    schema = document_schema(
        PlanDocument,
        title="kgitops plan",
        description="What kgitops would do to a cluster: the reviewed document that an apply "
        "executes. The envelope is there in a saved plan.",
        also=(
            *(ChangeDocument, PassedDocument, PolicyResult),
            *(kind for kinds in bodies.values() for kind in kinds),
        ),
        special={Risk: _CODE, ShortestDecimals: _DECIMALS},
    )
    schema["required"].append("plan_digest")
    schema["properties"]["changes"]["items"] = _reference(ChangeDocument)
    classes = schema["$defs"]
    classes["ChangeDocument"]["properties"]["policies"]["items"] = {
        "if": {"properties": {"outcome": {"const": "passed"}}},
        "then": _reference(PassedDocument),
        "else": _reference(PolicyResult),
    }
    classes["AlterBrokerBody"]["properties"]["configs"]["propertyNames"] = {"enum": list(RATES)}
    request = classes["RequestDocument"]
    request["properties"]["api"] = {"enum": list(bodies)}
    request["allOf"] = [
        {
            "if": {"properties": {"api": {"const": api}}},
            "then": {"properties": {"body": {"oneOf": list(map(_reference, kinds))}}},
        }
        for api, kinds in bodies.items()
    ]
    return schema


def _reference(kind: type) -> Json:
    return {"$ref": f"#/$defs/{kind.__name__}"}


def plan_schema_text() -> str:
    """The text of ``schemas/plan.schema.json``."""
    return schema_text(plan_schema())
