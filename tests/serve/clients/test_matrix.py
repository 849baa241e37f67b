"""The page about clients says what their tests assert."""

import os

from serve.clients.matrix import FAMILIES, PAGE, PASSED, WRITE, render_page


def test_the_page_is_up_to_date() -> None:
    """Else run it with the variable of ``matrix.py``."""
    if os.environ.get(WRITE):
        PAGE.write_text(render_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == render_page()


def test_every_family_has_a_column() -> None:
    assert {family for counts in PASSED.values() for family in counts} == set(FAMILIES)
