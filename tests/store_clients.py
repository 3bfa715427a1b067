#!/usr/bin/env python3
"""Drives a running TCPStore server with PyTorch's own client.

    store_clients.py PORT [HOST]

Prints "ok NAME" for each operation, "skip NAME: REASON" for one that this PyTorch lacks (1.13 is
the oldest meant), and stops with exit code 1 at the first that goes wrong. The server should be
fresh: the number of keys is looked at.
"""
import sys
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist

PORT = int(sys.argv[1])
HOST = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
SHORT = timedelta(seconds=1)  # 1.13 takes whole seconds only
LONG = timedelta(seconds=60)


def connect(timeout=LONG):
    return dist.TCPStore(HOST, PORT, None, False, timeout, wait_for_workers=False)


def done(store):
    """SET and its like have no reply; after this one's reply they have been executed."""
    store.num_keys()


class Mismatch(Exception):
    pass


def same(got, expected):
    if got != expected:
        raise Mismatch(f"got {got!r}, expected {expected!r}")


def times_out(action):
    start = time.monotonic()
    try:
        action()
    except RuntimeError:  # DistStoreError is one
        if time.monotonic() - start < SHORT.total_seconds() / 2:
            raise Mismatch("failed long before its time was up")
        return
    raise Mismatch("did not time out")


def in_thread(action):
    """Starts it; the returned function waits for its end and gives its result or error."""
    box = {}

    def run():
        try:
            box["result"] = action()
        except BaseException as error:
            box["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def finish():
        thread.join(LONG.total_seconds())
        if thread.is_alive():
            raise Mismatch("is still waiting")
        if "error" in box:
            raise box["error"]
        return box["result"]

    return finish


def test_set_get(a, b):
    a.set("set", "value")
    same(b.get("set"), b"value")
    a.set("set", "")
    done(a)
    same(b.get("set"), b"")


def test_binary_and_large(a, b):
    value = "x" * 5_000_000
    a.set("large", value)
    same(len(b.get("large")), len(value))


def test_get_waits(a, b):
    finish = in_thread(lambda: b.get("late"))
    time.sleep(0.1)
    a.set("late", "here")
    same(finish(), b"here")


def test_get_times_out(a, b):
    late = connect(SHORT)
    times_out(lambda: late.get("never"))


def test_wait(a, b):
    finish = in_thread(lambda: b.wait(["w1", "w2"], LONG))
    a.set("w1", "")
    a.set("w2", "")
    finish()
    a.wait(["w1"], SHORT)


def test_wait_times_out_and_goes_on(a, b):
    late = connect()
    times_out(lambda: late.wait(["never"], SHORT))
    if hasattr(late, "multi_get"):  # without CANCEL_WAIT the connection is of no more use
        late.set("after", "time-out")
        same(late.get("after"), b"time-out")


def test_add(a, b):
    same(a.add("add", 5), 5)
    same(b.add("add", -7), -2)
    same(b.get("add"), b"-2")


def test_compare_set(a, b):
    same(a.compare_set("cas", "", "first"), b"first")
    same(b.compare_set("cas", "wrong", "second"), b"first")
    same(b.compare_set("cas", "first", "second"), b"second")
    same(a.compare_set("cas absent", "expected", "desired"), b"expected")


def test_check(a, b):
    same(a.check(["checked"]), False)
    a.set("checked", "")
    same(a.check(["checked"]), True)


def test_delete_key(a, b):
    a.set("doomed", "1")
    done(a)
    same(b.delete_key("doomed"), True)
    same(b.delete_key("doomed"), False)


def test_num_keys(a, b):
    before = a.num_keys()
    b.set("one more", "")
    done(b)
    same(a.num_keys(), before + 1)


def test_append(a, b):
    a.append("appended", "one,")
    a.append("appended", "two")
    same(a.get("appended"), b"one,two")


def test_multi_get(a, b):
    a.multi_set(["mg1", "mg2"], ["one", "two"])
    same(b.multi_get(["mg2", "mg1"]), [b"two", b"one"])


def test_multi_set(a, b):
    finish = in_thread(lambda: b.wait(["ms1", "ms2"], LONG))
    a.multi_set(["ms1", "ms2"], ["1", "2"])
    finish()


def test_queue_push(a, b):
    a.queue_push("queue", "first")
    a.queue_push("queue", "second")
    done(a)
    same(b.queue_len("queue"), 2)
    same(b.queue_pop("queue"), b"first")
    same(b.queue_pop("queue"), b"second")
    same(b.queue_len("queue"), 0)


def test_queue_pop(a, b):
    finish = in_thread(lambda: b.queue_pop("queue2"))
    time.sleep(0.1)
    a.queue_push("queue2", "pushed")
    same(finish(), b"pushed")


def test_list_keys(a, b):
    a.set("listed", "")
    same("listed" in {key.strip("/") for key in a.list_keys()}, True)


def test_barrier(a, b):
    finish = in_thread(lambda: b.barrier("barrier", 2))
    time.sleep(0.1)
    a.barrier("barrier", 2)
    finish()


def test_clone(a, b):
    copy = a.clone()
    copy.set("by the copy", "1")
    same(b.get("by the copy"), b"1")


def test_prefix(a, b):
    one = dist.PrefixStore("p", a)
    two = dist.PrefixStore("p", b)
    one.set("key", "1")
    same(two.get("key"), b"1")
    same(two.add("count", 2), 2)
    same(b.get("p/key"), b"1")


def test_many_clients(a, b):
    stores = [connect() for _ in range(50)]
    finishes = [in_thread(lambda s=s: s.get("for all")) for s in stores]
    a.set("for all", "go")
    for finish in finishes:
        same(finish(), b"go")


def main():
    print(f"# torch {torch.__version__}, server {HOST}:{PORT}", flush=True)
    a, b = connect(), connect()
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        name = name.removeprefix("test_")
        needed = [m for m in ("append", "multi_get", "multi_set", "queue_push", "queue_pop", "check",
                              "list_keys", "barrier", "clone") if name == m]
        if name == "queue_push":
            needed += ["queue_len", "queue_pop"]
        missing = [m for m in needed if not hasattr(a, m)]
        if missing:
            print(f"skip {name}: this client has no {missing[0]}", flush=True)
            continue
        try:
            test(a, b)
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__}: {error}", flush=True)
            return 1
        print("ok", name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
