"""CRD.yaml | jobset < JSON list of objects: exit code 1 and a line for each object that the CRD's schema refuses,
or our own of JobSets (jobset_schema.py).

Run by Debian's Python, which has python3-jsonschema and python3-yaml; the tests' own need not.
"""

import json
import pathlib
import sys

import jsonschema
import yaml

import jobset_schema


def closed(schema):
    """An openAPIV3Schema as JSON Schema that refuses what the API server would drop as unknown."""
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    out = {key: closed(value) for key, value in schema.items() if key not in ("properties", "required", "enum")}
    out.update({key: schema[key] for key in ("required", "enum") if key in schema})
    if "properties" in schema:
        out["properties"] = {name: closed(value) for name, value in schema["properties"].items()}
        open_ended = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
        out.setdefault("additionalProperties", bool(open_ended))
    return out


def schema_of(path):
    if path == "jobset":
        return jobset_schema.SCHEMA
    crd = yaml.load(pathlib.Path(path).read_text(), yaml.CSafeLoader)  # ten times as fast as the one in Python
    schema = closed(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}  # the API's own, in no CRD
    return schema


def main():
    validator = jsonschema.Draft7Validator(schema_of(sys.argv[1]))
    refused = False
    for i, document in enumerate(json.load(sys.stdin)):
        lines = [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(document)]
        if not lines and sys.argv[1] == "jobset":
            lines = jobset_schema.webhook(document)
        for line in lines:
            print(f"object {i}: {line}")
        refused = refused or bool(lines)
    sys.exit(refused)


main()
