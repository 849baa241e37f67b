"""HCL: expressions have the values that Terraform gives them, or are told as unknown."""

from pathlib import Path

import pytest

from kgitops.conversion.reading.folder import find_folder
from kgitops.conversion.reading.hcl.expressions import Unknown
from kgitops.conversion.reading.hcl.modules import Module
from kgitops.conversion.reading.hcl.parsing import read_hcl

LOCALS = """\
variable "env" { default = "prod" }
variable "key" {
  default   = "hidden"
  sensitive = true
}
variable "region" {}
locals {
  day    = 24 * 60 * 60 * 1000
  sizes  = { small = 3, "large" = 12 }
  names  = ["b", "a", "b"]
  nested = [{ name = "x", tags = ["t"] }]
  round  = local.again
  again  = local.round
}
resource "kafka_topic" "orders" {
  for_each = local.sizes
  name     = "${var.env}.${each.key}"
}
resource "kafka_topic" "single" {
  name = "single"
}
"""

KNOWN = {
    "1 + 2 * 3": 7,
    "-local.day": -86400000,
    "7 * local.day": 604800000,
    "10 / 4": 2.5,
    "7 % 4": 3,
    "1 < 2 && !(2 >= 3) || false": True,
    '"a-${var.env}-${1 + 1}"': "a-prod-2",
    '"tab\\t\\"q\\" \\u00e4 $${kept}"': 'tab\t"q" ä ${kept}',
    'local.sizes["large"]': 12,
    "local.sizes.small": 3,
    "local.names[1]": "a",
    "local.nested[0].tags[0]": "t",
    "local.nested[*].name": ["x"],
    "local.nested.*.name": ["x"],
    "toset(local.names)": ["a", "b"],
    "keys(local.sizes)": ["large", "small"],
    "values(local.sizes)": [12, 3],
    "merge(local.sizes, { tiny = 1 })": {"small": 3, "large": 12, "tiny": 1},
    'lookup(local.sizes, "none", 1)': 1,
    'format("%s-%03d", var.env, 7)': "prod-007",
    'join(",", local.names)': "b,a,b",
    'split(".", "a.b")': ["a", "b"],
    'upper("a")': "A",
    'replace("a.b", ".", "-")': "a-b",
    "length(local.names)": 3,
    "flatten([[1], [2, [3]]])": [1, 2, 3],
    'tonumber("3")': 3,
    'max("10", "9")': 10,
    "min(10, 9.5)": 9.5,
    "sort([10, 9])": ["10", "9"],
    "range(5, 2)": [5, 4, 3],
    "range(-2)": [0, -1],
    "tostring(true)": "true",
    'var.env == "prod" ? 3 : 1': 3,
    '[for n in local.names : upper(n) if n != "a"]': ["B", "B"],
    "{ for k, v in local.sizes : upper(k) => v + 1 }": {"SMALL": 4, "LARGE": 13},
    'kafka_topic.orders["small"].name': "prod.small",
    "kafka_topic.single.name": "single",
    "null": None,
    '"1" + 1': 2,
    "-7 % 4": -3,
    '1 == "1"': False,
    "true == 1": False,
    '"${1.5 * 1000}"': "1500",
    'tonumber("9007199254740993")': 9007199254740993,
    "{ for n in local.names : n => upper(n)... }": {"b": ["B", "B"], "a": ["A"]},
    "[for k, v in local.sizes : k]": ["large", "small"],
    "try(local.sizes.huge, 7)": 7,
    "try(local.nested[0].tags[5], local.sizes.small)": 3,
    "can(local.sizes.huge)": False,
    'contains(local.names, "a")': True,
    "element(local.names, 4)": "a",
    'sort(["b", "a"])': ["a", "b"],
    'merge(local.sizes, { tiny = var.region })["large"]': 12,
    "<<-EOT\n  one\n    two\n  EOT\n": "one\n  two\n",
}
UNKNOWN = {
    "var.region": "${var.region}",
    "var.missing": "${var.missing}",
    "var.key": "${var.key}",
    '"x-${var.region}"': "x-${var.region}",
    "data.aws_region.here.name": "${data.aws_region.here.name}",
    "local.round": "${local.round}",
    'file("ca.pem")': '${file("ca.pem")}',
    "local.sizes.huge": "${local.sizes.huge}",
    "kafka_topic.single.id": "${kafka_topic.single.id}",
    'var.region == "x" ? 1 : 2': '${var.region == "x" ? 1 : 2}',
    "1 / 0": "${1 / 0}",
    '"a" * 3': '${"a" * 3}',
    "try(var.region, 1)": "${try(var.region, 1)}",
    'try(yamldecode(file("x")), 1)': '${try(yamldecode(file("x")), 1)}',
    "local.names[-1]": "${local.names[-1]}",
    'join(",", [["a"]])': '${join(",", [["a"]])}',
    'format("%v", ["a"])': '${format("%v", ["a"])}',
    "upper(1, 2)": "${upper(1, 2)}",
    "module.none.out": "${module.none.out}",
}


def value_of(folder: Path, expression: str) -> object:
    (folder / "main.tf").write_text(LOCALS + f"locals {{\n  asked = {expression}\n}}\n")
    (found,) = find_folder(folder / "main.tf").files
    file = read_hcl(found)
    assert not file.broken
    return Module("", {"": [file]}, {}).find("local", ("asked",))


@pytest.mark.parametrize("expression", KNOWN)
def test_known_values(expression: str, tmp_path: Path) -> None:
    assert value_of(tmp_path, expression) == KNOWN[expression]


@pytest.mark.parametrize("expression", UNKNOWN)
def test_what_only_terraform_knows_is_shown_as_it_is_written(
    expression: str, tmp_path: Path
) -> None:
    assert value_of(tmp_path, expression) == Unknown(UNKNOWN[expression])


@pytest.mark.parametrize(
    "text",
    [
        'resource "kafka_topic" {',
        "a = = 1\n",
        "a = " + "[" * 400 + "]" * 400 + "\n",
        "a = " + "(" * 400 + "1" + ")" * 400 + "\n",
        "a = 1 " + "+ 1" * 400 + "\n",
        "\x00",
        'a = "${',
    ],
)
def test_what_is_no_hcl_is_a_finding(text: str, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(text)
    (found,) = find_folder(tmp_path / "main.tf").files
    (broken,) = read_hcl(found).broken
    assert broken.losses


def test_an_expression_may_be_deep_as_people_write_it(tmp_path: Path) -> None:
    deep = "(" * 15 + "1" + ")" * 15
    assert value_of(tmp_path, deep) == 1
