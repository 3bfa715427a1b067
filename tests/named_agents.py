"""Jobs of several agents on this machine, each with a host name of its own: a1, a2, …"""

import support

NAMED = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']


class TestCase(support.TestCase):
    def setUp(self):
        support.needs_root()
        support.needs_program("unshare")
        self.here = self.folder()

    def agents(self, places, *words, nnodes=None, after=()):
        """One for each line of `host /cluster/…/host`, begun with these words, and with those that come after their own.
        The first has the root: the others begin once it listens."""
        (self.here / "places").write_text(places)
        first, *others = [line.split()[0] for line in places.splitlines()]
        port = support.free_port()
        meet = ["--nnodes", nnodes or 1 + len(others), "--nproc-per-node", 1, "--rdzv-backend", "c10d",
                "--rdzv-endpoint", f"localhost:{port}", "--topology", "places", "--no-preflight"]

        def agent(host):
            return self.begin(*NAMED, host, support.binary(), *words, *meet, *after, cwd=self.here)

        root = agent(first)
        support.wait_until(lambda: support.listens(port), 20, "the root listens")
        return [root, *(agent(host) for host in others)]
