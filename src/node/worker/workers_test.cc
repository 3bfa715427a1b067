#include "node/worker/workers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <boost/asio/steady_timer.hpp>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "base/process/process_tree.h"
#include "base/text/text.h"
#include "node/worker/binding.h"
#include "node/worker/shim.h"
#include "node/worker/shim_link.h"
#include "node/worker/spawn/descendants.h"
#include "node/worker/worker_testing.h"

namespace toprun::worker {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

bool exists(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

// The processes whose children the workers are.
enum class Where { here, in_a_shim, warm, warm_in_a_shim };

// Forks of a warm parent are Python, which ignores two signals; each turns into its test's program.
constexpr const char* turn_into_a_shell =
    "import os, signal\n"
    "for number in signal.SIGPIPE, signal.SIGXFSZ: signal.signal(number, signal.SIG_DFL)\n"
    "os.execv('/bin/sh', ['/bin/sh', '-c', os.environ['SCRIPT']])\n";

// Runs workers until they are gone, with a file as the console.
class AnyWorkersTest : public testing::Test {
 protected:
  void SetUp() override {
    console_.out = ::open((root_ / "out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    console_.err = ::open((root_ / "err").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  }
  void TearDown() override {
    workers_.reset();
    shim_link_.reset();
    if (shim_ > 0) ::waitpid(shim_, nullptr, 0);
    ::close(console_.out);
    ::close(console_.err);
  }

  void add(const std::string& script) {
    if (!is_warm()) return add_program({"/bin/sh", "-c", script});
    add_program(python_command());
    plans_.back().environment.set("SCRIPT", script);
  }
  std::vector<std::string> python_command() const {
    return {"/usr/bin/python3", "-u", root_ / "turn.py"};
  }
  void add_program(std::vector<std::string> argv) {
    WorkerPlan plan;
    plan.rank = plan.local_rank = static_cast<int>(plans_.size());
    plan.argv = std::move(argv);
    plan.environment = {
        {"PATH", "/usr/bin:/bin"}, {"ROOT", root_.string()}, {"OMP_NUM_THREADS", "1"}};
    plans_.push_back(std::move(plan));
  }
  output::OutputPlan output_plan() {
    output::OutputPlan plan;
    plan.console = std::make_shared<output::Terminal>(io_, console_, false);
    return plan;
  }
  Result<void> start() {
    workers_ = std::make_unique<Workers>(io_, children(), "n1", plans_,
                                         Workers::Observer{[this](const model::WorkerExit& exit) {
                                                             exits_[exit.rank] = exit;
                                                             if (on_exit_) on_exit_(exit);
                                                           },
                                                           [this] {
                                                             gone_ = true;
                                                             if (on_gone_) on_gone_();
                                                           }},
                                         output_plan());
    return workers_->start();
  }
  std::shared_ptr<Children> children() {
    if (is_warm() && !fs::exists(root_ / "turn.py")) {
      std::ofstream(root_ / "turn.py") << turn_into_a_shell;
      warm_up();
    }
    if (!in_shim()) return own_children(io_, inherited_, "n1", warm_);
    if (!shim_link_) start_shim();
    return shim_link_;
  }
  bool in_shim() const { return where_ == Where::in_a_shim || where_ == Where::warm_in_a_shim; }
  bool is_warm() const { return where_ == Where::warm || where_ == Where::warm_in_a_shim; }
  void warm_up() {
    spawn::Program command;
    command.argv = python_command();
    command.environment = {"PATH=/usr/bin:/bin", "ROOT=" + root_.string(), "OMP_NUM_THREADS=1"};
    if (in_shim()) {
      start_shim();
      auto warmth = shim_link_->warm_up(command, {});
      while (warmth && !warmth->settled) warmth = shim_link_->warmth();
      ASSERT_TRUE(warmth && warmth->why_not.empty());
      return;
    }
    auto parent = warm::Parent::start(command, {}, inherited_, "n1");
    ASSERT_TRUE(parent);
    warm_ = *std::move(parent);
    while (!warm_->settled()) warm_->hear();
    ASSERT_EQ(warm_->state(), warm::Parent::State::ready) << warm_->why();
  }
  // Starts a shim without a container.
  void start_shim() {
    const ShimDoor door = *ShimDoor::open(root_ / "shim");
    shim_ = ::fork();
    if (shim_ == 0) {
      inherited_.restore();  // as when a runtime is started
      ::_exit(run_shim(root_ / "shim"));
    }
    Fd connection = *door.admit(test_limit);
    const ShimFrame hello = *ShimLink::hear_hello(connection, "n1");
    shim_link_ = std::make_shared<ShimLink>(io_, std::move(connection), hello, "n1");
  }
  std::string host() const { return in_shim() ? "n1 in the container" : "n1"; }
  bool nobody_is_left() const {
    auto left = process::descendants(::getpid());
    std::erase_if(left, [this](pid_t pid) {
      const auto command = read_file(fmt::format("/proc/{}/cmdline", pid)).value_or("");
      const bool has_ended =
          spawn::describe_process(pid).find("(python3, state Z") != std::string::npos;
      return pid == shim_ || has_ended || command.find("turn.py") != std::string::npos;
    });
    return left.empty();
  }
  void run_until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + test_limit;
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      io_.run_one_for(100ms);
    }
  }
  void run() {
    run_until([this] { return gone_; });
  }
  void start_and_run() {
    ASSERT_TRUE(start());
    run();
  }
  std::string file(const std::string& name) const {
    return read_file(root_ / name).value_or("no such file");
  }
  // The process id that a worker wrote to a file; waits until it is complete.
  pid_t pid_in(const std::string& name) {
    run_until([&] { return file(name).ends_with("\n"); });
    return static_cast<pid_t>(parse_int(trim(file(name))).value_or(0));
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
  output::ConsoleDescriptors console_;
  boost::asio::io_context io_;
  const spawn::Inherited inherited_ = spawn::Inherited::capture();
  std::vector<WorkerPlan> plans_;
  std::function<void(const model::WorkerExit&)> on_exit_;
  std::function<void()> on_gone_;
  std::unique_ptr<Workers> workers_;
  std::map<int, model::WorkerExit> exits_;
  bool gone_ = false;
  Where where_ = Where::here;
  std::shared_ptr<warm::Parent> warm_;
  pid_t shim_ = 0;
  std::shared_ptr<ShimLink> shim_link_;
};

class WorkersTest : public AnyWorkersTest, public testing::WithParamInterface<Where> {
 protected:
  void SetUp() override {
    AnyWorkersTest::SetUp();
    where_ = GetParam();
  }
};
INSTANTIATE_TEST_SUITE_P(Here, WorkersTest, testing::Values(Where::here));
INSTANTIATE_TEST_SUITE_P(InAShim, WorkersTest, testing::Values(Where::in_a_shim));
INSTANTIATE_TEST_SUITE_P(Warm, WorkersTest, testing::Values(Where::warm));
INSTANTIATE_TEST_SUITE_P(WarmInAShim, WorkersTest, testing::Values(Where::warm_in_a_shim));

TEST_P(WorkersTest, ReportHowEachEnded) {
  add("exit 0");
  add("echo said; echo why >&2; exit 7");
  add("kill -SEGV $$");
  add("exec 1>&- 2>&-; exit 3");
  start_and_run();
  ASSERT_EQ(exits_.size(), 4u);
  EXPECT_FALSE(exits_[0].failed());
  EXPECT_EQ(exits_[1].exit_code, 7);
  EXPECT_EQ(exits_[1].host, "n1");
  EXPECT_EQ(std::set<std::string>(exits_[1].last_output.begin(), exits_[1].last_output.end()),
            (std::set<std::string>{"said", "why"}));
  EXPECT_EQ(exits_[2].signal, SIGSEGV);
  EXPECT_EQ(exits_[3].exit_code, 3);
  for (const auto& [rank, exit] : exits_) EXPECT_FALSE(exit.ours) << rank;
  EXPECT_EQ(file("out"), "said\n");
  EXPECT_EQ(file("err"), "why\n");
}

TEST_F(AnyWorkersTest, AreNotSuccessfulWhereTheirEndWasNotSeen) {
  add("exit 0");
  ASSERT_TRUE(start());
  ASSERT_GT(::waitpid(-1, nullptr, 0), 0);  // as if another process were its parent
  run();
  EXPECT_EQ(exits_[0].code(), exit_failure);
  EXPECT_EQ(exits_[0].exception,
            "toprun cannot tell how this process ended: its exit status did not reach toprun");
}

TEST_P(WorkersTest, GetSessionsDescriptorsAndStdinOfTheirOwn) {
  const int leaked = ::open("/dev/null", O_RDONLY);  // without close-on-exec
  add("ls /proc/self/fd | wc -w; cut -d' ' -f 5,6 /proc/$$/stat; echo $$; read x || echo eof");
  start_and_run();
  ::close(leaked);
  const std::string text = file("out");
  const auto out = words(text);
  ASSERT_EQ(out.size(), 5u) << text;
  EXPECT_EQ(out[0], "4");     // 0, 1, 2 and the descriptor with which ls reads the folder
  EXPECT_EQ(out[1], out[3]);  // process group
  EXPECT_EQ(out[2], out[3]);  // session
  EXPECT_EQ(out[4], "eof");
}

std::uint64_t ignored_signals() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "SigIgn:" && status >> word) return std::stoull(word, nullptr, 16);
  }
  return 0;
}

TEST_P(WorkersTest, GetBackTheInheritedSignalsAndLimits) {
  rlimit before{};
  ::getrlimit(RLIMIT_CORE, &before);
  const rlimit changed{0, before.rlim_max};
  ::setrlimit(RLIMIT_CORE, &changed);
  const mode_t umask_before = ::umask(0);
  const std::uint64_t ignored_before = ignored_signals();  // as nohup does with SIGHUP
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t usr1;
  sigset_t mask_before;
  ::sigemptyset(&usr1);
  ::sigaddset(&usr1, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &usr1, &mask_before);
  add("ulimit -c; umask; exec grep -E 'SigBlk|SigIgn' /proc/self/status");
  start_and_run();
  ::setrlimit(RLIMIT_CORE, &before);
  ::umask(umask_before);
  ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &mask_before, nullptr);

