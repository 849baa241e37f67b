"""Names that a reader takes for others are warned of, wherever a command shows warnings."""

import json
from collections.abc import Mapping

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, Project, acl, as_yaml, document, quota, topic

from kgitops.model.registry import Json
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)

CYRILLIC_A = "\N{CYRILLIC SMALL LETTER A}"
SPOOFED = f"User:{CYRILLIC_A}pp"
SAYS = (
    f"'{SPOOFED}' contains U+0430 CYRILLIC SMALL LETTER A as character 6, which looks like 'a'; "
    "write 'a', unless the name really has the other character"
)
REVERSING = "User:app\N{RIGHT-TO-LEFT OVERRIDE}nimda"


LIMITS = {"consumer_byte_rate": 1024}


def readers(*principals: str, **spec: Json) -> Document:
    """A document that lets these principals read."""
    made = acl(**spec)
    del made["spec"]["principal"]
    made["spec"]["principals"] = list(principals)
    return made


def line_of(project: Project, text: str) -> int:
    """The line of the manifests that has the text."""
    lines = (project.folder / "manifests" / "all.yaml").read_text().splitlines()
    (line,) = [number for number, line in enumerate(lines, 1) if text in line]
    return line


def behind(project: Project, principal: str) -> None:
    """Let another client give this principal the right to read the topic."""
    project.change_behind(CreateAclRequest(binding=binding_of(principal)))


def binding_of(principal: str) -> AclBinding:
    """The right to read the topic."""
    return AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name="orders",
        pattern_type=PatternType.LITERAL,
        principal=principal,
        host="*",
        operation=Operation.READ,
        permission_type=PermissionType.ALLOW,
    )


def warnings(kgitops: Kgitops, *words: object) -> list[Mapping[str, object]]:
    """The warnings of a plan about characters and names that look the same."""
    ran = kgitops("plan", *words, "--format", "json")
    assert ran.code == 0, ran.err
    rows = json.loads(ran.out)["warnings"]
    return [row for row in rows if "U+" in row["problem"] or "looks the same" in row["problem"]]


def test_validate_warns_at_the_line_of_the_name(project: Project, kgitops: Kgitops) -> None:
    project.write(topic(), acl(principal=SPOOFED))
    ran = kgitops("validate", project.folder)
    assert ran.code == 0
    line = line_of(project, "principal")
    assert f"manifests/all.yaml:{line}:18: warning: {SAYS}\n" in ran.err


def test_a_name_that_is_an_error_is_no_warning_too(project: Project, kgitops: Kgitops) -> None:
    project.write(topic("\u043erders"), topic("pay\u200bments"))
    ran = kgitops("validate", project.folder)
    assert ran.code == 1
    assert "2 findings." in ran.err
    assert "warning" not in ran.err


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html", "github", "sarif"])
def test_a_plan_warns_in_each_form(project: Project, kgitops: Kgitops, form: str) -> None:
    project.write(topic(), acl(principal=SPOOFED))
    ran = kgitops("plan", project.folder, "--format", form)
    assert ran.code == 0, ran.err
    assert "U+0430 CYRILLIC SMALL LETTER A as character 6" in ran.said.replace("%2B", "+")


def test_a_warning_names_each_place(project: Project, kgitops: Kgitops) -> None:
    """Members of a list, keys of a mapping, and fields of all kinds."""
    project.write(
        topic(),
        readers("User:a", SPOOFED, resource={"type": "group", "name": "\uff41pp"}),
        document("ClientQuota", "q", entity={"user": "\N{KELVIN SIGN}afka"}, quotas=LIMITS),
        document("VirtualCluster", "sales", members={"users": ["User:\u2217"]}),
        document("ConsumerGroup", "cafe\u0301"),
    )
    found = warnings(kgitops, project.folder)
    lines = [row["source"]["line"] for row in found]
    assert lines == sorted(lines)
    said = " ".join(str(row["problem"]) for row in found)
    for code in ("U+0430", "U+FF41", "U+212A", "U+2217", "U+0301"):
        assert said.count(code) == 1, code


