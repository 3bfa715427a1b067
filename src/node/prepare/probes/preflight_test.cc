#include "node/prepare/probes/preflight.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/os/os_testing.h"
#include "base/text/text.h"

namespace toprun::probes {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using doctor::Resources;
using model::Evidence;
using model::Join;

Evidence good() {
  Evidence evidence;
  evidence.script = "a1";
  evidence.python = "3.11";
  evidence.torch = "2.13.0+cpu";
  evidence.resources.shm_free_bytes = std::int64_t{8} << 30;
  evidence.resources.open_files = 65536;
  evidence.resources.free_ports = 28000;
  return evidence;
}

// Nodes n0, n1 … of two ranks each that saw this.
std::vector<Join> nodes(std::vector<std::optional<Evidence>> seen) {
  std::vector<Join> joins;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    Join join;
    join.host = fmt::format("n{}", i);
    join.slots = 2;
    join.evidence = seen[i];
    joins.push_back(join);
  }
  return joins;
}

template <class T>
Evidence with(T Evidence::*field, T value) {
  Evidence evidence = good();
  evidence.*field = value;
  return evidence;
}

Evidence left(std::optional<std::int64_t> Resources::*field, std::int64_t amount) {
  Evidence evidence = good();
  evidence.resources.*field = amount;
  return evidence;
}

using File = std::optional<std::string>;

