"""What a fleet's runs came to, for people and programs.

The values are in ``summary.py`` and ``history.py``. Each form has a module, which is imported where
it is asked for: ``fleet_text.py``, ``fleet_json.py``, ``fleet_markdown.py``, ``fleet_html.py``.
"""
