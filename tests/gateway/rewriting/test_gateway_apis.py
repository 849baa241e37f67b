"""The page of the APIs that a gateway announces."""

from gateway_apis import PAGE, render_gateway_apis


def test_the_page_is_up_to_date() -> None:
    """To write it again: uv run python tools/gateway_apis.py."""
    assert PAGE.read_text(encoding="utf-8") == render_gateway_apis()
