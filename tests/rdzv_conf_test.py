# ctest: TIMEOUT 900
"""--rdzv-conf beside PyTorch's own parser and the code of its two backends: what torchrun starts with, toprun
starts with, and what torchrun refuses, toprun refuses."""

import json
import unittest

import support

KEYS = ["is_host", "store_type", "timeout", "join_timeout", "keep_alive_interval", "keep_alive_max_attempt", "unknown"]
# The other keys are read as join_timeout is.
LIKE_JOIN_TIMEOUT = ["last_call_timeout", "close_timeout", "read_timeout", "heartbeat_timeout"]
VALUES = ["1", "0", "-1", "+7", "007", "1_000", "1__0", "_1", "1_", "- 1", "5'", '"5"', "1.5", "1e3", "0x10", "true", "Yes",
          "n", "maybe", "tcp", "TCP", "none", "99999999999", "86399999999999", "86400000000000", "9" * 25, "a=b", ""]
TEXTS = ["", "  ", ",", "x", "=", "=1", "x=", "x= ", " x = 1 ", "x=1,", ",x=1", "x=1,,y=2", "x=1 , y=2", "x=1;y=2",
         "'join_timeout=5,last_call_timeout=1,timeout=5'", "join_timeout=5'", "join_timeout= 5 ", "join_timeout=\t5\n",
         "join_timeout=0,join_timeout=5", "join_timeout=5,join_timeout=0", "is_host=maybe,is_host=1", "JOIN_TIMEOUT=x",
         "join timeout=5", "is_host=1=0", "timeout==5"]
# Refused on purpose: a rendezvous in a file (docs/reference/torchrun.md).
ON_PURPOSE = [("c10d", "store_type=file")]

# Which of the texts torchrun starts with. Only the store is another than its own: it would need a port each.
PEER = """\
import json, sys, datetime
from torch.distributed import HashStore
from torch.distributed.elastic.rendezvous import RendezvousParameters, c10d_rendezvous_backend, static_tcp_rendezvous
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import create_handler
from torch.distributed.elastic.rendezvous.utils import _parse_rendezvous_config

def tcp_store(host, port, is_master, multi_tenant, timeout):
    return HashStore()

c10d_rendezvous_backend.TCPStore = tcp_store

def starts(backend, text):
    try:
        config = _parse_rendezvous_config(text)
        if backend == "static":
            config["rank"] = 0
        parameters = RendezvousParameters(backend, "localhost:29500", "id", 1, 1, **config)
        if backend == "static":
            static_tcp_rendezvous.create_rdzv_handler(parameters)
        else:
            made, store = c10d_rendezvous_backend.create_backend(parameters)
            create_handler(store, made, parameters)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None

print(json.dumps([starts(*case) for case in json.load(open(sys.argv[1]))]))
"""


class Differential(support.TestCase):
    def test_what_torchrun_starts_with(self):
        texts = TEXTS + [f"{key}={value}" for key in KEYS for value in VALUES]
        texts += [f"{key}={value}" for key in LIKE_JOIN_TIMEOUT for value in ("0", "x", "+7")]
        cases = [(backend, text) for backend in ("c10d", "static") for text in texts]
        file = self.folder() / "cases"
        file.write_text(json.dumps(cases))
        peer = self.run_to_end(support.python(), "-c", PEER, file, limit=200)
        self.assert_ok(peer)
        theirs = json.loads(peer.out.splitlines()[-1])
        self.assertEqual(len(theirs), len(cases))
        refused = sum(why is not None for why in theirs)
        self.assertGreater(refused, 100, "the peer reads what it is given")
        self.assertGreater(len(cases) - refused, 100, "the peer reads what it is given")
        for (backend, text), why in zip(cases, theirs):
            if (backend, text) in ON_PURPOSE:
                continue
            finished = self.run_to_end(support.TOPRUN, "--rdzv-backend", backend, f"--rdzv-conf={text}", "--dry-run",
                                       "--no-python", "true")
            with self.subTest(backend=backend, text=text):
                self.assertEqual(finished.code, 2 if why else 0, f"torchrun: {why}\ntoprun: {finished.err}")


if __name__ == "__main__":
    unittest.main()
