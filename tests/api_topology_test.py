# ctest: TIMEOUT 300 LABELS cluster
"""Topology in a pod without kubectl: toprun asks the API server by HTTPS, with the token and the authority that the
kubelet mounts. The server is that of the tests (api_server.py) with a certificate; an authority is made by openssl."""

import json
import socket
import ssl
import threading
import unittest

import support
from api_lists import Rights
from api_server import ApiServer
from certificates import Authority

TIER = "fabric.topograph.run/tier-"
IN_CLUSTERS = "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
# As a pod: with a service account's files, and without any program.
POD = """mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io &&
ln -s "$1" /run/secrets/kubernetes.io/serviceaccount && shift && PATH=/nowhere exec "$@"
"""
MANY = 1_234
PAGE = 500


class PodCase(support.TestCase):
    def setUp(self):
        support.needs_root()
        support.needs_program("openssl")
        self.place = self.folder()
        self.authority = Authority(self.place)
        self.mounted = self.place / "mounted"
        self.mounted.mkdir()
        (self.mounted / "ca.crt").write_bytes(self.authority.file.read_bytes())
        (self.mounted / "token").write_text("abc.def-ghi_jkl\n")
        (self.mounted / "namespace").write_text("ml")
        self.env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1"}

    def serve(self, names="IP:127.0.0.1", kind="ec", days=2, address="127.0.0.1"):
        """An API server at 127.0.0.1 whose certificate has these names."""
        self.api = ApiServer(self.folder(), self.authority.server(names, kind, days), address)
        self.addCleanup(self.api.close)
        self.api.tokens = {"abc.def-ghi_jkl": None}
        self.env["KUBERNETES_SERVICE_PORT"] = str(self.api.http.server_port)
        for i in range(4):
            self.node(f"n{i}", f"leaf{i % 2}")

    def node(self, name, leaf):
        self.api.objects.create("nodes", None, {
            "apiVersion": "v1", "kind": "Node", "status": {"images": [{"names": ["x" * 100]} for _ in range(20)]},
            "metadata": {"name": name, "labels": {f"{TIER}0": leaf, f"{TIER}1": "spine"}}})

    def order(self, *words, **env):
        return self.run_to_end("unshare", "--mount", "sh", "-c", POD, "pod", self.mounted, support.binary(), "topo",
                               "order", *words, env={**self.env, **env})

    def ordered(self, *words, hosts="n[0-3]", **env):
        done = self.order("--json", "--topology", "k8s", "--hosts", hosts, *words, **env)
        self.assert_ok(done)
        return json.loads(done.out)["order"]

    def refused(self, said):
        """As a fault where it was asked for, and a warning at most where it was only tried."""
        done = self.order("--topology", "k8s", "--hosts", "n[0-3]")
        self.assertEqual(done.code, 1, done)
        self.assert_one_line(done, r"GET https://127\.0\.0\.1:\d+/api/v1/nodes: " + said)
        tried = self.order("--json", "--hosts", "n[0-3]")
        self.assert_ok(tried)
        return json.loads(tried.out)["warnings"]


