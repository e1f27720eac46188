"""Pages: templates, the house style, and `render`."""

from dalenius.web.pages.render import Link, render

__all__ = ["Link", "render"]
