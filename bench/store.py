#!/usr/bin/env python3
"""Our store server beside PyTorch's libuv server, in one run on one machine.

    make bench            or: python3 bench/store.py [--rounds 3] [--only requests|crowd|hostile]

TOPRUN names the binary (build/release/toprun), PYTHON a Python with torch (build/venv), STORE_LOAD
the load generator (build/release/bench/store_load, which is built if need be).

Measures, for both, server and load generator on a core each and taking turns:
  - server CPU per request, 64-byte values, at 256 and 4,096 clients (medians and their ratio);
  - 10,000 clients that connect at once: wall time, server CPU each, connections lost; what the
    server holds while they are idle;
  - bad input: the slowest answer to a healthy client meanwhile, as wall time and as the server's
    CPU time (which a busy machine does not change, and which counts); the server's CPU beyond that
    of the healthy client; its memory with the replies that wait in its sockets.

PyTorch's server looks every client's name up in DNS. Where the machine allows a mount namespace
the look-up is limited to the hosts file, so that it does not count; else the figures say so.
Exit code 1 if a figure misses its target.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))
import colliding_keys  # noqa: E402
OPERATIONS = ["get", "add", "check", "set+ping"]
CLIENTS = [256, 4096]
CROWD = 10_000
RATIO_TARGET = 0.9
CONNECT_CPU_TARGET_US = 20.0
IDLE_TARGET_MIB = 32.0
HEALTHY_TARGET_MS = 50.0
HOSTILE_CPU_TARGET_MS = 50.0
HOSTILE_TARGET_MIB = 64.0
# What an honest client's work costs too, and an attack may therefore cost more than the targets.
STORED_MS_PER_MIB = 1.0
CONNECTION_US, PACKET_US, REQUEST_US = 30.0, 4.0, 1.5

TORCH_SERVER = """
import signal, sys, torch.distributed as dist
signal.signal(signal.SIGTERM, signal.SIG_DFL)
store = dist.TCPStore("127.0.0.1", int(sys.argv[1]), None, True, wait_for_workers=False, use_libuv=True)
print("ready", flush=True)
signal.pause()
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """One server process on core 0."""

    def __init__(self, name, command):
        self.name = name
        self.port = free_port()
        self.process = subprocess.Popen(
            ["taskset", "-c", "0", *[part.replace("PORT", str(self.port)) for part in command]],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"store.py: the server '{name}' did not start: {' '.join(command)}")
                time.sleep(0.05)

    @property
    def pid(self):
        return self.process.pid

    def cpu_s(self):
        total = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/schedstat") as file:
                total += int(file.read().split()[0])
        return total / 1e9

    def memory_mib(self, field="VmRSS"):
        with open(f"/proc/{self.pid}/status") as file:
            for line in file:
                if line.startswith(field):
                    return int(line.split()[1]) / 1024
        return 0.0

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def load_generator():
    given = os.environ.get("STORE_LOAD")
    if given:
        return given
    build = REPOSITORY / "build/release"
    subprocess.run(["cmake", "--build", build, "--target", "store_load"], check=True,
                   stdout=subprocess.DEVNULL)
    return str(build / "bench/store_load")