def test_ordinary_names_of_any_script_are_quiet(project: Project, kgitops: Kgitops) -> None:
    project.write(
        topic(),
        readers("User:Привет", "User:日本", "User:caf\u00e9", "User:*"),
        quota("Ελλάδα"),
    )
    assert warnings(kgitops, project.folder) == []


def test_declared_twins_are_warned_of(project: Project, kgitops: Kgitops) -> None:
    """Also across kinds: the user of a quota and the principal of a right."""
    spoofed = document("ClientQuota", "q", entity={"user": f"{CYRILLIC_A}pp"}, quotas=LIMITS)
    project.write(topic(), acl(principal="User:app"), spoofed)
    twin = [row for row in warnings(kgitops, project.folder) if "U+" not in str(row["problem"])]
    (row,) = twin
    assert row["source"]["line"] == line_of(project, '"user":')
    place = f"manifests/all.yaml:{line_of(project, 'User:app')}:18"
    assert row["problem"].startswith("'\\u0430pp' looks the same as 'User:app' at ")
    assert row["problem"].endswith(place)


def test_forms_of_unicode_are_twins(project: Project, kgitops: Kgitops) -> None:
    project.write(topic(), readers("User:caf\u00e9", "User:cafe\u0301"))
    said = [str(row["problem"]) for row in warnings(kgitops, project.folder)]
    assert len(said) == 2
    assert "not in Unicode's form NFC" in said[0] + said[1]
    assert "looks the same as" in said[0] + said[1]


@pytest.mark.parametrize(
    ("declared", "existing"),
    [("User:app", SPOOFED), (SPOOFED, "User:app"), ("User:\u00e9", "User:e\u0301")],
)
def test_a_twin_on_the_cluster_is_warned_of(
    project: Project, kgitops: Kgitops, declared: str, existing: str
) -> None:
    project.write(topic())
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    behind(project, existing)
    project.write(topic(), acl(principal=declared))
    said = [row for row in warnings(kgitops, project.folder) if "cluster" in str(row["problem"])]
    (row,) = said
    assert row["source"]["line"] == line_of(project, "principal")
    assert "looks the same as" in row["problem"]


def test_a_name_on_the_cluster_that_a_plan_shows_is_warned_of(
    project: Project, kgitops: Kgitops
) -> None:
    """The document is gone, so that the plan deletes the right; drift shows it as well."""
    project.write(topic(), acl(principal=SPOOFED))
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    project.write(topic())
    (row,) = warnings(kgitops, project.folder)
    assert row["source"] is None
    assert "U+0430 CYRILLIC SMALL LETTER A" in row["problem"]
    assert "acl/" in row["problem"]


REPORTS: tuple[tuple[object, ...], ...] = (
    ("validate", "--format", "text"),
    ("validate", "--format", "json"),
    *(("plan", "--format", form) for form in ("text", "json", "markdown", "html", "github")),
)


@pytest.mark.parametrize("words", REPORTS, ids=" ".join)
def test_text_is_never_reversed(project: Project, kgitops: Kgitops, words: tuple[str, ...]) -> None:
    """No form prints a character that reorders, and the warning names it."""
    project.write(topic(), acl(principal=REVERSING), quota(REVERSING.removeprefix("User:")))
    command, *options = words
    ran = kgitops(command, project.folder, *options)
    assert ran.code == 0, ran.err
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in ran.out + ran.err
    assert "U+202E RIGHT-TO-LEFT OVERRIDE" in ran.said.replace("%2B", "+")


def test_a_command_warns_of_the_name_that_it_is_given(kgitops: Kgitops, project: Project) -> None:
    project.write(topic())
    words = ("--operation", "Read", "--topic", "orders", "-c", f"embedded:{project.store}")
    project.store.parent.mkdir(parents=True)
    ran = kgitops("acls", "--add", "--allow-principal", SPOOFED, *words)
    assert ran.code == 0, ran.err
    assert "warning: " in ran.err
    assert "U+0430 CYRILLIC SMALL LETTER A" in ran.err


def test_drift_warns_of_the_names_that_it_shows(project: Project, kgitops: Kgitops) -> None:
    project.write(topic(), acl(principal=SPOOFED))
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    project.change_behind(DeleteAclRequest(binding=binding_of(SPOOFED)))
    ran = kgitops("drift", project.folder)
    assert ran.out.count("U+0430 CYRILLIC SMALL LETTER A") == 1


