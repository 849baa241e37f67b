"""The outcome of a fleet's runs, for people and programs.

The values are in ``kgitops.fleet.summary``, ``history.py`` and ``highlights.py``. Each form has a
module, which is imported where it is asked for: ``fleet_text.py``, ``fleet_json.py``,
``fleet_markdown.py``, ``fleet_html.py``.
"""
