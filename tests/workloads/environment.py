"""Writes what it finds in its environment.

    environment.py FOLDER
"""

import json
import os
import pathlib
import sys

path = pathlib.Path(sys.argv[1]) / os.environ["RANK"]
path.write_text(json.dumps(dict(os.environ)))
