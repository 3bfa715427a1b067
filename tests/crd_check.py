"""What the schema of a CRD's file, or our own of JobSets, PyTorchJobs and TrainJobs ("jobset", "pytorchjob",
"trainjob": jobset_schema.py, operator_schemas.py), has against objects.

Debian's Python runs the tests, and has python3-jsonschema and python3-yaml.
"""

import functools
import pathlib

import jsonschema
import yaml

import jobset_schema
import operator_schemas


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


@functools.cache
def schema_of(path):
    if path == "jobset":
        return jobset_schema.SCHEMA
    if path in operator_schemas.SCHEMAS:
        return operator_schemas.SCHEMAS[path]
    crd = yaml.load(pathlib.Path(path).read_text(), yaml.CSafeLoader)  # ten times as fast as the one in Python
    schema = closed(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}  # the API's own, in no CRD
    return schema


def objections(path, objects):
    """A line for each."""
    validator = jsonschema.Draft7Validator(schema_of(path))
    out = []
    for i, document in enumerate(objects):
        lines = [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(document)]
        if not lines and path == "jobset":
            lines = jobset_schema.webhook(document)
        out += [f"object {i}: {line}" for line in lines]
    return out
