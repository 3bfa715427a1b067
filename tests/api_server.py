"""An API server of Kubernetes for a real kubectl: enough of it for PyTorchJobs, TrainJobs, JobSets and pods.

    server = ApiServer(folder)      # its objects are server.objects; nobody acts on them yet (operators.py)
    env = {"KUBECONFIG": server.kubeconfig}

It answers as a real one does: discovery, objects checked by their CRD's schema where that is at hand, Status
objects for refusals, pages of lists and their other forms (api_lists.py), watches as JSON lines, pods' logs as a
stream. Faults are set by `refuse`, `rights` and `slow_s`; `asked` has what was asked.
"""

import functools
import http.server
import json
import pathlib
import re
import socket
import ssl
import threading
import time
import urllib.parse

import yaml

import crd_check
import operator_schemas
from api_lists import check_token, list_answer, metadata_alone, page_of, resource_in
from api_objects import BUILT_IN, RESOURCES, Objects, Refusal, absent, has_fields, qualified

CRDS = pathlib.Path(__file__).resolve().parents[2] / "shared/data/crds"
CHUNK_BYTES = 1 << 20
LOOK_S = 0.02  # how often a followed log is looked at
WATCH_S = 60
OF_THE_CLUSTER = ("namespaces", "nodes", "customresourcedefinitions")
VERBS = ["create", "delete", "get", "list", "watch"]
KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{{name: test, cluster: {{server: "{server}"}}}}]
users: [{{name: test, user: {{}}}}]
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
current-context: test
"""


def fields(*parts):
    """A message of protocol buffers whose fields are all texts or messages."""
    out = b""
    for number, value in parts:
        value = value.encode() if isinstance(value, str) else value
        length, rest = b"", len(value)
        while rest > 127:
            length, rest = length + bytes([rest & 127 | 128]), rest >> 7
        out += bytes([number << 3 | 2]) + length + bytes([rest]) + value
    return out


def openapi():
    """The document that kubectl looks into for whether a kind knows a trial (`dryRun`), as OpenAPIv2.proto of
    gnostic has it. Of kinds that it does not describe, as ours, kubectl asks that of a Namespace's `patch`."""
    parameter = fields((1, fields((2, fields((3, fields((2, "query"), (4, "dryRun"))))))))
    kind = "group: \"\"\nkind: Namespace\nversion: v1\n"
    extension = fields((1, "x-kubernetes-group-version-kind"), (2, fields((2, kind))))
    operation = fields((8, parameter), (13, extension))
    item = fields((1, "/api/v1/namespaces/{name}"), (2, fields((8, operation))))
    return fields((1, "2.0"), (8, fields((2, item))))


def crd_of(plural, release=None):
    """Where the schema of its objects is, as crd_check.py has it; `release`: an older one's, as "2.0"."""
    if release:
        return f"{plural.removesuffix('s')}-{release}"
    path = CRDS / f"{plural.removesuffix('s')}.yaml"
    if path.exists():
        return path
    return plural.removesuffix("s") if plural in ("jobsets", "pytorchjobs", "trainjobs") else None


@functools.cache
def published(crd):
    """A whole CRD's own schema, or what ours knows of it."""
    if isinstance(crd, pathlib.Path):
        return yaml.load(crd.read_text(), yaml.CSafeLoader)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return operator_schemas.published(crd_check.schema_of(crd))


def check_schema(plural, item, release=None):
    crd = crd_of(plural, release)
    if crd is None:
        return
    words = "\n".join(crd_check.objections(crd, [item]))
    if unknown := re.search(r"object 0: ([\w.]*): Additional properties are not allowed \('(\w+)' ", words):
        version = item["apiVersion"].rpartition("/")[2]
        raise Refusal(400, "BadRequest", f'{item["kind"]} in version "{version}" cannot be handled as a {item["kind"]}: '
                      f'strict decoding error: unknown field "{".".join(filter(None, unknown.groups()))}"')
    if words:
        name = item["metadata"].get("name", item["metadata"].get("generateName"))
        raise Refusal(422, "Invalid", f'{item["kind"]} "{name}" is invalid: {words}', {
            "name": name, "group": item["apiVersion"].partition("/")[0], "kind": item["kind"],
            "causes": [{"reason": "FieldValueInvalid", "message": words, "field": "spec"}]})


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, address, handler):
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    def handle_error(self, *_):
        pass  # a client that has gone, or trusts no such certificate