  const std::string core = before.rlim_cur == RLIM_INFINITY
                               ? "unlimited"
                               : std::to_string(before.rlim_cur / 512);  // sh counts blocks
  const std::string out = file("out");
  const std::string start =
      fmt::format("{}\n{:04o}\nSigBlk:\t{:016x}\nSigIgn:\t", core, umask_before, 0);
  ASSERT_TRUE(out.starts_with(start)) << out;
  // 32 and 33 are reserved by the C library: this process cannot set them, but its parent may have.
  constexpr std::uint64_t kReservedByLibc = 3ULL << 31;
  EXPECT_EQ(std::stoull(out.substr(start.size()), nullptr, 16) & ~kReservedByLibc,
            ignored_before & ~kReservedByLibc)
      << out;
}

TEST_P(WorkersTest, StartAllOrNone) {
  add("echo $$ > $ROOT/pid; exec sleep 1000");
  add_program({"no-such-program"});
  const auto started = start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().line(),
            fmt::format("cannot run no-such-program on {}: it is not found in PATH; give the "
                        "program's path, or write ./no-such-program if it is in the current folder",
                        host()));
  EXPECT_FALSE(fs::exists(root_ / "pid"));  // it was not even started
}

TEST_P(WorkersTest, StartAllOrNoneWhenExecFails) {
  const std::string script = root_ / "script";
  std::ofstream(script) << "#!/no/such/interpreter\n";
  fs::permissions(script, fs::perms::owner_all);
  add("exec sleep 1000");
  add_program({script});
  const auto started = start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().line(),
            fmt::format("cannot run {} on {}: No such file or directory; the file exists, but the "
                        "interpreter or loader that it names does not",
                        script, host()));
  EXPECT_EQ(started.error()->exit_code, exit_usage);
  EXPECT_TRUE(nobody_is_left());
}

