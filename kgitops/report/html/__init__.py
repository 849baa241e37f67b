"""A plan as one HTML file that opens from disk, without a network, with or without JavaScript."""

from kgitops.report.html.render import render_html

__all__ = ["render_html"]