class ApiServer:
    def __init__(self, folder, certificate=None, address="127.0.0.1"):
        """`certificate`: (file, key); without one it speaks plain HTTP."""
        self.objects = Objects()
        self.absent = set()             # plurals of CRDs that are not installed
        self.refuse = lambda verb, plural, item: None   # → a Refusal
        self.rights = None              # api_lists.Rights of whoever asks; None: all
        self.tokens = None              # rights (or None) by bearer token; None: nobody needs one
        self.accepted = []              # the Accept header of each list
        self.too_old = 0                # so many continue tokens from now on have expired
        self.versions = {}              # of a group, where another is served than RESOURCES has
        self.webhooks = []              # (plural, item): what changes an object before it is kept
        self.views = {}                 # by group: (namespace, name, subresource) → what another API server answers
        self.asked = []                 # (verb, path, query) of each question
        self.slow_s = 0                 # before each answer
        self.releases = {}              # plural of a kind → its operator's older release, as "2.0"
        self.publishes = True           # the schemas of its kinds (OpenAPI v3)
        self.delete = self.objects.remove       # (plural, namespace, name): as foreground deletion ends
        self.log_of = lambda pod: None          # → (path, whether more will come); a Refusal is raised
        for name in ("default", "ml"):
            self.objects.create("namespaces", None, {"apiVersion": "v1", "kind": "Namespace",
                                                     "metadata": {"name": name}})
        for plural, group, _, kind in [row for row in RESOURCES if row[1] not in BUILT_IN]:
            self.objects.create("customresourcedefinitions", None, {
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{plural}.{group}"}, "spec": {"group": group, "names": {"kind": kind}}})
        api = self

        class Handler(RequestHandler):
            server_of = api
        self.http = Server((address, 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(KUBECONFIG.format(server=f"http://127.0.0.1:{self.http.server_port}"))

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def installed(self):
        return [(plural, group, self.versions.get(group, version), kind) for plural, group, version, kind in RESOURCES
                if plural not in self.absent]

    def discovery(self, path):
        """What is under /api and /apis, without objects; None: something else."""
        groups = sorted({(row[1], row[2]) for row in self.installed() if row[1]})
        if path == "/version":
            return {"major": "1", "minor": "32", "gitVersion": "v1.32.0"}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
                {"name": group, "versions": [{"groupVersion": f"{group}/{version}", "version": version}],
                 "preferredVersion": {"groupVersion": f"{group}/{version}", "version": version}}
                for group, version in groups]}
        for group, version in [("", "v1"), *groups]:
            if path == (f"/apis/{group}/{version}" if group else "/api/v1"):
                return {"kind": "APIResourceList", "apiVersion": "v1",
                        "groupVersion": f"{group}/{version}" if group else "v1",
                        "resources": [{"name": plural, "singularName": kind.lower(), "kind": kind, "verbs": VERBS,
                                       "namespaced": plural not in OF_THE_CLUSTER}
                                      for plural, its_group, _, kind in self.installed() if its_group == group]}
        return None

    def schemas(self, path):
        """What /openapi/v3/apis/GROUP/VERSION tells; None: nothing is there."""
        found = {}
        for plural, group, version, kind in self.installed():
            crd = crd_of(plural, self.releases.get(plural))
            if path != f"/openapi/v3/apis/{group}/{version}" or crd is None:
                continue
            found[f"{group}.{version}.{kind}"] = {
                **published(crd),
                "x-kubernetes-group-version-kind": [{"group": group, "kind": kind, "version": version}]}
        return {"openapi": "3.0.0", "info": {"title": "Kubernetes"}, "components": {"schemas": found}} if found else None

    def place(self, path):
        """(plural, namespace, name, subresource) of an object's path."""
        group, version, namespace, plural, name, sub = resource_in(path)
        if (plural, group, version) not in [row[:3] for row in self.installed()]:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        return plural, namespace, name, sub

    def create(self, plural, namespace, item, trial):
        if not self.objects.find("namespaces", None, namespace):
            raise absent("namespaces", namespace)
        check_schema(plural, item, self.releases.get(plural))
        for webhook in self.webhooks:
            webhook(plural, item)
        if trial:
            item["metadata"].setdefault("name", item["metadata"].get("generateName", "") + "trial")
            return item
        return self.objects.create(plural, namespace, item)


class RequestHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.handle_with(self.get)

    def do_POST(self):
        self.handle_with(self.post)

    def do_DELETE(self):
        self.handle_with(self.remove)

    def handle_with(self, action):
        time.sleep(self.server_of.slow_s)
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            action(url.path)
        except Refusal as refusal:
            self.answer(refusal.status(), refusal.code)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self, value, code=200):
        with self.server_of.objects.changed:
            data = json.dumps(value).encode()
        self.answer_bytes(data, "application/json", code)

    def answer_bytes(self, data, type, code=200):
        self.send_response(code)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin_stream(self, type):
        self.send_response(200)
        self.send_header("Content-Type", type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def check(self, verb, plural, item=None):
        refusal = self.server_of.refuse(verb, plural, item)
        if refusal:
            raise refusal

    def authorize(self, verb, path):
        """Before anything is looked for, as a real one."""
        api, rights = self.server_of, self.server_of.rights
        if api.tokens is not None:
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if token not in api.tokens:
                raise Refusal(401, "Unauthorized", "Unauthorized")
            rights = api.tokens[token]
        api.asked.append((verb, path, self.query))
        if rights:
            rights.check(verb, path)

    def get(self, path):
        api = self.server_of
        if path == "/openapi/v2":
            self.answer_bytes(openapi(), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
            return
        if path.startswith("/openapi/v3/apis/"):
            found = api.schemas(path) if api.publishes else None
            if not found:
                raise Refusal(404, "NotFound", "the server could not find the requested resource")
            self.answer(found)
            return
        self.check("discover", path)
        found = api.discovery(path)
        if found:
            self.answer(found)
            return
        if not path.startswith(("/api/", "/apis/")):
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        if len(path.strip("/").split("/")) < (4 if path.startswith("/apis/") else 3):  # of a group that is not there
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        watched = self.query.get("watch") in ("1", "true")
        self.authorize("get" if resource_in(path)[4] else "watch" if watched else "list", path)
        group, _, namespace, plural, name, sub = resource_in(path)
        if group in api.views:
            self.answer(api.views[group](namespace, name, sub))
            return
        plural, namespace, name, sub = api.place(path)
        self.check("get", plural)
        if name and sub == "log":
            self.log(namespace, name)
        elif name:
            item = api.objects.find(plural, namespace, name)
            if not item:
                raise absent(plural, name)
            alone = "as=PartialObjectMetadata;" in self.headers.get("Accept", "")
            self.answer(metadata_alone(item) if alone else item)
        elif watched:
            self.watch(plural, namespace)
        else:
            self.list(plural, namespace)

    def list(self, plural, namespace):
        api = self.server_of
        check_token(self.query, api.too_old)
        api.accepted.append(self.headers.get("Accept", ""))
        with api.objects.changed:
            items = [item for item in api.objects.list(plural, namespace, self.query.get("labelSelector", ""))
                     if has_fields(self.query.get("fieldSelector", ""), item)]
            items, meta = page_of(items, self.query, len(api.objects.events))
            self.answer(list_answer(items, meta, plural, self.headers.get("Accept", "")))

    def watch(self, plural, namespace):
        objects = self.server_of.objects
        at = int(self.query.get("resourceVersion") or 0)
        name = self.query.get("fieldSelector", "").removeprefix("metadata.name=")
        self.begin_stream("application/json")
        deadline = time.monotonic() + WATCH_S
        while time.monotonic() < deadline:
            with objects.changed:
                objects.changed.wait_for(lambda: len(objects.events) > at, timeout=1)
                news, at = objects.events[at:], len(objects.events)
            for _, type, kind, space, item in news:
                if kind == plural and space == namespace and name in ("", item["metadata"]["name"]):
                    self.chunk(json.dumps({"type": type, "object": item}).encode() + b"\n")
        self.chunk(b"")

    def log(self, namespace, name):
        api = self.server_of
        pod = api.objects.find("pods", namespace, name)
        if not pod:
            raise absent("pods", name)
        path, _ = api.log_of(pod)
        self.begin_stream("text/plain")
        with open(path, "rb") as file:
            if "tailLines" in self.query:
                lines = file.read().splitlines(keepends=True)
                if last := b"".join(lines[max(0, len(lines) - int(self.query["tailLines"])):]):
                    self.chunk(last)
            while True:
                more = self.query.get("follow") == "true" and api.log_of(pod) == (path, True)
                while data := file.read(CHUNK_BYTES):
                    self.chunk(data)
                if not more:
                    break
                time.sleep(LOOK_S)
        self.chunk(b"")

    def post(self, path):
        self.authorize("create", path)
        plural, namespace, _, _ = self.server_of.place(path)
        item = json.loads(self.body)
        self.check("create", plural, item)
        self.answer(self.server_of.create(plural, namespace, item, "dryRun" in self.query), 201)

    def remove(self, path):
        api = self.server_of
        self.authorize("delete", path)
        plural, namespace, name, _ = api.place(path)
        self.check("delete", plural)
        if not api.objects.find(plural, namespace, name):
            raise absent(plural, name)
        api.delete(plural, namespace, name)
        self.answer({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                     "details": {"name": name, "kind": qualified(plural)}})