// A8: a frozen container may take seconds to answer.
TEST_P(WorkersTest, AreStartedBesideTheLoop) {
  add("echo hello");
  workers_ = std::make_unique<Workers>(
      io_, children(), "n1", plans_,
      Workers::Observer{[this](const model::WorkerExit& exit) { exits_[exit.rank] = exit; },
                        [this] { gone_ = true; }},
      output_plan());
  Pool pool(io_);
  std::optional<Result<void>> started;
  boost::asio::co_spawn(io_, workers_->start_beside(pool),
                        [&](const std::exception_ptr&, Result<void> result) { started = result; });
  if (in_shim()) ::kill(shim_, SIGSTOP);
  const auto until = std::chrono::steady_clock::now() + 200ms;
  bool beat = false;
  boost::asio::steady_timer beats(io_, 20ms);
  beats.async_wait([&](const boost::system::error_code&) { beat = true; });
  run_until([&] { return std::chrono::steady_clock::now() > until && (started || in_shim()); });
  EXPECT_TRUE(beat);
  EXPECT_EQ(started.has_value(), !in_shim());
  workers_->pause(true);  // not sent while the shim is busy with start()
  workers_->pause(false);
  if (in_shim()) ::kill(shim_, SIGCONT);
  run_until([&] { return started && gone_; });
  ASSERT_TRUE(*started);
  EXPECT_EQ(exits_[0].exit_code, 0);
  EXPECT_EQ(file("out"), "hello\n");
}

