#!/usr/bin/env python3
"""Sends the same bytes to two TCPStore servers and compares what they answer.

    store_differential.py PORT_A PORT_B

Meant for our server against PyTorch's libuv server. Each case runs against both, on keys of its
own; a case is a list of (connection, bytes), and after each step what every connection has
received so far is compared. Prints "ok NAME" per case; exit 1 if any differs.

Left out is what we do better on purpose: a handshake split over two reads is accepted, a wrong one
closed at once, a MULTI_SET applied whole or not at all, of two waits on one connection the later one
counts, and a wait for a queue that is not empty and an absent key waits for the key only.
"""
import itertools
import socket
import struct
import sys

VALIDATE = b"\x00\xce\xf7\x85\x3c"
LAST = b"\x0d\xfe\xca\xfe\xca"  # a PING whose answer ends what a connection says in a step


def s(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def keys(*names):
    return struct.pack("<Q", len(names)) + b"".join(map(s, names))


def i64(number):
    return struct.pack("<q", number)


def SET(k, v): return b"\x01" + s(k) + s(v)
def CAS(k, old, new): return b"\x02" + s(k) + s(old) + s(new)
def GET(k): return b"\x03" + s(k)
def ADD(k, n): return b"\x04" + s(k) + i64(n)
def CHECK(*k): return b"\x05" + keys(*k)
def WAIT(*k): return b"\x06" + keys(*k)
def DELETE(k): return b"\x08" + s(k)
def APPEND(k, v): return b"\x09" + s(k) + s(v)
def MGET(*k): return b"\x0a" + keys(*k)
def MSET(**kv): return b"\x0b" + i64(len(kv)) + b"".join(s(k) + s(v) for k, v in kv.items())
def PUSH(k, v): return b"\x0e" + s(k) + s(v)
def POP(k): return b"\x0f" + s(k)
def LEN(k): return b"\x10" + s(k)
def BARRIER(k, n): return b"\x12" + s(k) + i64(n)


NUM = b"\x07"
CANCEL = b"\x0c"
PING = b"\x0d\x01\x02\x03\x04"

CASES = {
    "ping": [(0, PING)],
    "set get": [(0, SET("k", "v") + GET("k"))],
    "get absent": [(0, GET("no"))],
    "set empty": [(0, SET("", "") + GET("") + CHECK(""))],
    "overwrite": [(0, SET("k", "v") + SET("k", "longer" * 9000) + GET("k") + SET("k", "") + GET("k"))],
    "compare_set": [(0, CAS("c", "", "a") + CAS("c", "x", "b") + CAS("c", "a", "b") + GET("c"))],
    "compare_set absent": [(0, CAS("c", "x", "b") + GET("c") + CHECK("c"))],
    "compare_set to empty": [(0, CAS("c", "", "") + CHECK("c"))],
    "compare_set wakes": [(1, WAIT("c")), (0, CAS("c", "", "a"))],
    "compare_set of an absent key wakes": [(1, WAIT("c")), (0, CAS("c", "x", "a")), (0, SET("c", "1"))],
    "compare_set unequal": [(0, SET("c", "1")), (1, WAIT("c", "d")), (0, CAS("c", "x", "a")), (0, SET("d", ""))],
    "add": [(0, ADD("a", 3) + ADD("a", -5) + GET("a") + ADD("a", 0))],
    "add wraps": [(0, ADD("a", 2**63 - 1) + ADD("a", 1) + GET("a") + ADD("a", -1))],
    "add to ' 12x'": [(0, SET("a", " 12x") + ADD("a", 1) + GET("a"))],
    "add to '+7'": [(0, SET("a", "+7") + ADD("a", 1))],
    "add to '-7 '": [(0, SET("a", "-7 ") + ADD("a", 1))],
    "add to '\\t\\n\\v\\f\\r5'": [(0, SET("a", "\t\n\v\f\r5") + ADD("a", 1))],
    "add to '+-7'": [(0, SET("a", "+-7")), (0, ADD("a", 1))],
    "add to 'abc'": [(0, SET("a", "abc")), (0, ADD("a", 1))],
    "add to ''": [(0, SET("a", "")), (0, ADD("a", 1))],
    "add to 30 digits": [(0, SET("a", "9" * 30)), (0, ADD("a", 1))],
    "add to a NUL": [(0, SET("a", "12\0003") + ADD("a", 1))],
    "check": [(0, CHECK() + CHECK("x") + SET("x", "") + CHECK("x") + CHECK("x", "y"))],
    "wait present": [(0, SET("x", "1") + WAIT("x") + WAIT())],
    "wait parked": [(1, WAIT("x", "y")), (0, SET("x", "1")), (0, SET("x", "2")), (0, SET("y", "1"))],
    "wait twice the same key": [(1, WAIT("x", "x")), (0, SET("x", "1"))],
    "wait, delete, wait": [(1, WAIT("x", "y")), (0, SET("x", "1") + DELETE("x")), (0, SET("y", "1"))],
    "append wakes": [(1, WAIT("x")), (0, APPEND("x", "1"))],
    "add wakes": [(1, WAIT("x")), (0, ADD("x", 1))],
    "multi_set wakes": [(1, WAIT("x", "y")), (0, MSET(x="1", y="2"))],
    "two waits, cancel": [(1, WAIT("x")), (1, WAIT("y")), (1, CANCEL), (0, SET("x", "1") + SET("y", "1"))],
    "cancel alone": [(0, CANCEL + CANCEL)],
    "wait set cancel": [(0, WAIT("x") + SET("x", "1") + CANCEL)],
    "wait get set": [(0, WAIT("x") + GET("z") + SET("x", "1") + GET("x"))],
    "wait cas on one connection": [(0, WAIT("x") + CAS("x", "", "1"))],
    "wait add on one connection": [(0, WAIT("x") + ADD("x", 1))],
    "parked, then a wait that is ready": [(0, SET("y", "1") + WAIT("x") + WAIT("y")), (1, SET("x", "1"))],
    "two waits, the second comes": [(1, WAIT("x")), (1, WAIT("y")), (0, SET("y", "1")), (0, SET("x", "1"))],
    "number of keys": [(0, NUM + SET("n1", "") + PUSH("q", "1") + NUM)],
    "delete": [(0, SET("x", "1") + DELETE("x") + DELETE("x") + GET("x"))],
    "delete a queue": [(0, PUSH("q", "1") + DELETE("q") + LEN("q"))],
    "append": [(0, APPEND("p", "a") + APPEND("p", "b") + GET("p") + APPEND("p", "c" * 20000) + GET("p"))],
    "multi_get": [(0, SET("x", "1") + SET("y", "2" * 20000) + MGET("x", "no", "y", "y") + MGET())],
    "multi_set": [(0, MSET(x="1", y="22") + GET("x") + GET("y") + MSET())],
    "queue": [(0, LEN("q") + POP("q") + PUSH("q", "1") + PUSH("q", "") + LEN("q") + POP("q") + POP("q") + POP("q"))],
    "queue and key": [(0, PUSH("q", "1") + CHECK("q") + GET("q") + WAIT("q") + POP("q") + CHECK("q"))],
    "push wakes one": [(1, WAIT("q")), (2, WAIT("q")), (0, PUSH("q", "1")), (0, PUSH("q", "2"))],
    "push wakes, wait again": [(1, WAIT("q")), (0, PUSH("q", "1")), (1, POP("q") + WAIT("q")), (0, PUSH("q", "2"))],
    "set wakes all who wait for a queue": [(1, WAIT("q")), (2, WAIT("q")), (0, SET("q", "1"))],
    "barrier": [(0, BARRIER("b", 3)), (1, BARRIER("b", 3)), (2, BARRIER("b", 3)), (0, GET("b"))],
    "barrier of one": [(0, BARRIER("b", 1) + BARRIER("b", 1) + GET("b"))],
    "barrier of none": [(0, BARRIER("b", 0) + BARRIER("b", -4))],
    "barrier cancelled": [(0, BARRIER("b", 2)), (0, CANCEL), (1, BARRIER("b", 2)), (0, GET("b"))],
    "barrier and wait": [(2, WAIT("b")), (0, BARRIER("b", 2)), (1, BARRIER("b", 2))],
    "barrier set": [(0, BARRIER("b", 2)), (1, SET("b", "7"))],
    "barrier on a number": [(0, SET("b", "4") + BARRIER("b", 5))],
    "barrier on text": [(0, SET("b", "abc")), (0, BARRIER("b", 2))],
    "barrier after wait": [(0, WAIT("x")), (0, BARRIER("b", 2)), (1, BARRIER("b", 2))],
    "unknown opcode": [(0, b"\x13")],
    "second handshake": [(0, VALIDATE)],
    "pings before an unknown opcode": [(0, PING + PING + b"\xff")],
    "key of 8192": [(0, SET("k" * 8192, "1") + GET("k" * 8192))],
    "key of 8193": [(0, GET("k" * 8193))],
    "key of 2^63": [(0, b"\x03" + struct.pack("<Q", 2**63))],
    "2^32 keys": [(0, b"\x05" + struct.pack("<Q", 2**32))],
    "value of 8 MiB": [(0, SET("v", b"x" * (8 << 20))), (0, CHECK("v"))],
    "value of 8 MiB + 1": [(0, b"\x01" + s("v") + struct.pack("<Q", (8 << 20) + 1))],
    "131073 keys": [(0, b"\x0a" + struct.pack("<Q", 131073))],
    "multi_set of -1": [(0, b"\x0b" + i64(-1))],
}


class Party:
    """One connection; what it has received, and whether the server has closed it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.closed = False
        self.send(VALIDATE)
        self.settle()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            self.closed = True

    def settle(self):
        """Reads until the answer of a last PING: all that came before it has then arrived."""
        if self.closed:
            return
        self.send(LAST)
        buffer = b""
        while not self.closed and not buffer.endswith(LAST[1:]):
            try:
                part = self.socket.recv(1 << 20)
            except ConnectionError:
                part = b""
            self.closed = not part
            buffer += part
        self.received += buffer.removesuffix(LAST[1:])


def play(port, steps):
    parties = {i: Party(port) for i in sorted({who for who, _ in steps})}
    seen = []
    for who, data in steps:
        parties[who].send(data)
        for party in [parties[who], *parties.values()]:
            party.settle()
        seen.append([(p.received[-200:], len(p.received), p.closed) for p in parties.values()])
    # Leaves the server as it was, so that the number of keys stays comparable.
    cleaner = Party(port)
    for key in ("k", "no", "", "c", "d", "a", "x", "y", "z", "n1", "q", "p", "b", "v", "k" * 8192):
        cleaner.send(DELETE(key))
    for _ in range(4):
        cleaner.send(POP("q"))
    cleaner.settle()
    for party in [*parties.values(), cleaner]:
        party.socket.close()
    return seen


def main():
    ports = [int(port) for port in sys.argv[1:3]]
    failed = 0
    for name, steps in CASES.items():
        ours, theirs = (play(port, steps) for port in ports)
        if ours == theirs:
            print("ok", name)
            continue
        failed += 1
        print("DIFFERENT", name)
        for step, (a, b) in enumerate(itertools.zip_longest(ours, theirs)):
            if a != b:
                print(f"  after step {step}: {a}\n              and: {b}")
    print(f"{len(CASES) - failed} of {len(CASES)} cases are the same")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
