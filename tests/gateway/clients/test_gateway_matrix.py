"""The page about clients behind a gateway says what their tests assert."""

import os

from gateway.clients.matrix import CLIENTS, PAGE, PASSED, WRITE, render_page


def test_the_page_is_up_to_date() -> None:
    """Else run it with the variable of ``matrix.py``."""
    if os.environ.get(WRITE):
        PAGE.write_text(render_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == render_page()


def test_every_client_has_a_number_for_every_scenario() -> None:
    assert {len(counts) for counts in PASSED.values()} == {len(CLIENTS)}