class Bench:
    def __init__(self, options):
        self.options = options
        self.toprun = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
        self.python = os.environ.get("PYTHON", str(REPOSITORY / "build/venv/bin/python"))
        for program, remedy in ((self.toprun, "run `make`"),
                                (self.python, "run `tools/setup --python` or set PYTHON")):
            if not shutil.which(program):
                sys.exit(f"store.py: there is no {program}: {remedy}")
        self.generator = load_generator()
        self.missed = 0
        self.nsswitch = tempfile.NamedTemporaryFile("w", prefix="nsswitch")
        self.nsswitch.write("hosts: files\n")
        self.nsswitch.flush()
        isolated = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                    f"mount --bind {self.nsswitch.name} /etc/nsswitch.conf && exec \"$@\"", "sh"]
        self.isolation = isolated if subprocess.run(
            [*isolated, "true"], stderr=subprocess.DEVNULL).returncode == 0 else []
        if not self.isolation:
            print("note: no mount namespace here, so PyTorch's server asks the DNS for every client")

    def ours(self):
        return Server("toprun", [self.toprun, "store", "--port", "PORT"])

    def theirs(self):
        return Server("PyTorch", [*self.isolation, self.python, "-c", TORCH_SERVER, "PORT"])

    def load(self, server, clients, operation, seconds):
        done = subprocess.run(
            ["taskset", "-c", "1", self.generator, str(server.port), str(clients), operation,
             str(seconds), str(server.pid)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"store.py: {server.name}, {operation}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def verdict(self, good):
        self.missed += not good
        return "ok" if good else "MISSED"

    def requests(self):
        print(f"server CPU per request, microseconds (median of rounds); load {os.getloadavg()[0]:.1f} "
              f"on {os.cpu_count()} CPUs before")
        print(f"{'clients':>8} {'operation':>10} {'toprun':>8} {'PyTorch':>8} {'ratio':>6}  "
              f"target {RATIO_TARGET}")
        ours, theirs = self.ours(), self.theirs()
        for clients in CLIENTS:
            for operation in OPERATIONS:
                cpu = {ours: [], theirs: []}
                for _ in range(self.options.rounds):
                    for server, samples in cpu.items():
                        samples.append(
                            self.load(server, clients, operation, self.options.seconds)["cpu_us"])
                a, b = (statistics.median(cpu[server]) for server in (ours, theirs))
                print(f"{clients:>8} {operation:>10} {a:8.2f} {b:8.2f} {a / b:6.2f}  "
                      f"{self.verdict(a / b <= RATIO_TARGET)}", flush=True)
        ours.stop()
        theirs.stop()

    def crowd(self):
        print(f"\n{CROWD} clients connect at once, then stay idle (best of rounds)")
        best = {}
        for _ in range(self.options.rounds):
            for start in (self.ours, self.theirs):
                server = start()
                seen = self.load(server, CROWD, "connect", 0)
                server.stop()
                kept = best.setdefault(server.name, seen)
                if (seen["failed"], seen["wall_s"]) < (kept["failed"], kept["wall_s"]):
                    best[server.name] = seen
                kept["cpu_us"] = min(kept["cpu_us"], seen["cpu_us"])
        print(f"{'':>8} {'wall s':>8} {'CPU us':>8} {'lost':>6} {'MiB':>8}")
        for name, seen in best.items():
            print(f"{name:>8} {seen['wall_s']:8.2f} {seen['cpu_us']:8.1f} {seen['failed']:6} "
                  f"{seen['rss'] / 2**20:8.1f}")
        ours = best["toprun"]
        for text, good in [
                ("no connection lost", ours["failed"] == 0),
                (f"CPU each at most {CONNECT_CPU_TARGET_US} us", ours["cpu_us"] <= CONNECT_CPU_TARGET_US),
                ("wall at most PyTorch's", ours["wall_s"] <= best["PyTorch"]["wall_s"]),
                (f"at most {IDLE_TARGET_MIB} MiB in all", ours["rss"] / 2**20 <= IDLE_TARGET_MIB)]:
            print(f"  {text}: {self.verdict(good)}")

    def hostile(self):
        print("\nbad input: the slowest answer to a healthy client meanwhile; server CPU beyond the healthy")
        print("client's, and peak memory with the sockets' queues")
        print(f"{'input':<46} {'wall ms':>8} {'CPU ms':>8} {'all ms':>8} {'MiB':>8}  targets "
              f"{HEALTHY_TARGET_MS:g} ms of CPU, {HOSTILE_CPU_TARGET_MS:g} ms, {HOSTILE_TARGET_MIB:g} MiB")
        idle_ms = min(self.attacked(lambda port: None)[2] for _ in range(2))
        for name, attack in HOSTILE.items():
            wall_ms, answer_ms, cpu_ms, mib = self.attacked(attack)
            cpu_ms = max(0.0, cpu_ms - idle_ms)
            work = WORK.get(name, Work())
            most_ms = HOSTILE_CPU_TARGET_MS + work.cpu_ms()
            most_mib = HOSTILE_TARGET_MIB + work.stored_mib
            good = answer_ms <= HEALTHY_TARGET_MS and mib <= most_mib and cpu_ms <= most_ms
            print(f"{name:<46} {wall_ms:8.1f} {answer_ms:8.1f} {cpu_ms:8.0f} {mib:8.1f}  "
                  f"{self.verdict(good)}{f' (at most {most_ms:.0f} ms, {most_mib} MiB)' if name in WORK else ''}",
                  flush=True)

    def attacked(self, attack):
        """The slowest answer meanwhile (wall, server CPU), server CPU, and memory with sockets' queues."""
        server = self.ours()
        prepare(server.port)
        before = server.cpu_s()
        with subprocess.Popen(
                ["taskset", "-c", "1", self.generator, str(server.port), "1", "latency",
                 str(self.options.hostile_seconds), str(server.pid)],
                stdout=subprocess.PIPE, text=True) as healthy:
            time.sleep(0.2)
            kept = attack(server.port)
            seen = json.loads(healthy.communicate()[0])
        cpu_ms = (server.cpu_s() - before) * 1e3
        mib = server.memory_mib("VmHWM") + queued_bytes(server.port) / 2**20
        del kept
        server.stop()
        return seen["slowest_ms"], seen["slowest_cpu_ms"], cpu_ms, mib


def queued_bytes(port):
    """What the server's sockets have not sent yet."""
    total = 0
    for family in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{family}").read_text().splitlines()[1:]:
            fields = line.split()
            if int(fields[1].rsplit(":", 1)[1], 16) == port:
                total += int(fields[4].split(":")[0], 16)
    return total


VALIDATE = b"\x00\xce\xf7\x85\x3c"


def u64(number):
    return struct.pack("<Q", number & (2**64 - 1))


def counted(data):
    return u64(len(data)) + data


def prepare(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(VALIDATE + b"\x01" + counted(b"mib") + counted(b"x" * 2**20) + b"\x0d1234")
    connection.recv(4)
    connection.close()


def say(data, hello=VALIDATE, times=1):
    """An attack: so many connections that send this and then neither read nor close."""
    def attack(port):
        kept = []
        for _ in range(times):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.settimeout(5)
            try:
                connection.sendall(hello + data)
            except OSError:
                pass
            kept.append(connection)
        return kept
    return attack


def segments(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(VALIDATE + b"\x01" + counted(b"k") + u64(20_000))
    for _ in range(20_000):
        connection.send(b"x")
    return connection


def half_then_reset(port):
    for _ in range(200):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(VALIDATE + b"\x01" + counted(b"k") + u64(2**20) + b"x" * 2**19)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


def waits_then_gone(port):
    for i in range(2_000):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(VALIDATE + b"\x06" + u64(1) + counted(b"never%d" % i))
        connection.close()


def watchers(port):
    """Generation A's WATCH_KEY of 300 clients that do not read, and two values for them."""
    kept = say(b"\x07" + counted(b"k"), hello=b"", times=300)(port)
    return kept + say((b"\x01" + counted(b"k") + counted(b"x" * (8 << 20))) * 2)(port)


def one_byte_each(port):
    """1,000 clients that send a request byte by byte, in turns."""
    kept = say(b"", hello=VALIDATE[:1], times=1_000)(port)
    for byte in (VALIDATE + b"\x03" + counted(b"k"))[1:11]:
        for connection in kept:
            connection.send(bytes([byte]))
    return kept


def append_and_get(port):
    """A value of 8 MiB, to which 100 clients append a byte and then read nothing of it."""
    kept = say(b"\x01" + counted(b"a") + counted(b"x" * (8 << 20)))(port)
    return kept + say(b"\x09" + counted(b"a") + counted(b"+") + b"\x03" + counted(b"a"), times=100)(port)


def small_values_for_watchers(port):
    kept = say(b"\x07" + counted(b"k"), hello=b"", times=300)(port)
    return kept + say((b"\x01" + counted(b"k") + counted(b"x" * 16_000)) * 100)(port)


def connect_then_reset(port):
    for _ in range(1_000):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


COLLIDING = b"".join(counted(key) + counted(b"") for key in colliding_keys.keys(131_000))
NAMES = b"".join(counted(b"%d" % i) for i in range(100_000))
PAIRS = b"".join(counted(b"%d" % i) + counted(b"v") for i in range(100_000))
HOSTILE = {
    "nothing": say(b"", hello=b""),
    "64 bytes 0xff": say(b"\xff" * 64, hello=b""),
    "HTTP GET": say(b"GET / HTTP/1.1\r\n\r\n", hello=b""),
    "wrong magic": say(b"\x0d1234", hello=b"\x00\xde\xad\xbe\xef"),
    "one byte, then silence": say(b"", hello=b"\x00"),
    "unknown opcode": say(b"\x7f"),
    "key of 8193 bytes": say(b"\x03" + counted(b"k" * 8193)),
    "key length 2^63": say(b"\x03" + u64(2**63)),
    "2^32 keys": say(b"\x05" + u64(2**32)),
    "key of 1 GiB announced": say(b"\x03" + u64(2**30)),
    "value of 8 MiB announced": say(b"\x01" + counted(b"k") + u64(8 << 20), times=100),
    "value of 1 TiB announced": say(b"\x01" + counted(b"k") + u64(2**40)),
    "MULTI_GET of 131,073": say(b"\x0a" + u64(131_073)),
    "MULTI_SET of -1": say(b"\x0b" + u64(-1)),
    "20,000 one-byte segments": segments,
    "200 x half a SET, then RST": half_then_reset,
    "1,024 GETs of 1 MiB, replies never read": say((b"\x03" + counted(b"mib")) * 1024),
    "MULTI_GET naming 1 MiB 2,000 times": say(b"\x0a" + u64(2_000) + counted(b"mib") * 2_000),
    "MULTI_SET of 100,000 keys": say(b"\x0b" + u64(100_000) + PAIRS),
    "MULTI_GET of 100,000 absent keys": say(b"\x0a" + u64(100_000) + NAMES),
    "MULTI_SET of 131,000 keys of one std::hash": say(b"\x0b" + u64(131_000) + COLLIDING),
    "300 watchers, two values of 8 MiB": watchers,
    "WAIT for 100,000 keys": say(b"\x06" + u64(100_000) + NAMES),
    "2,000 x WAIT, then gone": waits_then_gone,
    "WAIT for one key 131,072 times, then its SET": say(
        b"\x06" + u64(131_072) + counted(b"w") * 131_072 + b"\x01" + counted(b"w") + counted(b"")),
    "1,000 clients, one byte each in turns": one_byte_each,
    "1,000 x connect, then RST": connect_then_reset,
    "300 clients, GETs of 1 MiB never read": say((b"\x03" + counted(b"mib")) * 8, times=300),
    "100 x APPEND of a byte to 8 MiB and GET unread": append_and_get,
    "MULTI_GET naming 16,000 bytes 4,000 times": say(
        b"\x01" + counted(b"s") + counted(b"x" * 16_000) + b"\x0a" + u64(4_000) + counted(b"s") * 4_000),
    "16 APPENDs of 1 MiB to one key": say((b"\x09" + counted(b"a") + counted(b"x" * 2**20)) * 16),
    "300 watchers, 100 values of 16,000 bytes": small_values_for_watchers,
    "100,000 values pushed to one queue": say((b"\x0e" + counted(b"q") + counted(b"")) * 100_000),
    "131,072 watched keys of one client": say(
        b"".join(b"\x07" + counted(b"%d" % i) for i in range(131_072)), hello=b""),
    "256 MiB of SETs": say(b"".join(b"\x01" + counted(b"s%d" % i) + counted(b"x" * 2**20) for i in range(256))),
}


@dataclasses.dataclass(frozen=True)
class Work:
    """What an attack consists of, as far as the server does it for any client: it adds to the targets."""
    connections: int = 0
    packets: int = 0
    requests: int = 0  # and messages to watchers
    stored_mib: float = 0

    def cpu_ms(self):
        return (self.connections * CONNECTION_US + self.packets * PACKET_US + self.requests * REQUEST_US
                ) / 1e3 + self.stored_mib * STORED_MS_PER_MIB


WORK = {
    "20,000 one-byte segments": Work(packets=20_000),
    "200 x half a SET, then RST": Work(connections=200),
    "300 watchers, two values of 8 MiB": Work(connections=300, stored_mib=16),
    "2,000 x WAIT, then gone": Work(connections=2_000),
    "1,000 clients, one byte each in turns": Work(connections=1_000, packets=10_000),
    "1,000 x connect, then RST": Work(connections=1_000),
    "300 clients, GETs of 1 MiB never read": Work(connections=300),
    "100 x APPEND of a byte to 8 MiB and GET unread": Work(connections=100, stored_mib=8),
    "16 APPENDs of 1 MiB to one key": Work(stored_mib=16),
    "300 watchers, 100 values of 16,000 bytes": Work(connections=300, requests=30_000),
    "100,000 values pushed to one queue": Work(requests=100_000),
    "131,072 watched keys of one client": Work(requests=131_072),
    "256 MiB of SETs": Work(stored_mib=256),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--hostile-seconds", type=float, default=1.5)
    parser.add_argument("--only", choices=["requests", "crowd", "hostile"])
    bench = Bench(parser.parse_args())
    for part in ("requests", "crowd", "hostile"):
        if bench.options.only in (None, part):
            getattr(bench, part)()
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