TEST_P(WorkersTest, HaveAPidWhileTheyLive) {
  add("exit 0");
  add("exec sleep 1000");
  std::vector<pid_t> left;
  on_exit_ = [&](const model::WorkerExit& exit) {
    if (exit.rank != 0) return;
    left = workers_->pids();
    workers_->stop(0ms);
  };
  ASSERT_TRUE(start());
  const std::vector<pid_t> started = workers_->pids();
  run();
  ASSERT_EQ(started.size(), 2u);
  EXPECT_GT(started[0], 0);
  EXPECT_EQ(left, (std::vector<pid_t>{0, started[1]}));
}

TEST_P(WorkersTest, StopsThoseThatHeedAndThoseThatDoNot) {
  add("exec sleep 1000");
  add("trap '' TERM; echo ready; while :; do sleep 0.1; done");
  add("trap 'exit 5' TERM; echo ready; while :; do sleep 0.1; done");
  ASSERT_TRUE(start());
  run_until([this] { return file("out") == "ready\nready\n"; });
  workers_->stop(300ms);
  workers_->stop(10min);  // a longer grace changes nothing
  run();
  EXPECT_EQ(exits_[0].signal, SIGTERM);
  EXPECT_EQ(exits_[1].signal, SIGKILL);
  EXPECT_EQ(exits_[2].exit_code, 5);
  for (const auto& [rank, exit] : exits_) EXPECT_TRUE(exit.ours) << rank;
}

TEST_P(WorkersTest, AShorterGraceWins) {
  add("trap '' TERM; echo ready; while :; do sleep 0.1; done");
  ASSERT_TRUE(start());
  run_until([this] { return file("out") == "ready\n"; });
  workers_->stop(10min);
  workers_->stop(0ms);
  run();
  EXPECT_EQ(exits_[0].signal, SIGKILL);
}

TEST_P(WorkersTest, LeaveNoDescendantBehind) {
  // A grandchild in a separate session that ignores SIGTERM and holds the output pipe.
  add("setsid sh -c 'trap \"\" TERM; echo $$ > $ROOT/pid; while :; do sleep 0.1; done' & "
      "while ! [ -s $ROOT/pid ]; do sleep 0.01; done; echo done; exit 4");
  bool alive_at_exit = false;
  on_exit_ = [&](const model::WorkerExit&) { alive_at_exit = exists(pid_in("pid")); };
  start_and_run();
  EXPECT_EQ(exits_[0].exit_code, 4);
  EXPECT_EQ(exits_[0].last_output, std::vector<std::string>{"done"});
  EXPECT_TRUE(alive_at_exit);  // the report did not wait for it
  EXPECT_FALSE(exists(pid_in("pid")));
}

