"""Loads what every test stands on; fixtures of one part live beside its tests."""

pytest_plugins = [
    "pytester",
    "tests.plugin.loop",
    "tests.plugin.needs",
    "tests.plugin.properties",
]
