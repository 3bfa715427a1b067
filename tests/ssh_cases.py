"""Cases on virtual hosts with an sshd each."""

import pathlib
import shutil
import tempfile

import cluster
import sshd
import support


class SshCase(cluster.TestCase):
    HOSTS = []  # those of UP

    @classmethod
    def setUpClass(cls):
        support.needs_root()
        support.needs_program("/usr/sbin/sshd")
        super().setUpClass()
        cls.keys = pathlib.Path(tempfile.mkdtemp(prefix="toprun-ssh-"))
        cls.addClassCleanup(shutil.rmtree, cls.keys, ignore_errors=True)
        cls.daemons = sshd.Daemons(cls.cluster, cls.HOSTS, cls.keys)
        cls.addClassCleanup(cls.daemons.stop_all)
        cls.daemons.start_all()
