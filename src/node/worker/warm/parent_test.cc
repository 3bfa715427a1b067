#include "node/worker/warm/parent.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/os/environment.h"
#include "base/os/files.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "node/worker/spawn/descendants.h"

namespace toprun::warm {
namespace {

class WarmParent : public ::testing::Test {
 protected:
  void SetUp() override {
    spawn::become_subreaper();
    std::string name = ::testing::TempDir() + "warm.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    environment_ = Environment::from(environ);
    python_ = *process::find_program("python3", environment_);
  }
  void TearDown() override {
    parent_.reset();
    settled_.clear();
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
    std::filesystem::remove_all(folder_);
  }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  spawn::Program rank(const std::string& script, int number, std::vector<std::string> more = {}) {
    Environment environment = environment_;
    environment.set("RANK", std::to_string(number));
    spawn::Program program;
    program.argv = {python_, "-u", script, "an argument", ""};
    program.environment = environment.entries();
    program.environment.insert(program.environment.end(), more.begin(), more.end());
    const int out = ::open((folder_ + fmt::format("/out.{}", number)).c_str(),
                           O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    files_.emplace_back(out);
    files_.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    program.stdin_fd = files_.back().get();
    program.stdout_fd = program.stderr_fd = out;
    return program;
  }

  Parent::State start(const std::string& script, std::vector<std::string> modules = {}) {
    spawn::Program command;
    command.argv = {python_, "-u", script, "an argument", ""};
    command.environment = environment_.entries();
    auto parent = Parent::start(command, std::move(modules), spawn::Inherited::capture(), "n1");
    EXPECT_TRUE(parent) << parent.error().line();
    parent_ = *std::move(parent);
    while (!parent_->settled()) {
      pollfd waiting{parent_->descriptor(), POLLIN, 0};
      ::poll(&waiting, 1, 1000);
      parent_->hear();
    }
    return parent_->state();
  }

  // As start(), with a limit for the imports that is kept.
  Parent::State settle(boost::asio::io_context& io, const std::string& script,
                       std::vector<std::string> modules, std::chrono::milliseconds limit) {
    spawn::Program command;
    command.argv = {python_, "-u", script};
    command.environment = environment_.entries();
    parent_.reset();
    std::shared_ptr<Parent> parent =
        *Parent::start(command, std::move(modules), spawn::Inherited::capture(), "n1", limit);
    boost::asio::co_spawn(io, warm::settle(io, parent), boost::asio::detached);
    io.run_for(std::chrono::seconds(60));
    io.restart();
    settled_.push_back(parent);
    return parent->state();
  }

  int exit_code_of(pid_t pid) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid) << "a rank is a child of the one who asked";
    return process::exit_code(status);
  }

  std::string printed(int number) const {
    return read_file(folder_ + fmt::format("/out.{}", number)).value_or("");
  }

