#!/usr/bin/env python3
"""The JSON Schema of toprun.toml, as the program knows its keys: docs/reference/schemas/config.json.

    tools/config_schema.py [TOPRUN] > docs/reference/schemas/config.json

Keys and descriptions come from the help of the verbs that read the file, which is made from the table of options. Whether
an option may be a key, and which kinds of values it takes, toprun says itself: it is asked with one file for each.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE / "tests"))
import command_lines  # noqa: E402

VERBS = ("run", "submit", "shell", "setup")
KINDS = {"boolean": "true", "number": "1", "string": '"1"', "array": '["1"]', "object": '{ A = "1" }'}


def errors(program, verb, text):
    """What `toprun config show` says of a file with this text."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text + "\n")
        file.flush()
        return subprocess.run([program, "config", "show", verb, "--config-file", file.name], capture_output=True, text=True).stderr


def kinds(program, verb, key):
    return [kind for kind, value in KINDS.items() if not re.search(r": [\w-]+ cannot be (?:an? |true or false)", errors(program, verb, f"{key} = {value}"))]


def without_variables(text):
    return re.sub(r"\s*\[[A-Z0-9_, ]+\]$", "", text)


def properties(program):
    found = {}
    for verb in VERBS:
        words = ["--help"] if verb == "run" else ["help", verb]
        help_text = subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
        for option in command_lines.options_of(help_text):
            key = option.name.removeprefix("--")
            if key in ("help", "profile") or re.search("cannot be set in a file|unknown key", errors(program, verb, f"{key} = false")):
                continue
            if key not in found:
                found[key] = {"kinds": kinds(program, verb, key), "verbs_of": {}}
            found[key]["verbs_of"].setdefault(without_variables(option.text), []).append(verb)
    return dict(sorted(found.items()))


def schema(program):
    keys = {}
    for key, row in properties(program).items():
        values = [{"type": row["kinds"]}] + ([] if "boolean" in row["kinds"] else [{"const": False}])
        keys[key] = {"description": ". ".join(f"{', '.join(verbs)}: {text}" for text, verbs in row["verbs_of"].items()), "anyOf": values}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "toprun.toml",
        "description": "Options of toprun run, submit, shell and setup. A key may have underscores; false removes it.",
        "$ref": "#/$defs/options",
        "properties": {"default-profile": {"type": "string"},
                       "profile": {"type": "object", "additionalProperties": {"$ref": "#/$defs/options"}}},
        "$defs": {"options": {"type": "object", "properties": keys}},
    }


def text_of(program):
    return json.dumps(schema(program), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text_of(*(sys.argv[1:] or [str(HERE / "build/release/toprun")])))
