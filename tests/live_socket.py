"""Questions to a running job by its Unix socket, as `toprun top` asks them."""

import http.client
import json
import socket


class Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout=30):
        super().__init__("job", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(runtime_folder, page, **headers):
    """The answer of the only job with its socket below this runtime folder: (status, content type, text)."""
    path, = (runtime_folder / "toprun").iterdir()
    connection = Connection(path)
    connection.request("GET", page, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.headers["Content-Type"], answer.read().decode()


def picture(runtime_folder):
    status, kind, text = ask(runtime_folder, "/picture")
    assert (status, kind) == (200, "application/json"), text
    return json.loads(text)