  std::string folder_, python_;
  Environment environment_;
  std::vector<Fd> files_;
  std::unique_ptr<Parent> parent_;
  std::vector<std::shared_ptr<Parent>> settled_;
};

TEST_F(WarmParent, RanksRunTheScriptWithWhatWasImported) {
  const std::string script =
      write("s.py",
            "import sys, os\n"
            "print(sys.argv, os.environ['RANK'], 'decimal' in sys.modules,\n"
            "      __name__, sys._getframe().f_back, os.getppid(), os.getsid(0) == os.getpid())\n"
            "sys.exit(3 + int(os.environ['RANK']))\n");
  ASSERT_EQ(start(script, {"decimal"}), Parent::State::ready) << parent_->why();
  const std::vector<spawn::Program> ranks{rank(script, 0), rank(script, 1)};
  const auto pids = parent_->fork(ranks, {});
  ASSERT_TRUE(pids) << pids.error().line();
  for (int number : {0, 1}) {
    EXPECT_EQ(exit_code_of((*pids)[static_cast<std::size_t>(number)]), 3 + number)
        << printed(number);
    EXPECT_EQ(printed(number),
              fmt::format("['{}', 'an argument', ''] {} True __main__ None {} True\n", script,
                          number, ::getpid()));
  }
}

// Its socket is full soon: the caller, which is given up after a silence, beats while it waits.
TEST_F(WarmParent, ThatTakesNothingHearsTheCallerBeat) {
  const std::string script = write("s.py", "");
  ASSERT_EQ(start(script), Parent::State::ready) << parent_->why();
  ASSERT_TRUE(process::signal_process(parent_->pid(), SIGSTOP));
  const std::string large(1u << 20, 'x');
  int beats = 0;
  const auto pids = parent_->fork(std::vector<spawn::Program>{rank(script, 0, {"LARGE=" + large})},
                                  [&] { ++beats; });
  EXPECT_FALSE(pids);
  EXPECT_GT(beats, 2);
  EXPECT_EQ(parent_->state(), Parent::State::refused);
}

TEST_F(WarmParent, ItImportsWhatTheScriptImportsFirst) {
  const std::string script = write("s.py",
                                   "'''Says what is there.'''\n"
                                   "from __future__ import annotations\n"
                                   "import fractions as f, statistics\n"
                                   "from xml.dom import minidom\n"
                                   "x = 1\n"
                                   "import wave\n");
  write("own.py", "");
  ASSERT_EQ(start(script), Parent::State::ready) << parent_->why();
  EXPECT_EQ(parent_->imported(), std::vector<std::string>({"fractions", "statistics", "xml.dom"}));
  const std::vector<spawn::Program> ranks{rank(script, 0)};
  const auto pids = parent_->fork(ranks, {});
  ASSERT_TRUE(pids) << pids.error().line();
  EXPECT_EQ(exit_code_of(pids->front()), 0) << printed(0);
}

struct Refusal {
  const char* what;
  const char* module;  // the text of module `odd`
  const char* why;     // part of the reason
};

TEST_F(WarmParent, RefusesWhatCannotBeForked) {
  const Refusal refusals[] = {
      {"no such module", nullptr, "import odd: ModuleNotFoundError: No module named 'odd'"},
      {"fails", "1/0", "import odd: ZeroDivisionError: division by zero"},
      {"exits", "import sys; sys.exit(0)", "import odd: exit was called"},
      {"ends", "import os; os._exit(3)", "its process ended"},
      {"is killed",
       "import os; print('dying', file=__import__('sys').stderr); os.kill(os.getpid(), 9)",
       "its process ended: dying"},
      {"a thread",
       "import threading, time; threading.Thread(target=time.sleep, args=(99,), name='busy', "
       "daemon=True).start()",
       "its imports started threads ("},
      {"a process", "import subprocess; subprocess.Popen(['sleep', '1'])", "another process"},
      {"a socket", "import socket; s = socket.socket()", "its imports opened socket:"},
  };
  const std::string script = write("s.py", "raise SystemExit(99)\n");
  std::filesystem::create_directory(folder_ + "/path");
  environment_.set("PYTHONPATH", folder_ + "/path");
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.what);
    std::filesystem::remove(folder_ + "/path/odd.py");
    if (refusal.module != nullptr) write("path/odd.py", refusal.module);
    ASSERT_EQ(start(script, {"odd"}), Parent::State::refused);
    EXPECT_NE(parent_->why().find(refusal.why), std::string::npos) << parent_->why();
    EXPECT_EQ(parent_->pid(), 0);
  }
}

// The number of the first one's descriptor is the second one's: a wait that were not cancelled
// before its descriptor is closed would keep that from being heard.
TEST_F(WarmParent, ImportsPastTheLimitAreGivenUp) {
  const std::string script = write("s.py", "");
  std::filesystem::create_directory(folder_ + "/path");
  environment_.set("PYTHONPATH", folder_ + "/path");
  write("path/slow.py", "import time\ntime.sleep(600)\n");
  boost::asio::io_context io;
  for (const int round : {0, 1}) {
    SCOPED_TRACE(round);
    EXPECT_EQ(settle(io, script, {"slow"}, std::chrono::milliseconds(300)), Parent::State::refused);
    EXPECT_EQ(settled_.back()->why(), "its imports took longer than 0.3 s");
    EXPECT_EQ(settled_.back()->pid(), 0);
    EXPECT_EQ(settled_.back()->descriptor(), -1);
    EXPECT_EQ(settle(io, script, {"decimal"}, import_limit), Parent::State::ready)
        << settled_.back()->why();
  }
}

TEST_F(WarmParent, ForksAreRefusedWhileItImports) {
  const std::string script = write("s.py", "");
  std::filesystem::create_directory(folder_ + "/path");
  environment_.set("PYTHONPATH", folder_ + "/path");
  write("path/slow.py", "import time\ntime.sleep(600)\n");
  spawn::Program command;
  command.argv = {python_, "-u", script};
  command.environment = environment_.entries();
  parent_ = *Parent::start(command, {"slow"}, spawn::Inherited::capture(), "n1");
  const auto refused = parent_->fork(std::vector<spawn::Program>{rank(script, 0)}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error()->what, "its imports took longer than 300 s");
  EXPECT_EQ(parent_->state(), Parent::State::refused);
}

TEST_F(WarmParent, AModuleOfTheScriptsFolderIsNotImported) {
  write("odd.py", "print('imported')\n");
  const std::string script = write("s.py", "import odd\n");
  EXPECT_EQ(start(script, {"odd"}), Parent::State::refused);
  EXPECT_NE(parent_->why().find("odd is a module of the script's own folder"), std::string::npos);
  EXPECT_EQ(start(script), Parent::State::ready);
}

