"""HCL: expressions have the values that Terraform gives them, or are told as unknown."""

from pathlib import Path

import pytest

from kgitops.conversion.reading.folder import find_folder
from kgitops.conversion.reading.hcl.modules import Module
from kgitops.conversion.reading.hcl.parsing import read_hcl
from kgitops.conversion.reading.hcl.scopes import Unknown

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
resource "kafka_topic" "numbered" {
  count      = 2
  name       = "n${count.index}"
  partitions = 6
  lifecycle {
    ignore_changes = [partitions]
  }
}
resource "kafka_topic" "itself" {
  for_each = kafka_topic.itself
  name     = each.key
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
    "{ for k, t in kafka_topic.orders : k => t.name }": {
        "large": "prod.large",
        "small": "prod.small",
    },
    "values(kafka_topic.orders)[*].name": ["prod.large", "prod.small"],
    "[for k in keys(kafka_topic.orders) : kafka_topic.orders[k]][0].name": "prod.large",
    "kafka_topic.numbered[*].name": ["n0", "n1"],
    "length(kafka_topic.numbered)": 2,
    "null": None,
    '"1" + 1': 2,
    "-7 % 4": -3,
    '1 == "1"': False,
    "true == 1": False,
    '"${1.5 * 1000}"': 1500,
    '"x${1.5 * 1000}"': "x1500",
    '"${local.names}"': ["b", "a", "b"],
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
    '<<EOT\n"${var.env}" \\ $${x}\nEOT\n': '"prod" \\ ${x}\n',
    '<<EOT\n${upper("a}\\"${var.env}")}\nEOT\n': 'A}"PROD\n',
    "<<EOT\n%{ for n in local.names ~}\n${n},\n%{ endfor ~}\nEOT\n": "b,\na,\nb,\n",
    '"%{ if var.env == "prod" }yes%{ else }no%{ endif }"': "yes",
    '"%{ if var.env == "dev" }yes%{ else }no%{ endif }"': "no",
    '"a %{~ if true ~} b %{~ endif ~} c"': "abc",
    '"%{ for k, v in local.sizes }${k}=${v};%{ endfor }"': "large=12;small=3;",
    '"%{ for n in local.names }%{ if n == "a" }${n}%{ endif }%{ endfor }"': "a",
    "merge([local.sizes, { tiny = 1 }]...)": {"small": 3, "large": 12, "tiny": 1},
    "max([for n in [1, 3] : n]...)": 3,
    "merge(local.sizes, null)": {"small": 3, "large": 12},
    "abs(-3)": 3,
    "ceil(2.1)": 3,
    "floor(-2.1)": -3,
    "signum(-2)": -1,
    "pow(2, 10)": 1024,
    "sum([1, 2.5])": 3.5,
    'parseint("ff", 16)': 255,
    "one([])": None,
    "one([3])": 3,
    "alltrue([true, true])": True,
    "anytrue([false, true])": True,
    'startswith("abc", "ab")': True,
    'endswith("abc", "ab")': False,
    'strcontains("abc", "b")': True,
    'substr("abcd", 1, 2)': "bc",
    'substr("abcd", -2, -1)': "cd",
    'strrev("abc")': "cba",
    'trim("-a-", "-")': "a",
    'chomp("a\\n")': "a",
    'indent(2, "a\\nb")': "a\n  b",
    'formatlist("%s-%s", local.names, var.env)': ["b-prod", "a-prod", "b-prod"],
    "chunklist([1, 2, 3], 2)": [[1, 2], [3]],
    "slice([1, 2, 3], 1, 3)": [2, 3],
    'index(local.names, "a")': 1,
    "coalescelist([], [1])": [1],
    'matchkeys([1, 2], ["a", "b"], ["b"])': [2],
    'setunion(["b"], ["a", "b"])': ["a", "b"],
    'setintersection(["b", "c"], ["b"])': ["b"],
    'setsubtract(["b", "c"], ["b"])': ["c"],
    'transpose({ a = ["x"], b = ["x", "y"] })': {"x": ["a", "b"], "y": ["b"]},
    'jsonencode({ b = 1, a = [true, null, "<"] })': '{"a":[true,null,"\\u003c"],"b":1}',
    'jsondecode("{\\"a\\": [1, 2.5, null]}")': {"a": [1, 2.5, None]},
    'yamldecode("a: [1, no, 010, 1_000, 0x1, \\"2\\"]")': {"a": [1, False, 10, 1000, "0x1", "2"]},
    'yamldecode("b: &b {x: 1}\\na:\\n  <<: *b\\n  y: 2")': {"b": {"x": 1}, "a": {"x": 1, "y": 2}},
    'csvdecode("a,b\\n1,2\\n")': [{"a": "1", "b": "2"}],
    'base64encode("a")': "YQ==",
    'base64decode("YQ==")': "a",
    'urlencode("a b/c")': "a+b%2Fc",
    'md5("a")': "0cc175b9c0f1b6a831c399e269772661",
    'basename("a/b.yaml")': "b.yaml",
    'dirname("a/b.yaml")': "a",
    'regex("^[a-z]+", "abc1")': "abc",
    'regex("([a-z]+)([0-9])", "abc1")': ["abc", "1"],
    'regex("(?P<name>[a-z]+)", "abc1")': {"name": "abc"},
    'regexall("[0-9]", "a1b2")': ["1", "2"],
    'replace("a.b.c", "/[.](b)/", "-$1")': "a-b.c",
    'replace("ab", "/(?P<x>a)/", "$${x}$$")': "a$b",
    'can(regex("^x", "abc"))': False,
}
UNKNOWN = {
    # What is not written of a resource may have a value that only its provider knows.
    'try(kafka_topic.orders["small"].config, {})': (
        '${try(kafka_topic.orders["small"].config, {})}'
    ),
    "try(values(kafka_topic.orders)[0].id, 1)": "${try(values(kafka_topic.orders)[0].id, 1)}",
    "try(kafka_topic.numbered[*].partitions, 1)": "${try(kafka_topic.numbered[*].partitions, 1)}",
    "keys(kafka_topic.single)": "${keys(kafka_topic.single)}",
    "merge(kafka_topic.single, {})": "${merge(kafka_topic.single, {})}",
    "jsonencode(kafka_topic.orders)": "${jsonencode(kafka_topic.orders)}",
    "[for k, v in kafka_topic.single : k]": "${[for k, v in kafka_topic.single : k]}",
    "keys(kafka_topic.itself)": "${keys(kafka_topic.itself)}",
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


LONG = '[for n in range(200) : format("%99999s", "x")]'
BOMBS = [
    f'formatlist("%s", {LONG})',
    f"jsonencode({LONG})",
    "pow(pow(2, 500), 500)",
    'yamldecode("a: &a [1,1,1,1,1,1,1,1,1]\\n'
    + "\\n".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(9)
    )
    + '")',
    '"%{ for a in range(9000) }%{ for b in range(900) }0123456789%{ endfor }%{ endfor }"',
    "transpose({ for n in range(1100) : n => range(1000) })",
]


@pytest.mark.parametrize("expression", BOMBS, ids=range(len(BOMBS)))
def test_a_value_that_takes_too_much_is_not_known(expression: str, tmp_path: Path) -> None:
    assert isinstance(value_of(tmp_path, expression), Unknown)
