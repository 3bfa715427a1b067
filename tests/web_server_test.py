# ctest: TIMEOUT 180
"""The server of a job's page as other programs have it, and programs that do not behave."""

import http.client
import resource
import select
import socket
import unittest

import support
import web_cases
import web_pictures

MOST_BROWSERS = 64  # src/observe/web/server.h


def ask(player, path="/", method="GET", **headers):
    """(status, headers, body) of a request; an underscore in a header's name stands for a dash."""
    connection = http.client.HTTPConnection("127.0.0.1", player.port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def follow(player, token=None):
    """A socket that asks for the events, and has read nothing yet."""
    asks = socket.create_connection(("127.0.0.1", player.port), timeout=60)
    asks.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token or player.token}\r\n\r\n"
                 .encode())
    return asks


class Http(web_cases.Case):
    def test_without_the_token_there_is_no_byte_of_the_job(self):
        player = self.player(web_pictures.Picture(8, name="secret-name"))
        player.send("page /metrics secret-name 1")
        right = f"Bearer {player.token}"
        wrong = [None, "", "Bearer", "Bearer ", "Bearer wrong", f"Bearer {player.token[:-1]}", f"Basic {player.token}",
                 f"Bearer {player.token}x", f"Bearer {player.token[:-1]}{'a' if player.token[-1] != 'a' else 'b'}",
                 f"{player.token}"]
        for path in ("/events", "/metrics", "/anything", "/../etc/passwd", f"/events?token={player.token}"):
            for value in wrong:
                headers = {} if value is None else {"Authorization": value}
                status, answered, body = ask(player, path, **headers)
                self.assertEqual((status, answered["WWW-Authenticate"]), (401, "Bearer"), (path, value))
                self.assertNotIn(b"secret-name", body)
                self.assertNotIn(b"node00000", body)
        status, _, body = ask(player, "/metrics", Authorization=right)
        self.assertEqual((status, body), (200, b"secret-name 1"))
        self.assertEqual(ask(player, "/anything", Authorization=right)[0], 404)
        for path in ("/", "/page.css", "/page.js"):
            status, headers, body = ask(player, path)
            self.assertEqual(status, 200)
            self.assertNotIn(b"secret-name", body)
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertIsNone(headers["Access-Control-Allow-Origin"])

    def test_foreign_names_and_methods_are_refused(self):
        player = self.player(web_pictures.Picture(8))
        token = {"Authorization": f"Bearer {player.token}"}
        for host, status in (("127.0.0.1", 404), (f"127.0.0.1:{player.port}", 404), ("localhost:8080", 404),
                             ("[::1]:80", 404), (socket.gethostname(), 404), ("evil.example", 421), ("", 421),
                             ("127.0.0.1.evil.example", 421), (f"localhost.evil.example:{player.port}", 421)):
            self.assertEqual(ask(player, "/nothing", Host=host, **token)[0], status, host)
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"):
            status, headers, _ = ask(player, "/", method, **token)
            self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"), method)
        status, headers, body = ask(player, "/", "HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 1000)

    def test_malformed_requests_end_their_connection(self):
        player = self.player(web_pictures.Picture(8))
        for text in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: a" + b"a" * 10_000 + b"\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + b"\r\n"):
            with socket.create_connection(("127.0.0.1", player.port), timeout=30) as asks:
                try:
                    asks.sendall(text)
                    self.assertEqual(asks.recv(100), b"")
                except ConnectionResetError:
                    pass
        self.assertEqual(ask(player)[0], 200)

    def test_a_thousand_browsers(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 2000:
            self.skipTest(f"only {hard} open files are allowed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        picture = web_pictures.Picture(8)
        player = self.player(picture)
        all_of_them = [follow(player) for _ in range(1000)]
        statuses = [asks.recv(12) for asks in all_of_them]
        self.assertEqual(statuses.count(b"HTTP/1.1 200"), MOST_BROWSERS)
        self.assertEqual(statuses.count(b"HTTP/1.1 503"), 1000 - MOST_BROWSERS)
        self.assertEqual(ask(player)[0], 200)
        for asks in all_of_them:
            asks.close()

        def is_free():
            player.show(job=picture.job)  # who has gone is noticed at a write
            with follow(player) as asks:
                return asks.recv(12) == b"HTTP/1.1 200"
        support.wait_until(is_free, 30, "a place for another browser")

    def test_a_browser_that_never_reads_is_closed(self):
        picture = web_pictures.Picture(12_500)
        player = self.player(picture)
        asks = socket.socket()
        asks.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asks.settimeout(60)
        asks.connect(("127.0.0.1", player.port))
        asks.sendall(f"GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {player.token}\r\n\r\n".encode())
        self.assertEqual(player.process.stdout.readline(), "looked at\n")
        # Another one goes on meanwhile, and the server keeps nothing for the first one.
        with follow(player) as reads:
            while not select.select([player.process.stdout], [], [], 0)[0]:
                player.show(job=picture.job)
                self.assertTrue(reads.recv(1 << 20))
                if self.connections_gone(player, asks):
                    break
        asks.close()

    @staticmethod
    def connections_gone(player, asks):
        """Whether the server has closed its end, which the kernel shows before all has been read."""
        return not any(line.split()[2].endswith(f":{asks.getsockname()[1]:04X}") and line.split()[3] == "01"
                       for line in open(f"/proc/{player.process.pid}/net/tcp").readlines()[1:])

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            player = web_pictures.Player(port)
            _, err = player.process.communicate(timeout=10)
        self.assertEqual(player.process.returncode, 1)
        self.assertIn(f"cannot serve the job's page at 127.0.0.1 port {port}: ", err)
        self.assertIn(" listens there", err)


class Silence(web_cases.Case):
    def test_who_asks_is_answered_before_who_says_nothing_has_gone(self):
        """Of 600 that connect and say nothing; each would be closed after 5 s."""
        player = self.player(web_pictures.Picture(8))
        silent = [socket.create_connection(("127.0.0.1", player.port), timeout=60) for _ in range(600)]
        for one in silent:
            self.addCleanup(one.close)
        self.assertEqual(ask(player)[0], 200)
        ready, _, _ = select.select(silent, [], [], 0)
        self.assertGreaterEqual(len(silent) - len(ready), 200, "those that are still connected")


if __name__ == "__main__":
    unittest.main()