TEST_F(WarmParent, VariablesThatWereReadMustBeTheRanks) {
  const std::string script = write("s.py", "");
  std::filesystem::create_directory(folder_ + "/path");
  environment_.set("PYTHONPATH", folder_ + "/path");
  write("path/odd.py", "import os; x = os.environ.get('RANK'), os.getenv('FREE')\n");
  ASSERT_EQ(start(script, {"odd"}), Parent::State::ready) << parent_->why();
  const auto refused = parent_->fork(std::vector<spawn::Program>{rank(script, 0)}, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error()->what.find("looked up RANK"), std::string::npos)
      << refused.error().line();
  // Libraries written in C are not seen when they read their variables.
  ASSERT_EQ(start(script), Parent::State::ready) << parent_->why();
  const auto threads =
      parent_->fork(std::vector<spawn::Program>{rank(script, 0, {"OMP_NUM_THREADS=3"})}, {});
  ASSERT_FALSE(threads);
  EXPECT_NE(threads.error()->what.find("OMP_NUM_THREADS changed"), std::string::npos);
  EXPECT_EQ(parent_->state(), Parent::State::ready) << "others may be like it";
}

TEST_F(WarmParent, AScriptThatSetsVariablesFirstIsRefused) {
  const std::string script = write("s.py",
                                   "import os\n"
                                   "if True:\n"
                                   "  os.environ['OMP_NUM_THREADS'] = '4'\n"
                                   "import decimal\n");
  EXPECT_EQ(start(script, {"decimal"}), Parent::State::refused);
  EXPECT_EQ(parent_->why(),
            "the script may set OMP_NUM_THREADS before it imports decimal: import that at its top");
  write("s.py",
        "import os\n"
        "os.environ.setdefault('OMP_NUM_THREADS', '4')\n"
        "from xml import dom\n");
  EXPECT_EQ(start(script, {"xml.dom"}), Parent::State::refused);
  EXPECT_EQ(parent_->why(),
            "the script may set OMP_NUM_THREADS before it imports xml.dom: import that at its top");
}

TEST_F(WarmParent, APythonThatReadsNoPathNeverRunsTheScript) {
  const std::string mark = folder_ + "/ran";
  const std::string script = write("s.py", "open('" + mark + "', 'w')\n");
  const std::string wrapper = write("python", "#!/bin/sh\nexec " + python_ + " -E \"$@\"\n");
  std::filesystem::permissions(wrapper, std::filesystem::perms::owner_all);
  python_ = wrapper;
  EXPECT_EQ(start(script), Parent::State::refused);
  EXPECT_NE(parent_->why().find("does not import from PYTHONPATH"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST_F(WarmParent, WhatImportsPrintEachRankPrints) {
  const std::string script = write("s.py", "print('script')\n");
  std::filesystem::create_directory(folder_ + "/path");
  environment_.set("PYTHONPATH", folder_ + "/path");
  write("path/odd.py", "import os; print('import'); os.write(2, b'warning\\n')\n");
  ASSERT_EQ(start(script, {"odd"}), Parent::State::ready) << parent_->why();
  const std::vector<spawn::Program> ranks{rank(script, 0), rank(script, 1)};
  const auto pids = parent_->fork(ranks, {});
  ASSERT_TRUE(pids) << pids.error().line();
  for (const pid_t pid : *pids) EXPECT_EQ(exit_code_of(pid), 0);
  EXPECT_EQ(printed(0), "import\nwarning\nscript\n");
  EXPECT_EQ(printed(1), "import\nwarning\nscript\n");
}

TEST_F(WarmParent, TheSitesOwnModuleIsRunOnce) {
  const std::string script =
      write("s.py", "import sys; print(sys.modules['sitecustomize'].x, sys.path)\n");
  std::filesystem::create_directory(folder_ + "/path");
  environment_.set("PYTHONPATH", folder_ + "/path");
  write("path/sitecustomize.py", "x = 'real'\nprint('site')\n");
  ASSERT_EQ(start(script), Parent::State::ready) << parent_->why();
  const auto pids = parent_->fork(std::vector<spawn::Program>{rank(script, 0)}, {});
  ASSERT_TRUE(pids) << pids.error().line();
  EXPECT_EQ(exit_code_of(pids->front()), 0);
  const auto cold = spawn::spawn(std::vector<spawn::Program>{[&] {
                                   auto program = rank(script, 1);
                                   program.path = python_;
                                   return program;
                                 }()},
                                 spawn::Inherited::capture(), "n1");
  ASSERT_TRUE(cold);
  EXPECT_EQ(exit_code_of(cold->front()), 0);
  EXPECT_EQ(printed(0), printed(1));
}

}  // namespace
}  // namespace toprun::warm