TEST_P(WorkersTest, AreReportedAtOnceWithTheirLastLinesThoughTheConsoleIsStuck) {
  constexpr auto limit = 20s;  // blocked_output_limit is 50 ms; without it, it would be for ever
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  ::close(std::exchange(console_.out, ::dup(writer.get())));
  ::close(std::exchange(console_.err, ::dup(writer.get())));
  add("exec yes");
  add("while ! [ -e $ROOT/stuck ]; do sleep 0.01; done; echo why; exit 5");
  std::chrono::nanoseconds delay{};
  on_exit_ = [&](const model::WorkerExit& exit) {
    if (exit.rank != 1) return;
    delay = std::chrono::steady_clock::now() - exit.ended;
    workers_->stop(100ms);
  };
  ASSERT_TRUE(start());
  // Nobody reads: the pipe fills up, then toprun's own buffer.
  int filled = -1;
  for (int before = -2; filled <= 0 || filled != before; io_.run_for(200ms)) {
    before = filled;
    ASSERT_EQ(::ioctl(reader.get(), FIONREAD, &filled), 0);
  }
  std::ofstream(root_ / "stuck") << "now";
  run();
  EXPECT_LT(delay, limit);
  EXPECT_EQ(exits_[1].exit_code, 5);
  EXPECT_EQ(exits_[1].last_output, std::vector<std::string>{"why"});
  // The writer that is stuck may outlive this test, so the descriptors that it has stay open.
  for (int* const end : {&console_.out, &console_.err})
    *end = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
}

TEST_P(WorkersTest, StopKillsWhatDetached) {
  add("(setsid sh -c 'trap \"\" TERM; echo $$ > $ROOT/pid; exec sleep 1000' &); exec sleep 1000");
  ASSERT_TRUE(start());
  const pid_t detached = pid_in("pid");
  workers_->stop(100ms);
  run();
  EXPECT_FALSE(exists(detached));
}

TEST_P(WorkersTest, DestructionKills) {
  add("(setsid sh -c 'trap \"\" TERM; echo $$ > $ROOT/pid; exec sleep 1000' &); exec sleep 1000");
  ASSERT_TRUE(start());
  const pid_t detached = pid_in("pid");
  workers_.reset();
  EXPECT_FALSE(exists(detached));
  EXPECT_TRUE(nobody_is_left());
}

TEST_P(WorkersTest, MayBeDestroyedByTheirOwnCallbacks) {
  add("exit 1");
  add("exec sleep 1000");
  on_exit_ = [this](const model::WorkerExit&) {
    workers_.reset();
    gone_ = true;
  };
  start_and_run();
  io_.poll();
  EXPECT_TRUE(nobody_is_left());
}

TEST_P(WorkersTest, MayBeDestroyedWhenTheyAreGone) {
  add("echo said");
  on_gone_ = [this] { workers_.reset(); };
  start_and_run();
  io_.poll();
  EXPECT_EQ(file("out"), "said\n");
}

TEST_P(WorkersTest, ForwardSignals) {
  add("trap 'echo got; exit 0' USR1; echo ready; while :; do sleep 0.1; done");
  ASSERT_TRUE(start());
  run_until([this] { return file("out") == "ready\n"; });
  workers_->forward(SIGUSR1);
  run();
  EXPECT_EQ(file("out"), "ready\ngot\n");
  EXPECT_FALSE(exits_[0].failed());
}

TEST_P(WorkersTest, SlowExitAfterAnErrorOfItsOwnIsStillTheCause) {
  const std::string traceback =
      "printf 'Traceback (most recent call last):\\n  File x\\n%s\\n' >&2 ";
  add(traceback + "'ValueError: boom'; touch $ROOT/failed; sleep 1000");
  add("while ! [ -e $ROOT/failed ]; do sleep 0.01; done; " + traceback +
      "'RuntimeError: Connection closed by peer'; exit 9");
  on_exit_ = [this](const model::WorkerExit& exit) {
    if (exit.rank == 1) workers_->stop(10s);
  };
  start_and_run();
  const std::vector<model::WorkerExit> exits = {exits_[0], exits_[1]};
  const model::WorkerExit* const cause = model::root_cause(exits);
  ASSERT_NE(cause, nullptr);
  EXPECT_EQ(cause->rank, 0);
  EXPECT_EQ(cause->exception, "ValueError: boom");
  EXPECT_EQ(model::cause_code(*cause), 1);
}

TEST_P(WorkersTest, ReadTheErrorFile) {
  add("echo '{\"message\":{\"message\":\"ValueError: boom\",\"extraInfo\":{\"timestamp\":\"1\"}}}' "
      "> "
      "$ROOT/error.json; exit 1");
  plans_[0].error_file = root_ / "error.json";
  start_and_run();
  ASSERT_TRUE(exits_[0].error_file);
  EXPECT_EQ(exits_[0].error_file->message, "ValueError: boom");
}

