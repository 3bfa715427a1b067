"""An API server of Kubernetes for a real kubectl: enough of it for PyTorchJobs, TrainJobs, JobSets and pods.

    server = ApiServer(folder)      # its objects are server.objects; nobody acts on them yet (operators.py)
    env = {"KUBECONFIG": server.kubeconfig}

It answers as a real one does: discovery, objects checked by their CRD's schema where that is at hand, Status
objects for refusals, watches as JSON lines, pods' logs as a stream. Faults are set by `refuse` and `slow_s`.
"""

import http.server
import json
import pathlib
import threading
import time
import urllib.parse

import crd_check
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


def crd_of(plural):
    """Where the schema of its objects is, as crd_check.py has it."""
    path = CRDS / f"{plural.removesuffix('s')}.yaml"
    if path.exists():
        return path
    return plural.removesuffix("s") if plural in ("jobsets", "pytorchjobs", "trainjobs") else None


def check_schema(plural, item):
    crd = crd_of(plural)
    if crd is None:
        return
    words = "\n".join(crd_check.objections(crd, [item]))
    if words:
        name = item["metadata"].get("name", item["metadata"].get("generateName"))
        raise Refusal(422, "Invalid", f'{item["kind"]} "{name}" is invalid: {words}', {
            "name": name, "group": item["apiVersion"].partition("/")[0], "kind": item["kind"],
            "causes": [{"reason": "FieldValueInvalid", "message": words, "field": "spec"}]})


class ApiServer:
    def __init__(self, folder):
        self.objects = Objects()
        self.absent = set()             # plurals of CRDs that are not installed
        self.refuse = lambda verb, plural, item: None   # → a Refusal
        self.slow_s = 0                 # before each answer
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
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(KUBECONFIG.format(server=f"http://127.0.0.1:{self.http.server_port}"))

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def installed(self):
        return [row for row in RESOURCES if row[0] not in self.absent]

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

    def place(self, path):
        """(plural, namespace, name, subresource) of an object's path."""
        words = path.strip("/").split("/")
        words = words[2:] if words[0] == "api" else words[3:]
        namespace = None
        if words[:1] == ["namespaces"] and len(words) > 2:
            namespace, words = words[1], words[2:]
        plural, name, sub = (words + [None] * 3)[:3]
        if plural not in [row[0] for row in self.installed()]:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        return plural, namespace, name, sub

    def create(self, plural, namespace, item, trial):
        if not self.objects.find("namespaces", None, namespace):
            raise absent("namespaces", namespace)
        check_schema(plural, item)
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

    def get(self, path):
        api = self.server_of
        if path == "/openapi/v2":
            self.answer_bytes(openapi(), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
            return
        self.check("discover", path)
        found = api.discovery(path)
        if found:
            self.answer(found)
            return
        if not path.startswith(("/api/", "/apis/")):
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        plural, namespace, name, sub = api.place(path)
        self.check("get", plural)
        if name and sub == "log":
            self.log(namespace, name)
        elif name:
            item = api.objects.find(plural, namespace, name)
            if not item:
                raise absent(plural, name)
            self.answer(item)
        elif self.query.get("watch") in ("1", "true"):
            self.watch(plural, namespace)
        else:
            self.list(plural, namespace)

    def list(self, plural, namespace):
        objects = self.server_of.objects
        _, group, version, kind = next(row for row in RESOURCES if row[0] == plural)
        with objects.changed:
            self.answer({"kind": kind + "List", "apiVersion": f"{group}/{version}" if group else version,
                         "metadata": {"resourceVersion": str(len(objects.events))},
                         "items": [item for item in objects.list(plural, namespace,
                                                                 self.query.get("labelSelector", ""))
                                   if has_fields(self.query.get("fieldSelector", ""), item)]})

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
        plural, namespace, _, _ = self.server_of.place(path)
        item = json.loads(self.body)
        self.check("create", plural, item)
        self.answer(self.server_of.create(plural, namespace, item, "dryRun" in self.query), 201)

    def remove(self, path):
        api = self.server_of
        plural, namespace, name, _ = api.place(path)
        self.check("delete", plural)
        if not api.objects.find(plural, namespace, name):
            raise absent(plural, name)
        api.delete(plural, namespace, name)
        self.answer({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                     "details": {"name": name, "kind": qualified(plural)}})
