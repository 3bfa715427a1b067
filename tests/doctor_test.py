# ctest: EMULATED
"""toprun doctor on this machine, under limits, and on copies of other machines' files."""

import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest

import machines
import net_test
import support


class Doctor(support.TestCase):
    def findings(self, finished):
        shown = json.loads(finished.out)
        self.assertEqual(shown["schema"], "toprun.doctor/1")
        return {one["id"]: one for one in shown["findings"]}

    def here(self, before="", env=None):
        """The findings on this machine, below a shell that first says `before`."""
        return self.findings(self.run_to_end("bash", "-c", f"{before}\nexec {support.binary()} doctor --json", env=env))

    def there(self, build, *options, env=None):
        root = self.folder()
        build(machines.Machine(root))
        return self.toprun("doctor", "--root", root, *options, env={"HOME": "/nowhere", **(env or {})})

    def test_the_python_of_a_launch_is_among_all(self):
        python = support.python()
        done = self.toprun("doctor", "--all", env={"PYTHON_EXEC": python})
        self.assertRegex(done.out, rf"(?m)^ok +python +Python 3\.\d+ \({re.escape(str(python))}\), PyTorch \d")

    def test_the_python_of_a_launch_may_be_in_toprun_toml(self):
        folder, python = self.folder(), support.python()
        venv = pathlib.Path(python).parent.parent
        (folder / "toprun.toml").write_text(f'venv = "{venv}"\n')
        done = self.toprun("doctor", "--all", cwd=folder)
        self.assertRegex(done.out, rf"(?m)^ok +python +Python 3\.\d+ \({re.escape(str(venv))}/bin/python\), PyTorch \d")
        done = self.toprun("doctor", "--all", cwd=folder, env={"TOPRUN_VENV": "/no/venv"})  # before the file
        self.assertRegex(done.out, r"(?m)^error +python +a launch from here fails: --venv /no/venv on host \S+: there is no /no/venv/bin/python$")
        self.assertEqual(done.code, 4)

    def test_a_python_exec_that_is_none(self):
        done = self.toprun("doctor", env={"PYTHON_EXEC": "/no/python"})
        self.assertRegex(done.out, r"(?m)^error +python +a launch from here fails: PYTHON_EXEC=/no/python on host \S+: "
                                   r"this is not an executable program\n +correct or unset PYTHON_EXEC$")
        self.assertEqual(done.code, 4)

    def test_a_folder_without_a_machine_s_copy_is_not_a_healthy_machine(self):
        for words in (("doctor",), ("doctor", "--json"), ("net", "show"), ("net", "env")):
            for root, why in (("/nowhere", "there is no such folder"), (self.folder(), "this folder contains no sys, proc, etc or dev")):
                with self.subTest(words, root=root):
                    done = self.toprun(*words, "--root", root)
                    self.assertEqual((done.code, done.out), (2, ""), done)
                    self.assert_one_line(done, f"--root {root}: {why}.*")

    def test_what_a_copy_does_not_contain_is_unknown(self):
        root = self.folder()
        (root / "sys").mkdir()
        done = self.toprun("doctor", "--all", "--root", root, env={"HOME": "/nowhere"})
        told = [line.split()[1] for line in done.out.splitlines() if "unknown: the copy does not contain it" not in line]
        self.assertEqual(told, ["nccl-settings"])
        self.assertEqual(self.toprun("doctor", "--root", root, env={"HOME": "/nowhere"}).out, "1 check found nothing; 26 unknown\n")
        self.assertNotIn("unknown", self.toprun("doctor", "--all").out)

    def test_a_low_limit_is_found(self):
        self.assertEqual(self.here("ulimit -n 8192 || ulimit -Hn")["open-files"]["severity"], "ok")
        usual = self.here("ulimit -n 1024")["open-files"]
        self.assertEqual(usual["severity"], "note")  # enough for a job on one machine
        low = self.here("ulimit -n 300")["open-files"]
        self.assertEqual(low["severity"], "warning")
        self.assertIn("300 files", low["evidence"])
        fatal = self.here("ulimit -n 32")["open-files"]
        self.assertEqual(fatal["severity"], "error")
        self.assertEqual(self.here("ulimit -S -n 32")["open-files"]["severity"], "warning")  # a launch raises it

    def test_a_script_in_place_of_python_is_asked_for_its_python(self):
        """As pyenv's shims are."""
        with tempfile.TemporaryDirectory() as folder:
            shim = pathlib.Path(folder, "python3")
            shim.write_text('#!/bin/sh\nexec /usr/bin/python3 "$@"\n')
            shim.chmod(0o755)
            found = self.here(env={"PATH": f"{folder}:/usr/bin:/bin"})["python"]
            self.assertRegex(found["evidence"], rf"^Python 3\.\d+ \({shim}\)")
            mark = pathlib.Path(folder, "asked")
            shim.write_text(f"#!/bin/sh\n>{mark}\nexit 1\n")
            found = self.here(env={"PATH": f"{folder}:/usr/bin:/bin", "PYTHONHOME": "/opt"})["python"]
            self.assertIn("cannot tell its version", found["evidence"])
            self.assertFalse(mark.exists(), "PYTHONHOME may lead to another Python's files")
            shim.write_text("#!/bin/sh\nexit 1\n")
            self.assertIn("cannot tell its version", self.here(env={"PATH": f"{folder}:/usr/bin:/bin"})["python"]["evidence"])

    def test_a_folder_for_temporary_files_that_is_not_there(self):
        found = self.here(env={"TMPDIR": "/no/such/folder"})["temporary-folder"]
        self.assertEqual((found["severity"], found["evidence"]), ("warning", "TMPDIR=/no/such/folder: No such file or directory"))
        file = self.folder() / "file"
        file.touch(mode=0o700)
        self.assertEqual(self.here(env={"TMPDIR": str(file)})["temporary-folder"]["evidence"], f"TMPDIR={file}: Not a directory")

    def test_settings_that_contradict_the_machine(self):
        found = self.here(env={"NCCL_SOCKET_IFNAME": "eth77", "NCCL_SOCKET_NTREADS": "4"})["nccl-settings"]
        self.assertEqual(found["severity"], "warning")
        self.assertEqual(found["fix"], "correct or remove this setting where it is set (the shell's files, the job's script, "
                                       "toprun.toml or nccl.conf); `toprun net env` shows the settings that fit this "
                                       "machine, and why")

    def test_a_setting_that_nccl_ignores_is_a_note(self):
        fine = self.here(env={"NCCL_P2P_LEVEL": "NVL"})["nccl-settings"]["evidence"]
        self.assertEqual(fine, "no setting that toprun checks contradicts this machine")
        found = self.here(env={"NCCL_DEBUG": "debug"})["nccl-settings"]
        self.assertEqual((found["severity"], found["evidence"]),
                         ("note", "NCCL_DEBUG=debug (set by you): NCCL's levels are VERSION, WARN, INFO and TRACE; "
                                  "NCCL ignores other values"))

    def fixes_under(self, limit):
        """Of a user without capabilities, as far as the case may become one."""
        if os.geteuid() != 0:
            self.skipTest("only root can become another user here")
        done = self.run_to_end("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
                               "prlimit", limit, self.copied(), "doctor", "--here", "--fix", cwd="/")
        return done.out

    def test_a_user_raises_a_limit_to_the_hard_limit_only(self):
        """Of the commands that --fix prints, the user can run each; what an administrator does is a comment."""
        few, files = "# the limit on processes and threads is low (40 processes): ", "# the limit on open files is low (300 files): "
        administrator = r"above the hard limit \(`ulimit -H[nu]`\), and on other hosts, an administrator sets .*limits\.conf \(ssh\)"
        for limit, finding, said in (
                ("--nproc=40:65536", few, "ulimit -u 65536"),
                ("--nproc=40:40", few, f"# by hand: {administrator}"),
                ("--nofile=300:4096", files, "ulimit -n 4096"),
                ("--nofile=300:1024", files, f"# by hand: run `ulimit -n 1024` before toprun; {administrator}"),
                ("--nofile=300:300", files, f"# by hand: {administrator}")):
            with self.subTest(limit):
                self.assertRegex(self.fixes_under(limit), rf"(?m)^{re.escape(finding)}.*\n{said}$")

    def copied(self):
        """The program where another user may start it."""
        folder = self.folder()
        folder.chmod(0o755)
        return shutil.copy(support.TOPRUN, folder / "toprun")

    def test_the_exit_code_is_the_worst_findings(self):
        for build, code, line in (
                (net_test.eight_equal, 4, r"error +verbs "),
                (net_test.infiniband, 4, r"error +verbs "),
                (net_test.empty, 0, r"^\d+ checks found nothing; \d+ do not apply; \d+ unknown$"),
                (net_test.port_down, 4, r"warning +rdma-ports +mlx5_3:1 is down"),
                (net_test.degraded, 4, r"warning +rdma-rates +mlx5_5:1 runs at 200 of 400 Gb/s"),
                (net_test.bond_leg_down, 4, r"warning +bonds +ens1f1 of bond0 is down"),
                (net_test.link_local_only, 4,
                 r"error +rdma-gids +mlx5_0:1: no GID that can be routed: entry 1 \(fe80::1\): link-local"),
                (net_test.ipv4_link_local_only, 4,
                 r"error +rdma-gids +mlx5_0:1: no GID that can be routed: entry 1 \(169\.254\.3\.4\): link-local")):
            with self.subTest(machine=build.__name__):
                finished = self.there(build)
                self.assertEqual(finished.code, code, finished)
                self.assertRegex(finished.out.rstrip("\n"), line)

    def test_a_library_that_the_image_lacks(self):
        def pod(machine):
            net_test.one_hca(machine)
            machine.write("dev/infiniband/uverbs0", "")

        def whole(machine):
            pod(machine)
            machine.write("usr/lib64/libibverbs.so.1", "")

        for build, expected in ((pod, "warning"), (whole, "ok")):
            found = self.findings(self.there(build, "--json"))
            self.assertEqual((found["verbs-library"]["severity"], found["verbs"]["severity"]), (expected, "ok"))

    def test_machines_that_show_little(self):
        for build in (net_test.hidden_sys, net_test.unreadable, net_test.half_populated, net_test.nonsense):
            with self.subTest(machine=build.__name__):
                finished = self.there(build, "--json")
                self.assertIn(finished.code, (0, 3, 4), finished)
                self.assertEqual(finished.err, "")
                self.findings(finished)

    def test_fix_prints_commands(self):
        finished = self.there(net_test.eight_equal, "--fix")
        sudo = "" if os.geteuid() == 0 else "sudo "
        self.assertIn(f"\n{sudo}modprobe ib_uverbs\n", finished.out)
        self.assertTrue(all(line.startswith("# ") or "`" not in line for line in finished.out.splitlines()))

    def test_fix_tells_what_no_command_fixes(self):
        done = self.there(net_test.empty, "--fix", env={"NCCL_IB_HCA": "mlx5_0"})
        self.assertRegex(done.out, r"(?m)^# NCCL_IB_HCA=mlx5_0 .*no RDMA device\n"
                                   r"# by hand: correct or remove this setting where it is set")

    def test_fix_without_a_command_says_so(self):
        finished = self.there(net_test.empty, "--fix")
        self.assertEqual(finished.out, "")
        self.assertIn("found no problem, so there is nothing to fix", finished.err)

    def test_options_without_effect_are_named(self):
        for words, said in ((("--fix", "--all"), "--all has no effect with --fix, which prints commands only for problems"),
                            (("--fix", "--json"), "--fix has no effect here: the JSON contains the commands of each finding"),
                            (("--fix",), None), (("--json", "--all"), None)):
            with self.subTest(words):
                done = self.there(net_test.eight_equal, *words)
                self.assertEqual("has no effect" in done.err, said is not None, done)
                self.assertIn(said or "", done.err)

    def test_a_limit_that_root_does_not_have(self):
        """CAP_SYS_ADMIN lifts it as CAP_SYS_RESOURCE does: setrlimit(2)."""
        if os.geteuid() != 0:
            self.skipTest("only root has no such limit")
        done = self.run_to_end("setpriv", "--bounding-set=-sys_resource", "prlimit", "--nproc=5", support.binary(),
                               "doctor", "--here", "--json")
        self.assertEqual(self.findings(done)["processes"]["severity"], "ok", done)

    def test_all_shows_every_check(self):
        told = self.there(net_test.empty, "--all").out
        self.assertEqual((told.count("\nok  "), told.count("\n--  ")), (2, 24))
        self.assertRegex(told, r"(?m)^--      gpudirect +no RDMA device$")
        self.assertRegex(told, r"(?m)^--      pcie-lanes +no RDMA device, no GPU$")
        self.assertRegex(told, r"(?m)^--      bonds +no bond$")


if __name__ == "__main__":
    unittest.main()
