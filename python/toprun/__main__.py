"""`python -m toprun`: becomes the binary that was installed with this package."""

import importlib.metadata
import os
import pathlib
import sys
import sysconfig


def candidates():
    """Where the binary may be: where pip put it, then beside this Python's other scripts."""
    try:
        for file in importlib.metadata.files("toprun") or []:
            if file.name == "toprun":
                yield pathlib.Path(file.locate())
    except importlib.metadata.PackageNotFoundError:
        pass  # the package is used from a folder
    yield pathlib.Path(sysconfig.get_path("scripts")) / "toprun"


def main():
    looked = []
    for path in candidates():
        path = os.path.normpath(path)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            os.execv(path, [path, *sys.argv[1:]])
        looked.append(path)
    sys.exit(f"toprun: no binary at {', '.join(looked)}; install the package toprun again")


if __name__ == "__main__":
    main()