def test_the_names_of_other_projects_are_no_warning(project: Project, kgitops: Kgitops) -> None:
    """A plan only counts the objects that no project manages."""
    project.write(topic())
    behind(project, SPOOFED)
    assert warnings(kgitops, project.folder) == []


def test_a_project_file_has_names(project: Project, kgitops: Kgitops) -> None:
    project.write(topic())
    project.write_file(
        metadata={"name": f"p{CYRILLIC_A}y", "labels": {"note": f"p{CYRILLIC_A}y"}},
        principal="User:\uff4bgitops",
        clusters={"loc\u200bal": {"url": "embedded:"}},
    )
    ran = kgitops("validate", project.folder)
    assert ran.code == 0, ran.err
    for code in ("U+0430", "U+FF4B", "U+200B"):
        assert ran.err.count(code) == 1, ran.err
    assert ran.err.count("kgitops.yaml:") == 3


def test_policies_and_waivers_have_names(project: Project, kgitops: Kgitops) -> None:
    project.write(topic())
    project.write_file(policies=["policies"])
    (project.folder / "policies").mkdir()
    waiver = document(
        "Waiver",
        "w",
        policy=f"p{CYRILLIC_A}",
        address="topic/orders",
        owner="te\u0430m",
        reason="p\u0430",
        ticket="X-1",
        expires="2099-01-01",
    )
    (project.folder / "policies" / "w.yaml").write_text(as_yaml([waiver]))
    ran = kgitops("validate", project.folder)
    assert ran.err.count("U+0430 CYRILLIC SMALL LETTER A as character 2,") == 1
    assert ran.err.count("U+0430 CYRILLIC SMALL LETTER A as character 3,") == 1


def test_values_of_the_environment_are_not_shown(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHO", f"secret-{CYRILLIC_A}pp")
    project.write(topic(), readers("User:${env:WHO}", "User:secret-app"))
    ran = kgitops("validate", project.folder)
    assert "'User:${env:WHO}' contains U+0430" in ran.err
    assert "'User:${env:WHO}' looks the same as 'User:secret-app'" in ran.err
    assert f"secret-{CYRILLIC_A}" not in ran.err
    assert "\\u0430" not in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("acls", "--add", "--allow-principal", REVERSING, "--operation", "Read", "--topic", "x"),
        ("acls", "--list"),
        ("snapshot",),
        ("registry", "check"),
        ("registry", "export"),
        ("registry", "release", "--to", "other\N{RIGHT-TO-LEFT OVERRIDE}"),
        ("reconcile", "suspend", "--reason", "r\N{RIGHT-TO-LEFT OVERRIDE}"),
        ("explain", f"user/{REVERSING}"),
        ("drift",),
        ("plan", "--full"),
    ],
    ids=" ".join,
)
def test_no_command_reverses_text(
    project: Project, kgitops: Kgitops, words: tuple[str, ...]
) -> None:
    """Names of objects and of the project, and words of the command line."""
    project.write(topic(), acl(principal=REVERSING))
    project.write_file(metadata={"name": "pay\N{RIGHT-TO-LEFT OVERRIDE}ments"})
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    behind(project, f"{REVERSING}2")
    where = ("-c", f"embedded:{project.store}") if words[0] == "acls" else (project.folder,)
    ran = kgitops(*words, *where)
    assert ran.out + ran.err
    assert ran.code in (0, 64 if words[0] == "explain" else 0), ran.err
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in ran.out + ran.err


@pytest.mark.parametrize("words", [("export",), ("graph",), ("bindings",)], ids=" ".join)
def test_no_command_for_virtual_clusters_reverses_text(
    project: Project, kgitops: Kgitops, words: tuple[str, ...]
) -> None:
    project.write(document("VirtualCluster", "sales", members={"users": [REVERSING]}))
    url = f"embedded:{project.store}?virtual.clusters=lowered"
    assert kgitops("apply", project.folder, "-c", url, "--auto-approve").code == 0
    ran = kgitops("vc", *words, "-c", url)
    assert ran.code == 0, ran.err
    assert "nimda" in ran.out
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in ran.out + ran.err
