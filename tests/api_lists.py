"""What an API server makes of a list: pages of it, a table, metadata alone; and whom it refuses (RBAC).

    apimachinery  pkg/apis/meta/v1/types.go (ListMeta, Table, PartialObjectMetadata), pkg/api/errors/errors.go
    apiserver     pkg/storage/continue.go, pkg/endpoints/handlers/{get,response}.go
"""

import base64
import json

from api_objects import RESOURCES, Refusal

TOO_OLD = ("The provided continue parameter is too old to display a consistent list result. You can start a new list "
           "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
           "the results. Continuing with the provided token results in an inconsistent list - objects that were "
           "created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")


def resource_in(path):
    """(group, version, namespace, plural, name, subresource) of /api/v1/… or /apis/GROUP/VERSION/…."""
    words = path.strip("/").split("/")
    group, version, words = ("", words[1], words[2:]) if words[0] == "api" else (words[1], words[2], words[3:])
    namespace = None
    if words[:1] == ["namespaces"] and len(words) > 2:
        namespace, words = words[1], words[2:]
    plural, name, sub = (words + [None] * 3)[:3]
    return group, version, namespace, plural, name, sub


def forbidden(user, verb, group, plural, name, namespace, sub=None):
    """An authorizer's refusal, which comes before anything is looked for: of kinds that are not installed too."""
    what = f"{plural}.{group}" if group else plural
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    named = f'{what} "{name}"' if name else what
    return Refusal(403, "Forbidden", f'{named} is forbidden: User "{user}" cannot {verb} resource '
                                     f'"{plural}{"/" + sub if sub else ""}" in API group "{group}" {where}',
                   {"name": name, "group": group, "kind": plural})


class Rights:
    """What one account may do: `rules` has verbs by plural, as a Role; logs are "pods/log", "*" is every kind."""

    def __init__(self, user, rules):
        self.user, self.rules = user, rules

    def check(self, verb, path):
        group, _, namespace, plural, name, sub = resource_in(path)
        allowed = self.rules.get(f"{plural}/{sub}" if sub else plural, self.rules.get("*", ()))
        if verb not in allowed:
            raise forbidden(self.user, verb, group, plural, name, namespace, sub)


def key_of(item):
    metadata = item["metadata"]
    return [metadata.get("namespace") or "", metadata["name"]]


def page_of(items, query, version):
    """(items, ListMeta) of a page; `items` are sorted by their keys, as etcd has them."""
    after = None
    if token := query.get("continue"):
        after = json.loads(base64.urlsafe_b64decode(token))["start"]
        items = [item for item in items if key_of(item) > after]
    meta = {"resourceVersion": str(version)}
    limit = int(query.get("limit") or 0)
    if limit and len(items) > limit:
        start = {"v": "meta.k8s.io/v1", "rv": version, "start": key_of(items[limit - 1])}
        meta["continue"] = base64.urlsafe_b64encode(json.dumps(start).encode()).decode()
        if not (query.get("labelSelector") or query.get("fieldSelector")):
            meta["remainingItemCount"] = len(items) - limit
        items = items[:limit]
    return items, meta


def metadata_alone(item):
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]}


def table(items, meta):
    """The columns of a kind without printers of its own; each row with its object's metadata."""
    columns = [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
               {"name": "Created At", "type": "date", "format": "", "description": "", "priority": 0}]
    return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "columnDefinitions": columns,
            "rows": [{"cells": [item["metadata"]["name"], item["metadata"].get("creationTimestamp")],
                      "object": metadata_alone(item)} for item in items]}


def list_answer(items, meta, plural, accept):
    """In the first form of the Accept header that there is: application/json;as=Table;v=v1;g=meta.k8s.io, …"""
    for form in accept.split(","):
        options = dict(part.strip().partition("=")[::2] for part in form.split(";")[1:])
        if options.get("g", "meta.k8s.io") != "meta.k8s.io" or options.get("v", "v1") != "v1":
            continue
        if options.get("as") == "Table":
            return table(items, meta)
        if options.get("as") == "PartialObjectMetadataList":
            return {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": meta,
                    "items": [metadata_alone(item) for item in items]}
        if "as" not in options:
            break
    _, group, version, kind = next(row for row in RESOURCES if row[0] == plural)
    return {"kind": kind + "List", "apiVersion": f"{group}/{version}" if group else version, "metadata": meta,
            "items": items}


def check_token(query, too_old):
    """`too_old`: how many tokens from now on have outlived etcd's history."""
    if query.get("continue") and too_old > 0:
        raise Refusal(410, "Expired", TOO_OLD)
