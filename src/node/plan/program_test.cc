#include "node/plan/program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"

namespace toprun::plan {
namespace {

namespace fs = std::filesystem;

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "train.py") << "pass\n";
    std::ofstream(folder_ / "tool") << "#!/bin/sh\n";
    fs::permissions(folder_ / "tool", fs::perms::owner_all);
    fs::create_directories(folder_ / "package");
    fs::create_directories(folder_ / "app");
    std::ofstream(folder_ / "app/__main__.py") << "pass\n";
    before_ = fs::current_path();
    fs::current_path(folder_);
  }
  void TearDown() override { fs::current_path(before_); }

  // The error's line with the folder's name as DIR, or "" without an error.
  std::string check(Program program, const std::string& script) {
    Options options;
    options.program = program;
    options.script = script;
    const auto result = check_program(options, {{"PATH", folder_.string()}});
    if (result) return {};
    EXPECT_EQ(result.error()->exit_code, exit_usage);
    std::string line = result.error().line();
    for (std::size_t at; (at = line.find(folder_.string())) != line.npos;) {
      line.replace(at, folder_.string().size(), "DIR");
    }
    return line;
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  fs::path before_;
};

TEST_F(ProgramTest, Scripts) {
  EXPECT_EQ(check(Program::script, "train.py"), "");
  EXPECT_EQ(check(Program::script, (folder_ / "train.py").string()), "");
  EXPECT_EQ(check(Program::script, "app"), "");
  EXPECT_EQ(check(Program::script, "/dev/null"), "");
  EXPECT_EQ(check(Program::script, "tool"),
            "script tool: is a script for sh, not for Python; to start the script as it is, write "
            "--no-python ./tool");
  EXPECT_EQ(check(Program::script, "trian.py"),
            "script trian.py in DIR: No such file or directory; did you mean train.py?");
  EXPECT_EQ(check(Program::script, (folder_ / "train.pyy").string()),
            "script DIR/train.pyy: No such file or directory; did you mean DIR/train.py?");
  EXPECT_EQ(check(Program::script, (folder_ / "x.py").string()),
            "script DIR/x.py: No such file or directory; check the path");
  EXPECT_EQ(check(Program::script, "package"),
            "script package in DIR: is a directory, and has no __main__.py; name the file to run");
  EXPECT_EQ(
      check(Program::script, "submit"),
      "script submit in DIR: No such file or directory; `toprun -h` shows how to call toprun");
  EXPECT_EQ(
      check(Program::script, "python"),
      "script python in DIR: No such file or directory; leave python out: toprun starts Python "
      "for each rank");
  EXPECT_EQ(check(Program::script, "0.5"),
            "script 0.5 in DIR: No such file or directory; `toprun -h` shows how to call toprun");
  for (const char* path : {"train.py/x", "job.sh"}) {
    EXPECT_EQ(check(Program::script, path),
              fmt::format("script {} in DIR: No such file or directory; check the path", path));
  }
}

TEST_F(ProgramTest, ScriptsOfAnotherInterpreter) {
  Options options;
  options.script = "tool";
  EXPECT_TRUE(check_program(options, {{"PYTHON_EXEC", "/opt/wrapper"}}));
  EXPECT_FALSE(check_program(options, {}));
}

TEST_F(ProgramTest, ModulesWithoutTheirEqualsSign) {
  Options options;
  options.warm = {"torch"};
  const auto advice = [&](const std::string& script, std::vector<std::string> arguments) {
    options.script = script;
    options.arguments = std::move(arguments);
    const auto result = check_program(options, {{"PATH", folder_.string()}});
    return result ? "" : result.error()->fix;
  };
  EXPECT_EQ(advice("torch", {"train.py"}), "if --warm is to import it, write --warm=torch");
  EXPECT_EQ(advice("torch,numpy", {"train.py"}),
            "if --warm is to import it, write --warm=torch,numpy");
  EXPECT_EQ(advice("package", {"train.py"}), "if --warm is to import it, write --warm=package");
  EXPECT_EQ(advice("torch", {}), "`toprun -h` shows how to call toprun");
  EXPECT_EQ(advice("trian.py", {"--epochs", "3"}), "did you mean train.py?");
  options.warm.reset();
  options.prefetch = {"torch"};
  EXPECT_EQ(advice("torch", {"train.py"}), "if --prefetch is to import it, write --prefetch=torch");
  options.prefetch.reset();
  options.web = {"127.0.0.1", 0};
  EXPECT_EQ(advice("8197", {"train.py"}), "if the page is to be at this port, write --web=8197");
  EXPECT_EQ(advice("n0:8197", {"train.py"}),
            "if the page is to be at this port, write --web=n0:8197");
  EXPECT_EQ(advice("8197", {}), "`toprun -h` shows how to call toprun");
  options.web.reset();
  options.hosts = {"n0,n1", "--hosts"};
  EXPECT_EQ(advice("n2", {"train.py"}), "if it is a host, write --hosts n0,n1,n2");
  EXPECT_EQ(advice("n2.a.org", {"train.py"}), "if it is a host, write --hosts n0,n1,n2.a.org");
  EXPECT_EQ(advice("n2.sh", {"train.py"}), "check the path");
  EXPECT_EQ(advice("jobs/n2.a.org", {"train.py"}), "check the path");
  EXPECT_EQ(advice("n2.a.org", {}), "check the path");
  options.hosts = {};
  EXPECT_TRUE(advice("nodes=2", {"train.py"}).contains("`toprun submit -h`"));
  EXPECT_EQ(advice("torch", {"train.py"}), "`toprun -h` shows how to call toprun");
}

TEST_F(ProgramTest, Programs) {
  EXPECT_EQ(check(Program::executable, "tool"), "");
  EXPECT_EQ(check(Program::executable, "./tool"), "");
  EXPECT_EQ(
      check(Program::executable, "tol"),
      "program tol: it is not in PATH=DIR; give the program's path, or leave out --no-python if "
      "this is a Python script");
  EXPECT_EQ(check(Program::executable, "train.py"),
            "program train.py: a name without a slash means a program in PATH, and not the file in "
            "this folder; make the file executable (chmod +x train.py), and write ./train.py");
  EXPECT_EQ(check(Program::executable, "./train.py"),
            "program ./train.py in DIR: is not executable; chmod +x ./train.py, or leave out "
            "--no-python if this is a Python script");
  EXPECT_EQ(check(Program::executable, "./app"), "program ./app in DIR: is a directory");
  EXPECT_EQ(check(Program::executable, "./none"),
            "program ./none in DIR: No such file or directory; check the path");
}

TEST_F(ProgramTest, ModulesAreLeftToPython) {
  EXPECT_EQ(check(Program::module, "no.such"), "");
}

}  // namespace
}  // namespace toprun::plan
