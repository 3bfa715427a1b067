#include "node/plan/container_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/os/os_testing.h"
#include "base/text/text.h"

namespace toprun::plan {
namespace {

namespace fs = std::filesystem;

// A node with these programs in its PATH, each a script of one line.
class ContainerPlanTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(root_ / "bin");
    fs::create_directory(root_ / "here");
    before_ = fs::current_path();
    fs::current_path(root_ / "here");
    job_.environment = {{"PATH", (root_ / "bin").string()}, {"OWN", "mine"}, {"SHELL", "/bin/zsh"}};
    job_.place.node_name = "n1";
    job_.place.engine = engines::EngineKind::slurm;
    job_.options.container.image = "localhost/image:latest";
    job_.options.program = Program::executable;
    job_.options.script = "true";
  }
  void TearDown() override { fs::current_path(before_); }

  void has(const std::string& program, const std::string& line = "true") {
    std::ofstream(root_ / "bin" / program) << "#!/bin/sh\n" << line << '\n';
    fs::permissions(root_ / "bin" / program, fs::perms::owner_all);
  }
  static bool has_word(const std::vector<std::string>& argv, const std::string& word) {
    return std::ranges::find(argv, word) != argv.end();
  }
  static std::string joined(const std::vector<std::string>& argv) { return join(argv, " "); }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
  fs::path before_;
  Job job_;
};

TEST_F(ContainerPlanTest, ShowsTheProjectTheProgramAndWhatIsWritten) {
  has("podman");
  job_.options.log_dir = "logs";
  const auto plan = plan_container(job_, "/tmp/of-this-run");
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_EQ(plan->runtime->name(), "podman");
  const std::string here = (root_ / "here").string();
  std::vector<std::string> targets;
  for (const container::Bind& bind : plan->run.binds) targets.push_back(bind.target);
  for (const std::string& target :
       {here, here + "/logs", std::string("/tmp/of-this-run"), std::string(program_inside)}) {
    EXPECT_TRUE(has_word(targets, target)) << target;
  }
  EXPECT_TRUE(fs::is_directory("logs"));
  EXPECT_EQ(plan->run.workdir, here);
  EXPECT_TRUE(joined(plan->command.argv)
                  .ends_with("localhost/image:latest /run/toprun/toprun --container-shim "
                             "/tmp/of-this-run/agent"));
}

TEST_F(ContainerPlanTest, ErrorsNameTheNode) {
  const auto none = plan_container(job_, "/tmp/x");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().line().find("podman"), std::string::npos) << none.error().line();
  has("podman");
  job_.options.container.binds = {{"/no/such", "/no/such"}};
  const auto unbound = plan_container(job_, "/tmp/x");
  ASSERT_FALSE(unbound);
  EXPECT_EQ(unbound.error()->what, "--bind /no/such on n1");
  EXPECT_EQ(unbound.error()->exit_code, exit_usage);
}

TEST_F(ContainerPlanTest, OfARankHasItsVariablesByNameOnly) {
  has("podman");
  Environment environment = job_.environment;
  environment.set("RANK", "3");
  environment.set("API_KEY", "hidden");
  const auto plan = plan_rank(job_, {"python3", "x.py"}, environment, "/logs");
  ASSERT_TRUE(plan) << plan.error().line();
  const std::string words = joined(plan->command.argv);
  EXPECT_NE(words.find("--env RANK "), words.npos) << words;
  EXPECT_NE(words.find("--env API_KEY "), words.npos) << words;
  EXPECT_EQ(words.find("hidden"), words.npos) << words;
  EXPECT_EQ(words.find("SHELL"), words.npos) << words;
  EXPECT_EQ(plan->command.environment.get("API_KEY"), "hidden");
  EXPECT_TRUE(words.ends_with("localhost/image:latest python3 x.py")) << words;
}

TEST_F(ContainerPlanTest, OfARankTakesThePythonOfItsEnvironment) {
  const auto program_of = [&](Program program, const std::string& venv) {
    Options options;
    options.program = program;
    options.script = "x";
    options.arguments = {"-a"};
    options.activation.venv = venv;
    return joined(program_of_rank(options, {}));
  };
  EXPECT_EQ(program_of(Program::script, ""), "python3 -u x -a");
  EXPECT_EQ(program_of(Program::module, "/env"), "/env/bin/python -u -m x -a");
  EXPECT_EQ(program_of(Program::executable, "/env"), "x -a");
}

TEST_F(ContainerPlanTest, TheHostsPythonStaysOutside) {
  const Environment host = {{"PYTHON_EXEC", "/host/python"}};
  Options options;
  options.container.image = "image";
  options.script = "x";
  EXPECT_EQ(python_exec_inside(options, host), std::nullopt);
  EXPECT_EQ(joined(program_of_rank(options, host)), "python3 -u x");
  EXPECT_TRUE(python_exec_note(options, host)
                  .starts_with("PYTHON_EXEC=/host/python is a path on the host"));
  EXPECT_EQ(python_exec_note(options, {}), "");

  Options named = options;
  named.activation.variables = {{"PYTHON_EXEC", "/opt/python"}};
  EXPECT_EQ(joined(program_of_rank(named, host)), "/opt/python -u x");
  EXPECT_EQ(python_exec_note(named, host), "");
  named.activation.variables = {{"PYTHON_EXEC", std::nullopt}};
  EXPECT_EQ(python_exec_inside(named, host), "/host/python");

  Options passed = options;
  passed.container.host_wins = {"PYTHON*"};
  EXPECT_EQ(joined(program_of_rank(passed, host)), "/host/python -u x");
  EXPECT_EQ(python_exec_note(passed, host), "");
}

TEST_F(ContainerPlanTest, PyxisStartsTheAgentsInside) {
  has("srun", "echo '      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH'");
  job_.options.report = (root_ / "reports/report.json").string();
  fs::create_directory(root_ / "reports");
  const auto inside = plan_engine_container(job_);
  ASSERT_TRUE(inside) << inside.error().line();
  EXPECT_EQ(inside->program, program_inside);
  const std::string words = joined(inside->options);
  EXPECT_NE(words.find("--container-image=localhost#image:latest"), words.npos) << words;
  EXPECT_NE(words.find((root_ / "reports").string() + ":"), words.npos) << words;
  EXPECT_NE(words.find(":/run/toprun/toprun:ro"), words.npos) << words;
}

TEST_F(ContainerPlanTest, WithoutPyxisTheNodesChoose) {
  has("srun", "echo usage");
  const auto inside = plan_engine_container(job_);
  ASSERT_TRUE(inside) << inside.error().line();
  EXPECT_TRUE(inside->options.empty());
  job_.options.container.runtime = "pyxis";
  const auto named = plan_engine_container(job_);
  ASSERT_FALSE(named);
  EXPECT_NE(named.error().line().find("does not have the option --container-image"),
            std::string::npos);
}

}  // namespace
}  // namespace toprun::plan
