"""What a SARIF log of kgitops may look like: a part of SARIF 2.1.0, and all that GitHub requires.

Stricter than the standard's own schema: what is not named here may not occur, no string is empty,
and what GitHub marks as required is (docs.github.com, SARIF support for code scanning).
"""

from jsonschema import Draft202012Validator

_TEXT = {"type": "string", "minLength": 1, "maxLength": 2_100}
_LEVEL = {"enum": ["error", "warning", "note"]}
_WHOLE = {"type": "integer", "minimum": 0}


def _object(required: dict[str, object], **optional: object) -> dict[str, object]:
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **optional},
        "additionalProperties": False,
    }


def _array(items: object, most: int | None = None) -> dict[str, object]:
    bound = {} if most is None else {"maxItems": most}
    return {"type": "array", "items": items, **bound}


_MESSAGE = _object({"text": _TEXT})
_RULE = _object(
    {
        "id": _TEXT,
        "shortDescription": _MESSAGE,
        "fullDescription": _object({"text": {**_TEXT, "maxLength": 1_024}}),
        "help": _object({"text": _TEXT, "markdown": _TEXT}),
        "defaultConfiguration": _object({"level": _LEVEL}),
        "properties": _object(
            {
                "tags": {**_array(_TEXT, 10), "uniqueItems": True},
                "precision": {"enum": ["very-high", "high", "medium", "low"]},
                "problem.severity": {"enum": ["error", "warning", "recommendation"]},
            },
            **{"security-severity": {"type": "string", "pattern": r"^(10\.0|[0-9]\.[0-9])$"}},
        ),
    },
    name=_TEXT,
)
_POSITION = {"type": "integer", "minimum": 1}
_LOCATION = _object(
    {
        "physicalLocation": _object(
            {
                "artifactLocation": _object(
                    {"uri": {**_TEXT, "pattern": r"^[A-Za-z0-9._~%/:+-]+$"}},
                    uriBaseId={"const": "%SRCROOT%"},
                ),
                "region": _object(
                    dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), _POSITION)
                ),
            }
        )
    },
    logicalLocations=_array(_object({"fullyQualifiedName": _TEXT, "kind": _TEXT}), 1),
)
_RESULT = _object(
    {
        "ruleId": _TEXT,
        "ruleIndex": _WHOLE,
        "kind": {"const": "fail"},
        "level": _LEVEL,
        "message": _MESSAGE,
        "locations": {**_array(_LOCATION, 1), "minItems": 1},
        "partialFingerprints": _object(
            {"primaryLocationLineHash": {"type": "string", "pattern": r"^[0-9a-f]{16}:[1-9]\d*$"}}
        ),
    },
    suppressions=_array(
        _object(
            {
                "kind": {"const": "external"},
                "status": {"const": "accepted"},
                "justification": _TEXT,
            }
        ),
        1,
    ),
)
_RUN = _object(
    {
        "tool": _object(
            {
                "driver": _object(
                    {
                        "name": {"const": "kgitops"},
                        "version": _TEXT,
                        "semanticVersion": {"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
                        "rules": _array(_RULE, 25_000),
                    }
                )
            }
        ),
        "automationDetails": _object({"id": {"type": "string", "pattern": "^kgitops/[^/]+/$"}}),
        "columnKind": {"const": "unicodeCodePoints"},
        "originalUriBaseIds": _object({"%SRCROOT%": _object({"description": _MESSAGE})}),
        "invocations": _array(
            _object(
                {
                    "executionSuccessful": {"const": True},
                    "toolExecutionNotifications": _array(
                        _object(
                            {"level": _LEVEL, "message": _MESSAGE},
                            associatedRule=_object({"index": _WHOLE}),
                        )
                    ),
                }
            ),
            1,
        ),
        "results": _array(_RESULT, 5_000),
        "properties": _object(
            {
                "target": _TEXT,
                "clusterId": _TEXT,
                "exit": _WHOLE,
                "resultsWithoutPlace": _WHOLE,
                "resultsLeftOut": _WHOLE,
            },
            planDigest=_TEXT,
        ),
    }
)
LOG = Draft202012Validator(
    _object(
        {
            "$schema": {"const": "https://json.schemastore.org/sarif-2.1.0.json"},
            "version": {"const": "2.1.0"},
            "runs": {**_array(_RUN, 1), "minItems": 1},
        }
    )
)
"""Validates a log of one run."""
