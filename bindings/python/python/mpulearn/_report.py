"""The page about a fit."""

from __future__ import annotations

import html as _html
from pathlib import Path


class Report:
    """What was fitted, how good it is and what to mind, as an HTML page. Jupyter shows it."""

    def __init__(self, html):
        self.html = html

    def save(self, path):
        """Writes the page to a file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def __str__(self):
        return self.html

    def __repr__(self):
        return f"<Report: {len(self.html)} characters of HTML; save(path) writes it>"

    def _repr_html_(self):
        # A page of its own inside the notebook's: styles of neither reach the other.
        page = _html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'