TEST(PreflightWarnings, OneLineEach) {
  struct Case {
    std::vector<std::optional<Evidence>> seen;
    std::string expected;
  };
  for (const auto& [seen, expected] : std::vector<Case>{
           {{good(), good()}, ""},
           {{std::nullopt, std::nullopt}, ""},
           {{good(), with(&Evidence::script_error, std::string("Permission denied")),
             with(&Evidence::script_error, std::string("Permission denied"))},
            "warning: the script cannot be read on n[1-2]: Permission denied; make the script "
            "readable there"},
           {{with(&Evidence::script, std::string("b2")), good(), good(),
             with(&Evidence::script, std::string("c3"))},
            "warning: the script differs between nodes: one on n[1-2], another on n0, another on "
            "n3; copy the same script to all nodes"},
           {{with(&Evidence::idle_accelerate_config, File("/hf/default_config.yaml")), good()},
            "warning: the script imports accelerate, but its settings in /hf/default_config.yaml "
            "on n0 are not applied; `toprun --accelerate-config /hf/default_config.yaml` applies "
            "them, as accelerate's own launcher does"},
           {{good(), with(&Evidence::python, std::string("3.12"))},
            "warning: nodes have different Pythons: 3.11 on n0, 3.12 on n1; give all nodes the "
            "same environment"},
           {{good(), with(&Evidence::python, std::string())}, ""},
           {{good(), std::nullopt, with(&Evidence::torch, std::string("2.5.0")), good()},
            "warning: nodes have different versions of torch: 2.13.0+cpu on n[0,3], 2.5.0 on n2; "
            "install the same version on all nodes"},
           {{with(&Evidence::network, std::optional<std::string>("no RDMA")),
             with(&Evidence::network, std::optional<std::string>("1 RoCE port of 400 Gb/s"))},
            "warning: nodes differ in RDMA: 1 RoCE port of 400 Gb/s on n1, no RDMA on n0; the "
            "slowest node slows down all nodes (run `toprun net show` on it)"},
           {{with(&Evidence::nccl, std::optional<std::string>("2.27.3")), good(),
             with(&Evidence::nccl, std::optional<std::string>("2.21.5"))},
            "warning: nodes have different versions of NCCL: 2.21.5 on n2, 2.27.3 on n0; install "
            "the same version on all nodes"},
           {{with(&Evidence::mistakes, std::vector<std::string>{"NCCL_IB_DISABLE=1"}), good(),
             with(&Evidence::mistakes, std::vector<std::string>{"NCCL_IB_DISABLE=1"})},
            "warning: NCCL_IB_DISABLE=1 on n[0,2] (run `toprun net env` there)"},
           {{good(), with(&Evidence::clock_behind, 1900ms)}, ""},
           {{good(), with(&Evidence::clock_behind, -3200ms)},
            "warning: the clock of n1 differs by 3.2 s from the root's clock; set it with NTP, "
            "because otherwise times in logs and files mislead"},
           {{with(&Evidence::clock_behind, 0ms), with(&Evidence::clock_behind, 60'000ms),
             with(&Evidence::clock_behind, -2500ms)},
            "warning: the clock of n[1-2] differs by up to 1 min 00 s from the root's clock; set "
            "it with NTP, because otherwise times in logs and files mislead"},
           {{left(&Resources::shm_free_bytes, 64 << 20)},
            "warning: /dev/shm has 64 MiB or less left on n0: data loaders and NCCL need more "
            "memory there; "
            "remove old files there; for a container, use --shm-size 8g; in Kubernetes, use an "
            "emptyDir with medium: Memory"},
           {{left(&Resources::shm_free_bytes, (64 << 20) + 1)}, ""},
           {{left(&Resources::open_files, 256)},
            "warning: the limit on open files is low on n0: a process of a large job has a "
            "connection to each rank; run `ulimit -n 65536` before toprun; above the hard limit "
            "(`ulimit -Hn`), and on other hosts, an administrator sets LimitNOFILE= of slurmd "
            "(Slurm) or "
            "nofile in limits.conf (ssh)"},
           {{left(&Resources::open_files, 1024)}, ""},
           {{left(&Resources::processes, 100)},
            "warning: the limit on processes and threads is low on n0: data loaders and NCCL start "
            "many processes and threads; run `ulimit -u 65536` before toprun; above the hard limit "
            "(`ulimit -Hu`), and on other hosts, an administrator sets TasksMax= and LimitNPROC= "
            "of "
            "slurmd (Slurm) or nproc in limits.conf (ssh)"},
           {{left(&Resources::locked_bytes, 8 << 20)},
            "warning: the limit on locked memory is low on n0: RDMA registers all its buffers; "
            "run `ulimit -l unlimited` before toprun; above the hard limit (`ulimit -Hl`), and on "
            "other hosts, an administrator sets LimitMEMLOCK= of slurmd (Slurm), memlock in "
            "limits.conf (ssh) or --ulimit memlock=-1 (container)"},
           {{left(&Resources::free_ports, 20)},
            "warning: few ports are left for connections on n0: each connection takes one port; "
            "end the programs that use the ports, or widen net.ipv4.ip_local_port_range"},
       }) {
    EXPECT_EQ(join(preflight_warnings(nodes(seen)), "\n"), expected);
  }
}

TEST(PreflightWarnings, OneRankNeedsNoSharedMemory) {
  auto joins = nodes({left(&Resources::shm_free_bytes, 0)});
  joins[0].slots = 1;
  EXPECT_TRUE(preflight_warnings(joins).empty());
  joins.push_back(joins[0]);  // in place: two ranks on one host
  EXPECT_EQ(preflight_warnings(joins).size(), 1u);
}

TEST(PreflightWarnings, AFullMeshOfManyRanksNeedsFiles) {
  std::vector<std::optional<Evidence>> seen(500, left(&Resources::open_files, 1024));
  EXPECT_EQ(
      preflight_warnings(nodes(seen)),
      std::vector<std::string>{
          "warning: the limit on open files is low on n[0-31] and 468 more: a process of a large "
          "job has a connection to each rank; run `ulimit -n 65536` before toprun; above the hard "
          "limit (`ulimit -Hn`), and on other hosts, an administrator sets LimitNOFILE= of slurmd "
          "(Slurm) or nofile in limits.conf (ssh)"});
}

TEST(PreflightWarnings, AreBounded) {
  Evidence bad;
  bad.script_error = "Permission denied";
  bad.clock_behind = 5s;
  bad.resources.shm_free_bytes = bad.resources.open_files = bad.resources.processes =
      bad.resources.locked_bytes = bad.resources.free_ports = 0;
  Evidence other = bad;
  bad.script = bad.python = bad.torch = "1";
  other.script = other.python = other.torch = "2";
  EXPECT_EQ(preflight_warnings(nodes({bad, other})).size(), most_preflight_warnings);
}

TEST(Evidence, TravelsWithItsClock) {
  Evidence evidence = left(&Resources::locked_bytes, 65536);
  evidence.clock = 1'764'000'000'123ms;
  const auto back = nlohmann::json(evidence).get<Evidence>();
  EXPECT_EQ(back.script, evidence.script);
  EXPECT_EQ(back.python, evidence.python);
  EXPECT_EQ(back.torch, evidence.torch);
  EXPECT_EQ(back.resources.shm_free_bytes, evidence.resources.shm_free_bytes);
  EXPECT_EQ(back.resources.locked_bytes, evidence.resources.locked_bytes);
  EXPECT_EQ(back.resources.processes, std::nullopt);
  EXPECT_EQ(back.clock, evidence.clock);
  EXPECT_EQ(back.clock_behind, 0ms) << "only the receiver knows";
  evidence.clock = model::latest_clock + 1ms;
  EXPECT_THROW((void)nlohmann::json(evidence).get<Evidence>(), model::OutOfRange);
}

class Examine : public testing::Test {
 protected:
  void SetUp() override {
    job_.program = {"/nowhere/python"};
    job_.inherited = spawn::Inherited::capture();
  }

  std::string script(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    job_.options.script = folder_ / name;
    const Evidence evidence = examine(job_);
    return evidence.script + evidence.script_error;
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  plan::Job job_;
};

TEST_F(Examine, ScriptsAreToldApartByTheirContents) {
  const std::string one = script("a.py", "print(1)\n");
  EXPECT_EQ(one.size(), 32u);
  EXPECT_EQ(script("b.py", "print(1)\n"), one);
  EXPECT_NE(script("a.py", "print(2)\n"), one);
  EXPECT_EQ(script("big.py", std::string(longest_hashed_script_bytes + 1, '#')), "4194305 bytes");
}

TEST_F(Examine, AFoldersMainIsItsScript) {
  const std::string one = script("__main__.py", "print(1)\n");
  job_.options.script = folder_;
  EXPECT_EQ(examine(job_).script, one);
}

TEST_F(Examine, APipeIsNotRead) {
  job_.options.script = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(job_.options.script.c_str(), 0600), 0);
  EXPECT_EQ(examine(job_).script, "");
}

TEST_F(Examine, SeesThisHost) {
  const Evidence evidence = examine(job_);
  EXPECT_EQ(evidence.python, "");
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur != RLIM_INFINITY) {
    EXPECT_EQ(evidence.resources.open_files, static_cast<std::int64_t>(files.rlim_cur));
  }
  ASSERT_TRUE(evidence.resources.free_ports);
  EXPECT_GT(*evidence.resources.free_ports, 0);
  EXPECT_LT(*evidence.resources.free_ports, 65536);
}

}  // namespace
}  // namespace toprun::probes