TEST_F(AnyWorkersTest, AreReportedWhereTheirErrorFilesHang) {
  const fs::path hanging = root_ / "hanging";
  const Fd server = mount_hanging_folder(hanging);
  if (!server) GTEST_SKIP() << "no file system can be mounted here";
  for (int rank = 0; rank < 8; ++rank) {
    add("exit 7");
    plans_.back().error_file = hanging / "error.json";
  }
  int beats = 0;
  boost::asio::steady_timer heart(io_);
  const std::function<void()> beat = [&] {
    ++beats;
    heart.expires_after(100ms);
    heart.async_wait([&](const boost::system::error_code&) { beat(); });
  };
  beat();
  start_and_run();
  EXPECT_GT(beats, 1);
  EXPECT_EQ(exits_.size(), 8u);
  for (const auto& [rank, exit] : exits_) {
    EXPECT_EQ(exit.exit_code, 7);
    EXPECT_FALSE(exit.error_file);
  }
  workers_.reset();
  ::umount2(hanging.c_str(), MNT_DETACH);
}

TEST_P(WorkersTest, AreBoundToTheirCpus) {
  const std::vector<int> cpus = inherited_.cpus();
  ASSERT_FALSE(cpus.empty());
  const std::string allowed = "sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status >$ROOT/";
  add(allowed + "bound");
  add(allowed + "free");
  plans_[0].cpus = {cpus.back()};
  start_and_run();
  EXPECT_EQ(file("bound"), fmt::format("{}\n", cpus.back()));
  EXPECT_EQ(file("free"), cpu_list(cpus) + "\n");
}

TEST_P(WorkersTest, StartOnlyIfTheyCanBeBound) {
  add("echo started");
  plans_[0].cpus = {spawn::Inherited::max_cpus - 1};
  const auto started = start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().line(),
            fmt::format("--numa-binding: cannot bind a worker on {}: Invalid argument; the CPUs "
                        "that this job may use have changed meanwhile: start the job again",
                        host()));
  EXPECT_EQ(file("out"), "");
}

// A cgroup whose processes can be frozen (cgroups(7), version 1: SIGKILL waits until they thaw).
class Freezer {
 public:
  Freezer() : folder_(fmt::format("/sys/fs/cgroup/freezer/toprun-test-{}", ::getpid())) {
    std::error_code error;
    fs::create_directory(folder_, error);
    exists_ = !error;
  }
  ~Freezer() {
    write("freezer.state", "THAWED");
    for (const pid_t pid : frozen_) ::waitpid(pid, nullptr, 0);
    std::error_code ignored;
    fs::remove(folder_, ignored);
  }
  Freezer(const Freezer&) = delete;
  explicit operator bool() const { return exists_; }

  void freeze(pid_t pid) {
    frozen_.push_back(pid);
    write("cgroup.procs", fmt::format("{}", pid));
    write("freezer.state", "FROZEN");
  }

 private:
  void write(const char* file, const std::string& text) { std::ofstream(folder_ / file) << text; }

  const fs::path folder_;
  bool exists_ = false;
  std::vector<pid_t> frozen_;
};

TEST_F(AnyWorkersTest, WhatSigkillDoesNotEndIsNamedAndGivenUp) {
  Freezer freezer;
  if (!freezer) GTEST_SKIP() << "it needs a cgroup v1 freezer hierarchy that we may write to";
  add("echo $$ >$ROOT/pid; exec sleep 300");
  ASSERT_TRUE(start());
  const pid_t pid = pid_in("pid");
  run_until([&] { return spawn::describe_process(pid).find("(sleep") != std::string::npos; });
  freezer.freeze(pid);
  run_until([&] { return spawn::describe_process(pid).find("state D") != std::string::npos; });

  const auto began = std::chrono::steady_clock::now();
  testing::internal::CaptureStderr();
  workers_->stop(0ms);
  run();
  const std::string said = testing::internal::GetCapturedStderr();
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_TRUE(said.starts_with(fmt::format(
      "toprun: on n1 these processes do not die, 15 s after SIGKILL: {} (sleep, state D", pid)))
      << said;
  EXPECT_GE(took, spawn::unkillable_limit);
  EXPECT_LT(took, spawn::unkillable_limit + 10s);
  EXPECT_EQ(exits_[0].signal, SIGKILL);
  EXPECT_TRUE(exits_[0].ours);
}

}  // namespace
}  // namespace toprun::worker
