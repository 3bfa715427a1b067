"""An agent that toprun did not start: it speaks the agents' protocol (src/node/link/preamble.h, channel.h) and says
what a case wants it to say."""

import ctypes
import ctypes.util
import hashlib
import json
import os
import socket
import struct
import subprocess
import unittest

import support

HEADER_BYTES, OVERHEAD, STATE_BYTES = 24, 17, 64  # of libsodium's secretstream


def sodium():
    name = ctypes.util.find_library("sodium")
    if not name:
        raise unittest.SkipTest("no libsodium here")
    return ctypes.CDLL(name)


def version():
    return subprocess.check_output([support.binary(), "version"], text=True).split()[-1]


def content_hash(text):
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def key_of(secret, root_line, member_line, direction):
    text = b"".join(struct.pack("<Q", len(part)) + part for part in (secret, root_line, member_line, direction))
    return hashlib.blake2b(text, digest_size=32).digest()


def receive(connection, count):
    """So many bytes; EOFError where fewer come."""
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def receive_line(connection):
    """With its end, and no byte after it."""
    line = b""
    while not line.endswith(b"\n"):
        line += receive(connection, 1)
    return line


class Stranger:
    """A member of a job whose name it knows, or with its secret."""

    def __init__(self, port, job, secret=None, role="member", timeout=30):
        self.lib = sodium()
        self.agent = os.urandom(7).hex()
        self.secret = (secret or f"toprun job {job}").encode()
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        proof = "secret" if secret else "derived"
        self.line = (f"toprun/1 {version()} {role} {content_hash('job ' + job)} {self.agent} {os.urandom(32).hex()} "
                     f"{proof}\n").encode()
        self.tx = ctypes.create_string_buffer(STATE_BYTES)
        self.rx = None

    def say_line(self):
        self.socket.sendall(self.line)
        return self

    def begin(self, first):
        """Sends the first frame, which is a join or whatever else the case wants."""
        self.say_line()
        self.root_line = receive_line(self.socket)
        tx_key = key_of(self.secret, self.root_line, self.line, b"member to root")
        self.rx_key = key_of(self.secret, self.root_line, self.line, b"root to member")
        header = ctypes.create_string_buffer(HEADER_BYTES)
        self.lib.crypto_secretstream_xchacha20poly1305_init_push(self.tx, header, tx_key)
        self.socket.sendall(header.raw + self.sealed(first))
        return self

    def sealed(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        out = ctypes.create_string_buffer(len(text) + OVERHEAD)
        self.lib.crypto_secretstream_xchacha20poly1305_push(self.tx, out, None, text, ctypes.c_ulonglong(len(text)), None,
                                                            ctypes.c_ulonglong(0), ctypes.c_ubyte(0))
        return struct.pack("<I", len(out.raw)) + out.raw

    def send(self, message):
        self.socket.sendall(self.sealed(message))

    def hear(self):
        """The next message; the first one with the line before it."""
        if self.rx is None:
            self.agreed = receive_line(self.socket)
            if self.agreed != b"toprun/1 agreed\n":
                raise EOFError(self.agreed)
            self.rx = ctypes.create_string_buffer(STATE_BYTES)
            self.lib.crypto_secretstream_xchacha20poly1305_init_pull(self.rx, receive(self.socket, HEADER_BYTES), self.rx_key)
        length, = struct.unpack("<I", receive(self.socket, 4))
        sealed = receive(self.socket, length)
        out = ctypes.create_string_buffer(max(1, length - OVERHEAD))
        tag = ctypes.c_ubyte()
        failed = self.lib.crypto_secretstream_xchacha20poly1305_pull(
            self.rx, out, None, ctypes.byref(tag), sealed, ctypes.c_ulonglong(length), None, ctypes.c_ulonglong(0))
        assert failed == 0, "a frame is not the root's"
        text = out.raw[:length - OVERHEAD]
        return json.loads(text) if text else None

    def join(self, **changes):
        """What an agent of one worker says first."""
        return {"type": "join", "agent": self.agent, "host": "stranger", "pid": 1, "nnodes": 2, "slots": 1,
                "role": "default", "addresses": ["127.0.0.1"], "store_port": 0, **changes}

    def close(self):
        self.socket.close()
