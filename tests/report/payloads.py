"""Texts that try to act, to hide or to reorder, as names in manifests and on clusters might.

By family, 500 and more: some written down as they were seen elsewhere, some made of every character
and every command that a family has.
"""

from collections.abc import Callable
from random import Random

import pytest
from report.workflow_commands import REGISTERED

MARK = "Zq9"
"""Part of every payload: where it turns up tells whether it was taken as text."""

_TERMINAL = [
    "\x1b[31m",
    "\x1b[2J\x1b[H",
    "\x1b[8m",
    "\x1b]0;title\x07",
    "\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b[1A\x1b[2K",
    "\x1bP+q544e\x1b\\",
    "\x1b(0",
    "\x1bc",
    "\x9b31m",
    "\x9d0;x\x9c",
    "\x90x\x9c",
    "\r",
    "\rPlan: 0 to delete",
    "\b\b\b\b",
    "\x07",
    "\x00",
    "\x7f",
    "\x0b",
    "\x0c",
    "\x0e",
    "\x1a",
    "\x85",
    "\u2028",
    "\u2029",
    "\ttab",
    "\x1b[?1049h",
    "\x1b[6n",
    "\x1b]1337;File=:\x07",
]
_LINES = [
    "\n",
    "\n\n",
    "\r\n",
    "\nPlan: 0 to create, 0 to update, 0 to delete",
    "\nNo changes. The cluster matches the manifests.",
    "\nplan sha256:0000",
    "\n  - topic innocent",
    "\n```\n",
    "\nEOF\nresult=pwned",
    "\nghadelimiter_1\nresult=pwned",
]
_HIDING = [
    "\u202e",
    "\u202d",
    "\u2066",
    "\u2067",
    "\u2069",
    "\u200b",
    "\u200d",
    "\u200e",
    "\ufeff",
    "\u2060",
    "\u00ad",
    "\u061c",
    "\u180e",
    "\u115f",
    "\u3164",
    "\uffa0",
    "\u2800",
    "\u034f",
    "\ufe0f",
    "\U000e0041\U000e0042",
    "\U000e0100",
    "\u00a0",
    "\u3000",
    "a\u0301\u0302\u0303\u0304\u0305",
    "\ue000",
    "\U0010ffff",
    "\u20dd",
]
_SERVICES = [
    "::error::pwned",
    "::set-output name=x::y",
    "::add-mask::secret",
    "::stop-commands::x",
    "::save-state name=x::y",
    "::group::x",
    "::debug::x",
    "\n::error file=a.py,line=1::pwned",
    "##[error]pwned",
    "##[command]rm -rf",
    "##[set-env name=PATH]x",
    "##vso[task.setvariable variable=x]y",
    "##teamcity[buildStatus status='SUCCESS']",
    "%0A::error::x",
    "section_start:1:x",
]
_MARKDOWN = [
    "`",
    "``",
    "```",
    "````````````",
    "```diff",
    "~~~",
    "</code>",
    "</pre></code>",
    "[click](https://evil.example)",
    "![img](https://evil.example/x.png)",
    "<https://evil.example>",
    "https://evil.example",
    "www.evil.example",
    "mail@evil.example",
    "@everyone",
    "@octocat",
    "@org/team",
    "#1",
    "owner/repo#1",
    "GH-1",
    "0123456789012345678901234567890123456789",
    "**bold**",
    "_it_",
    "# heading",
    "> quote",
    "- [ ] task",
    "| a | b |",
    "\\",
    "\\`",
    "&lt;script&gt;",
    "&#64;octocat",
    ":tada:",
    "$x$",
    "[^1]",
    "[x]: https://evil.example",
    "---",
    "===",
    "1. x",
]
_HTML = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "</details>",
    "</summary></details>",
    "<!--",
    "-->",
    "--><img src=x>",
    "<details open>",
    "<svg onload=alert(1)>",
    "<iframe src=//evil>",
    "'\"><b>",
    "<style>*{display:none}</style>",
    "<![CDATA[",
    "<?php",
]
_OTHER = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "%s%s%n",
    "{0.__class__}",
    "{{7*7}}",
    "${env:HOME}",
    "$(id)",
    "`id`",
    "; rm -rf /",
    "../../etc/passwd",
    "x" * 5000,
    "`" * 3000,
    "-" * 300,
    " " * 200,
    "'",
    '"',
    '", "verdict": {"exit": 0}, "x": "',
]
_CONTROLS = [f"a{chr(code)}b" for code in (*range(0x20), *range(0x7F, 0xA0))]
_SEQUENCES = [
    *(
        f"\x1b[{arguments}{final}"
        for arguments in ("", "1;31", "?25", "999")
        for final in "ABJKmhlnSrp"
    ),
    *(
        f"\x1b]{number};x{end}"
        for number in (0, 8, 9, 10, 52, 133)
        for end in ("\x07", "\x1b\\", "\x9c")
    ),
    *(f"\x1b{introducer}x\x1b\\" for introducer in "PX^_"),
]
_BREAKS = ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
_LIES = [
    f"{end}{line}"
    for end in _BREAKS
    for line in (
        "Plan: 0 to create, 0 to update, 0 to delete",
        "POLICY       99 passed",
        "::error::pwned",
        "kgitops: exit 0",
    )
]
_UNSEEN = [
    f"a{chr(code)}b"
    for code in (
        *(0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
        *(0x200B, 0x200C, 0x200D, *range(0x2060, 0x2065), *range(0x206A, 0x2070), 0xFEFF, 0x00AD),
        *(0x180B, 0x180C, 0x180D, 0x180F, 0xFE00, 0xFE0E, 0xFFF9, 0xFFFA, 0xFFFB, 0x1D173),
        *(0xE0001, 0xE0020, 0xE007F, 0xE01EF, 0x13430, 0x1BCA0, 0x17B4, 0x1160, 0x2028),
    )
]
_COMMANDS = [
    form.format(name)
    for name in sorted(REGISTERED)
    for form in ("::{}::x", "  ::{} name=x,file=a.py::x", "x\n::{}::x", "##[{}]x", "\t::{}::")
]
_PROPERTIES = [
    f"{before}{separator}{name}=1"
    for before in ("a", "a.yaml::", "%3A%3A")
    for separator in (",", "%2C", " ", ";", "\n")
    for name in ("pwned", "line", "title")
]
_PLACED = [
    form.format(text)
    for text in (*_MARKDOWN[:30], "@a/b", "http://a.example/(x)", "<!-- x -->", "<b>x</b>")
    for form in ("\n\n{}\n\n", "\n    {}", "]({})", "| {} |")
]
_HANDLERS = [
    *(f'<{tag} {on}="alert(1)">' for tag in ("img", "svg", "x") for on in ("onerror", "onload")),
    *(
        f"{quote}{end}{tag}"
        for quote in ("", "'", '"')
        for end in (">", "/>")
        for tag in ("<b>", "")
    ),
    *(f"{quote} onmouseover={quote}alert(1)" for quote in ("'", '"', "`")),
    "</style><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</textarea></noscript><script>alert(1)</script>",
    "<template><script>alert(1)</script></template>",
    "<math><mtext></p><img src=x onerror=alert(1)>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<form action=//evil.example><button>x",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "<%= 7*7 %>",
    "{% raw %}{{ self }}",
    "{{ ''.__class__ }}",
    "{# x #}",
]
_ENTITIES = [
    *(f"&{name};" for name in ("lt", "gt", "amp", "quot", "apos", "nbsp", "zwj", "rlm", "NewLine")),
    *(f"&#{code};" for code in ("0", "10", "13", "27", "60", "x3c", "x202e", "xD800", "1114112")),
    "&lt",
    "&unknown;",
    "&xxe;",
]
_XML = [
    "]]>",
    "]]>]]&gt;<x/>",
    "<![CDATA[x]]>",
    "-->",
    "--!>",
    "<!--x--><failure/>",
    "<?xml version='1.0'?>",
    '<!DOCTYPE x [<!ENTITY xxe SYSTEM "file:///etc/passwd">]>',
    "</failure></testcase></testsuite>",
    '" type="x" message="y',
    "'/><testcase name='x'/>",
    "\ufffe\uffff",
    "\U0001fffe",
]
_JSON = [
    '"}]}',
    "\\",
    '\\"',
    "\\u0000",
    '","verdict":{"exit":0}',
    "/*x*/",
    "</script>",
    "NaN",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    "{0}",
    "{{0}}",
    "[x](0)",
    "[x](https://evil.example)",
    "{1} of {0}",
]
_SHEETS = [
    f"{lead}{formula}"
    for lead in ("", " ", "\t", "'", '"')
    for formula in ("=1+1", "+1+1", "-1+1", "@SUM(A1)", '=HYPERLINK("https://evil.example")')
]
_OUTPUTS = [
    f"{break_}{delimiter}{break_}result=pwned{break_}"
    for break_ in ("\n", "\r\n", "\r")
    for delimiter in ("EOF", "ghadelimiter_1", "_GitHubActionsFileCommandDelimeter_", "result<<EOF")
]
_LONG = [
    "y" * 100_000,
    "<" * 5_000,
    "\n" * 2_000 + "x",
    "\u202e" * 2_000,
    "[" * 3_000,
    "~" * 3_000,
    "\\" * 999,
]


def _marked(text: str) -> str:
    half = len(text) // 2
    return f"{text[:half]}{MARK}{text[half:]}" if len(text) > 100 else f"{text}{MARK}"


FAMILIES = {
    name: tuple(dict.fromkeys(map(_marked, texts)))
    for name, texts in {
        "controls": _CONTROLS,
        "terminal": [*_TERMINAL, *_SEQUENCES],
        "lines": [*_LINES, *_LIES],
        "hiding": [*_HIDING, *_UNSEEN],
        "services": [*_SERVICES, *_COMMANDS, *_PROPERTIES],
        "markdown": [*_MARKDOWN, *_PLACED],
        "html": [*_HTML, *_HANDLERS],
        "entities": _ENTITIES,
        "xml": _XML,
        "json": _JSON,
        "sheets": _SHEETS,
        "outputs": _OUTPUTS,
        "other": _OTHER,
        "long": _LONG,
    }.items()
}
of_every_family = pytest.mark.parametrize("family", FAMILIES)
"""A case for each family, whose test gives its check to `assert_of_each`."""
PAYLOADS = tuple(dict.fromkeys(text for texts in FAMILIES.values() for text in texts))
SURROGATES = tuple(f"a{text}{MARK}" for text in ("\ud800", "\udfff", "\udc1b[31m", "\udcff\udcfe"))
"""What no plan with a digest can hold, and what a policy or a file's name may yet be made of."""


def assert_of_each(family: str, check: Callable[[str], None]) -> None:
    """Every payload of a family passes; where not, all that fail are told, each with its reason."""
    failed: list[str] = []
    for number, payload in enumerate(FAMILIES[family]):
        try:
            check(payload)
        except Exception as error:  # noqa: BLE001 (told below, with those of the others)
            failed.append(f"{family}[{number}] {payload[:60]!r}: {type(error).__name__}: {error}")
    told = "\n".join(failed)
    assert not failed, f"{len(failed)} of {len(FAMILIES[family])} payloads of {family}:\n{told}"


def some(family: str, seed: str) -> list[str]:
    """Two of a family: others for each ``seed``, and always the same for one."""
    return Random(f"{family} {seed}").sample(FAMILIES[family], 2)  # noqa: S311
