"""Binding sheets, which tell client teams the physical names."""

import json

import yaml
from lowering import scenario
from lowering.scenario import APP, READER, STREAM
from lowering.test_scenario import U1, U2

from kgitops.lowering.binding_sheets import binding_sheets, to_json, to_yaml


def test_each_member_learns_its_physical_names() -> None:
    """VC-048: §24.5's sheet, in the order of principals; JSON and YAML are equal."""
    brokers = scenario.after_commit_1()
    sheets = binding_sheets(brokers.logical)
    expected = {
        READER: {
            "virtual_cluster": "analytics",
            "topics": {"Reports": U1, "sales.orders": U2},
            "groups": {},
            "group_prefix": "analytics:",
            "transactional_ids": {},
            "transactional_id_prefix": "",
        },
        APP: {
            "virtual_cluster": "emea.sales",
            "topics": {"Orders": U2, "SalesStream": STREAM, STREAM: STREAM},
            "groups": {"sales-etl": "emea.sales:sales-etl"},
            "group_prefix": "emea.sales:",
            "transactional_ids": {},
            "transactional_id_prefix": "emea.sales:",
        },
    }
    assert to_json(sheets) == expected
    assert list(to_json(sheets)) == [READER, APP]
    assert yaml.safe_load(to_yaml(sheets)) == expected
    assert json.dumps(to_json(sheets)) == json.dumps(to_json(binding_sheets(brokers.logical)))
    assert to_yaml(sheets).startswith(
        '"User:ana-reader":\n  virtual_cluster: "analytics"\n  topics:\n    "Reports": '
    )
