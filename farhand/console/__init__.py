"""The web page that shows a run and takes the operator's requests, in a process of its own."""

from farhand.console.scene import scene_of
from farhand.console.serve import Page, serve

__all__ = ["Page", "scene_of", "serve"]
