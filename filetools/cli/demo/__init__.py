"""The demo: scenes in which many write one small project at once, and a count of what is left of their work."""

from filetools.cli.demo.playing import ALONE, SCENES, play, play_only, scene_names
from filetools.cli.demo.scenes.scene import Scene
from filetools.cli.demo.stage import Stage

__all__ = ["ALONE", "SCENES", "Scene", "Stage", "play", "play_only", "scene_names"]