class Answers(PodCase):
    def test_nodes_are_where_their_labels_say(self):
        for names, kind in [("IP:127.0.0.1", "ec"), ("IP:127.0.0.1", "rsa"), (IN_CLUSTERS, "ec"),
                            (f"{IN_CLUSTERS},IP:10.96.0.1,IP:127.0.0.1", "rsa")]:
            with self.subTest(names, kind=kind):
                self.serve(names, kind)
                self.assertEqual(self.ordered(), ["n0", "n2", "n1", "n3"])

    def test_auto_asks_by_itself(self):
        self.serve()
        done = self.order("--json", "--hosts", "n[0-3]")
        told = json.loads(done.out)
        self.assertEqual((told["source"], told["levels"], told["order"]),
                         ("k8s", ["spine", "leaf"], ["n0", "n2", "n1", "n3"]))

    def test_an_address_of_the_other_family_and_a_name(self):
        self.serve("IP:::1,DNS:localhost", address="::1")
        self.assertEqual(self.ordered(KUBERNETES_SERVICE_HOST="::1"), ["n0", "n2", "n1", "n3"])
        self.serve("DNS:localhost")
        self.assertEqual(self.ordered(KUBERNETES_SERVICE_HOST="localhost"), ["n0", "n2", "n1", "n3"])

    def test_metadata_alone_in_pages(self):
        self.serve()
        for i in range(4, MANY):
            self.node(f"n{i}", f"leaf{i % 2}")
        self.assertEqual(len(self.ordered(hosts=f"n[0-{MANY - 1}]")), MANY)
        asked = [query for verb, path, query in self.api.asked if path == "/api/v1/nodes"]
        self.assertEqual(len(asked), -(-MANY // PAGE))
        self.assertTrue(all(query["limit"] == str(PAGE) for query in asked))
        self.assertTrue(all("PartialObjectMetadataList" in form for form in self.api.accepted))

    def test_no_more_pages_than_its_nodes_need(self):
        self.serve()
        for i in range(4, MANY):
            self.node(f"x{i}", "leaf0")
        self.ordered()
        self.assertEqual(len([one for one in self.api.asked if one[1] == "/api/v1/nodes"]), 1)


class Refusals(PodCase):
    def test_another_authority(self):
        self.authority = Authority(self.place, "another")
        self.serve()
        warnings = self.refused("its certificate is not signed by the pod's certificate authority")
        self.assertEqual(len(warnings), 1)

    def test_another_name(self):
        self.serve("IP:127.0.0.2,DNS:example.org,DNS:127.0.0.1.example.org")
        self.refused("its certificate is for other names")

    def test_one_that_has_expired(self):
        self.serve(days=-1)
        self.refused("its certificate has expired")

    def test_a_token_that_is_not_known(self):
        self.serve()
        self.api.tokens = {}
        self.assertEqual(self.refused(r"\(Unauthorized\): Unauthorized"), [])

    def test_an_account_that_may_not_list_nodes(self):
        self.serve()
        self.api.tokens = {"abc.def-ghi_jkl": Rights("system:serviceaccount:ml:default", {})}
        self.assertEqual(self.refused(r"\(Forbidden\): nodes is forbidden: User \"system:serviceaccount:ml:default\" "
                                      'cannot list resource "nodes" in API group "" at the cluster scope'), [])

    def test_the_token_is_given_to_nobody_else(self):
        """Not before the server has proved who it is."""
        self.authority = Authority(self.place, "another")
        self.serve()
        self.refused("its certificate is not signed by .*")
        self.assertEqual(self.api.asked, [])

    def test_without_a_token(self):
        self.serve()
        (self.mounted / "token").unlink()
        done = self.order("--topology", "k8s", "--hosts", "n[0-3]")
        self.assertEqual(done.code, 1)
        self.assert_one_line(done, "cannot read the nodes' labels: there is no kubectl in PATH, and no token in /var/run/.*")
        self.assertEqual(json.loads(self.order("--json", "--hosts", "n[0-3]").out)["source"], "")

    def test_a_token_that_would_be_another_header(self):
        self.serve()
        (self.mounted / "token").write_text("abc\r\nX-Remote-User: admin\r\n")
        done = self.order("--topology", "k8s", "--hosts", "n[0-3]")
        self.assert_one_line(done, "cannot read the nodes' labels: there is no kubectl in PATH, and no token in /var/run/.*")
        self.assertEqual(self.api.asked, [])


class Strangers(PodCase):
    """Servers that are none."""

    def listen(self, answer, tls=None):
        """`answer`: what is sent to whom connects, once it has said something."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        self.env["KUBERNETES_SERVICE_PORT"] = str(server.getsockname()[1])

        def run():
            while True:
                try:
                    connection, _ = server.accept()
                    if tls:
                        connection = tls.wrap_socket(connection, server_side=True)
                    connection.recv(4096)
                    if answer is None:
                        connection.recv(4096)  # until the other end gives up
                    else:
                        connection.sendall(answer)
                    connection.close()
                except OSError:
                    if server.fileno() < 0:
                        return
        threading.Thread(target=run, daemon=True).start()

    def context(self, version=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.authority.server("IP:127.0.0.1"))
        if version:
            context.minimum_version = context.maximum_version = version
        return context

    def test_what_they_say(self):
        for answer, said in [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "the server does not use TLS"),
                             (b"", "the connection was closed without an answer"),
                             (b"\x15\x03\x03\x00\x02\x02\x28", "the server refuses this version of TLS, or all .*"),
                             (b"\x16\x03\x03\xff\xff" + b"x" * 70000, ".*TLS.*")]:
            with self.subTest(answer[:20]):
                self.listen(answer)
                self.refused(said)

    def test_behind_a_certificate(self):
        head = b"HTTP/1.1 200 OK\r\nContent-Length: "
        for answer, said in [(b"hello\r\n\r\n", "the server does not use HTTP"),
                             (head + b"99\r\n\r\n{}", "the connection was closed without an answer"),
                             (head + b"99999999999\r\n\r\n{}", "the answer is longer than 16 MiB"),
                             (b"HTTP/1.1 302 Found\r\nLocation: https://example.org/\r\nContent-Length: 0\r\n\r\n",
                              "it answered 302")]:
            with self.subTest(answer[:40]):
                self.listen(answer, self.context())
                self.refused(said)

    def test_one_that_never_answers(self):
        self.listen(None)
        self.refused("no answer within the time")

    def test_nonsense_is_said_with_its_place(self):
        for body, said in [(b"{", ":1:"), (b"[]", ".*"), (b'{"items":[{}]}', ".*a node has no name.*")]:
            with self.subTest(body):
                self.listen(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body), self.context())
                done = self.order("--topology", "k8s", "--hosts", "n[0-3]")
                self.assertNotEqual(done.code, 0)
                self.assert_one_line(done, rf"GET https://127\.0\.0\.1:\d+/api/v1/nodes.*{said}.*")


if __name__ == "__main__":
    unittest.main()
