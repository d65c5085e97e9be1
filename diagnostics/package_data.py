"""Read a file of this package, whatever it lies in.

Not `importlib.resources`: its import takes longer than most of what is read, and 1.4 MiB for good.
"""

import pkgutil


def data(package: str, path: str) -> bytes:
    """Return the file at *path* within *package*; raises OSError where it is not there."""
    found = pkgutil.get_data(package, path)
    assert found is not None, "the loader of a package on disk gives bytes"
    return found


def text(package: str, path: str) -> str:
    """Return it as text."""
    return data(package, path).decode("utf-8")
