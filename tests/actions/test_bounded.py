"""Markdown that is cut leaves nothing open, and says where the rest is."""

from actions.scripts import module
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from report.payloads import assert_of_each, of_every_family
from tiers import examples

POINTER = "Cut off here, see the artefact."

FOLD = "<details><summary>x</summary>"

lines = st.lists(
    st.one_of(
        st.sampled_from(["```", "````", "`````diff", "~~~", "~~~~", "``` x`", " ```", "    ```"]),
        st.sampled_from([FOLD, "</details>", "", "text", "+ 💥" * 9]),
    ),
    max_size=40,
)


def cut(markdown: str, limit: int) -> str:
    with module("bounded") as bounded:
        return str(bounded.bounded(markdown, limit, POINTER))


@settings(max_examples=examples(1_000))
@given(lines, st.integers(100, 400))
@example([FOLD, *["```"] * 7, FOLD, FOLD, FOLD, "", "+ 💥" * 9], 200)
def test_the_pointer_is_never_inside_a_fence(written: list[str], limit: int) -> None:
    """Whatever is written, and wherever it is cut; judged by a parser of CommonMark."""
    markdown = "\n".join(written)
    text = cut(markdown, limit)
    assert len(text.encode()) <= limit
    if len(markdown.encode()) <= limit:
        assert text == markdown
        return
    last = [token for token in MarkdownIt("commonmark").parse(text) if token.content][-1]
    assert (last.type, last.content.splitlines()[-1]) == ("inline", POINTER)


def test_as_much_as_fits_is_kept() -> None:
    markdown = "```diff\n" + "+ a line of forty-some characters, or so\n" * 100 + "```"
    text = cut(markdown, 2_000)
    assert 1_950 < len(text) <= 2_000


@of_every_family
def test_text_of_others_can_t_leave_its_fence(family: str) -> None:
    def check(payload: str) -> None:
        tokens = MarkdownIt("commonmark").parse(f"{bounded.fenced(payload)}\n\nafter")
        assert [token.type for token in tokens][:2] == ["fence", "paragraph_open"]

    with module("bounded") as bounded:
        assert_of_each(family, check)
