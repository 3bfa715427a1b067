# ctest: TIMEOUT 300
"""Who sits between two agents with a secret: a proxy that reads, alters, replays, reorders or drops their frames."""

import os
import socket
import struct
import threading
import unittest

import support
from stranger import HEADER_BYTES, receive, receive_line

TOPRUN = support.TOPRUN
SECRET = {"TOPRUN_SECRET": "0123456789abcdef0123456789abcdef"}
HIDDEN = "confidential-argument-of-the-ranks"


class Direction(threading.Thread):
    """Passes on what one end sends, frame by frame once the lines are through: `meddle` gives for the frame of this
    number the frames that are sent in its place."""

    def __init__(self, source, sink, lines, meddle, seen):
        super().__init__(daemon=True)
        self.source, self.sink, self.lines, self.meddle, self.seen = source, sink, lines, meddle, seen
        self.start()

    def received(self, data):
        self.seen.extend(data)
        return data

    def run(self):
        try:
            for _ in range(self.lines):
                self.sink.sendall(self.received(receive_line(self.source)))
            self.sink.sendall(self.received(receive(self.source, HEADER_BYTES)))
            number = 0
            while True:
                length = receive(self.source, 4)
                frame = self.received(length + receive(self.source, struct.unpack("<I", length)[0]))
                for one in self.meddle(number, frame):
                    self.sink.sendall(one)
                number += 1
        except (OSError, EOFError):
            pass
        for end in (self.source, self.sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Proxy:
    """Between the members that dial it and the root."""

    def __init__(self, case, root_port, to_root=lambda _, frame: [frame], to_member=lambda _, frame: [frame]):
        self.root_port, self.to_root, self.to_member = root_port, to_root, to_member
        self.seen = bytearray()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        case.addCleanup(self.listener.close)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                member, _ = self.listener.accept()
                root = socket.create_connection(("127.0.0.1", self.root_port))
            except OSError:
                if self.listener.fileno() < 0:
                    return
                continue
            Direction(member, root, 1, self.to_root, self.seen)  # its preamble
            Direction(root, member, 2, self.to_member, self.seen)  # its preamble, "agreed"


class Once:
    """Meddles with a single frame, of the given number; its successor where it takes two."""

    def __init__(self, number, way):
        self.number, self.way, self.kept, self.done = number, way, None, threading.Event()

    def __call__(self, number, frame):
        if number < self.number or self.done.is_set():
            return [frame]
        if self.way == "reordered" and self.kept is None:
            self.kept = frame
            return []
        self.done.set()
        if self.way == "altered":
            return [frame[:-1] + bytes([frame[-1] ^ 1])]
        if self.way == "replayed":
            return [frame, frame]
        if self.way == "reordered":
            return [frame, self.kept]
        if self.way == "made up":
            return [struct.pack("<I", 40) + os.urandom(40)]
        assert self.way == "dropped"
        return []


class InBetween(support.TestCase):
    def job(self, script, **meddling):
        """Two agents, the second by the proxy: (root, member, proxy)."""
        port = support.free_port()
        both = ["--nnodes", 2, "--nproc-per-node", 1, "--rdzv-id", "guarded", "--master-addr", "127.0.0.1"]
        program = ["--no-python", "sh", "-c", script, "sh", HIDDEN]
        root = self.begin(TOPRUN, *both, "--node-rank", 0, "--master-port", port, *program, env=SECRET)
        support.wait_until(lambda: self.listens(port), 30, "the root listens")
        proxy = Proxy(self, port, **meddling)
        member = self.begin(TOPRUN, *both, "--node-rank", 1, "--master-port", proxy.port, *program, env=SECRET)
        return root, member, proxy

    @staticmethod
    def listens(port):
        with socket.socket() as asks:
            return asks.connect_ex(("127.0.0.1", port)) == 0

    def test_it_learns_nothing(self):
        root, member, proxy = self.job("echo rank $RANK of $WORLD_SIZE")
        ends = [root.wait(60), member.wait(60)]
        for end in ends:
            self.assert_ok(end)
        self.assertEqual(sorted(end.out for end in ends), ["rank 0 of 2\n", "rank 1 of 2\n"])
        seen = bytes(proxy.seen)
        self.assertGreater(len(seen), 1_000)
        for text in (HIDDEN, "guarded", "WORLD_SIZE", SECRET["TOPRUN_SECRET"]):
            self.assertNotIn(text.encode(), seen)

    def test_a_frame_that_is_not_the_next_one_ends_the_link(self):
        """Whichever way it is wrong, and in whichever direction; nothing of it is obeyed."""
        ready = self.folder()
        for to in ("to_root", "to_member"):
            for way in ("altered", "replayed", "reordered", "dropped", "made up"):
                with self.subTest(to=to, way=way):
                    meddle = Once(2, way)
                    root, member, _ = self.job(f"touch {ready}/{to}-{way.replace(' ', '-')}-$RANK; exec sleep 600",
                                               **{to: meddle})
                    ends = [root.wait(100), member.wait(100)]
                    self.assertTrue(meddle.done.is_set())
                    for end in ends:
                        self.assertNotIn(end.code, (0, 139, 134), ends)
                    self.assertRegex(ends[0].err + ends[1].err, "lost|secret|closed|length", ends)

    def test_its_own_messages_are_not_taken_for_the_root_s(self):
        """The first frame from the root decides who it is."""
        meddle = Once(0, "made up")
        root, member, _ = self.job("exec sleep 600", to_member=meddle)
        end = member.wait(100)
        self.assertTrue(meddle.done.is_set())
        self.assertNotEqual(end.code, 0)
        root.kill_all()


if __name__ == "__main__":
    unittest.main()
