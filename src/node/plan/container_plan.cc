#include "node/plan/container_plan.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/process/command.h"
#include "machine/container/container.h"
#include "machine/container/environment.h"
#include "machine/container/image.h"
#include "machine/container/runtimes.h"
#include "node/plan/program.h"
#include "node/worker/shim.h"
#include "run/model/exit.h"

namespace toprun::plan {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds srun_help_limit{10};
constexpr std::string_view python_exec = "PYTHON_EXEC";
// Starts bash if the image has one, with toprun in its PATH. Its first word is a virtual
// environment to enter, or empty.
constexpr std::string_view best_shell =
    R"(PATH=$PATH:/run/toprun; export PATH; test -z "$0" || . "$0/bin/activate" || exit; )"
    R"(command -v bash >/dev/null && exec bash; exec sh)";
static_assert(program_inside.starts_with("/run/toprun/"));

Result<void> check_binds(const container::Request& request, const std::string& host) {
  for (const container::Bind& bind : request.binds) {
    std::error_code error;
    if (fs::exists(bind.source, error)) continue;
    return usage(fmt::format("--bind {} on {}", bind.source, host),
                 error ? error.message() : "there is no such file or folder",
                 "check the path, and whether this node has mounted its file system");
  }
  return {};
}

Result<std::string> current_folder() {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error)
    return fail("cannot find the current folder", error.message(),
                "change to a folder that exists");
  return here.string();
}

// The folder for logs, created if missing; empty: none.
Result<std::string> log_folder(const Options& options) {
  if (!options.log_dir) return std::string();
  std::error_code error;
  const fs::path logs = fs::absolute(*options.log_dir, error).lexically_normal();
  fs::create_directories(logs, error);
  if (!error) return logs.string();
  return usage(fmt::format("cannot write logs to {}", *options.log_dir), error.message(),
               "choose a folder that can be written, with --log-dir");
}

// Completes a run that has the user's request, and the binds of its program.
Result<container::Run> completed(container::Run run, const std::string& host) {
  TRY(check_binds(run.request, host));
  const auto here = TRY(current_folder());
  std::vector<container::Bind> binds = container::default_binds(here);
  binds.insert(binds.end(), run.request.binds.begin(), run.request.binds.end());
  binds.insert(binds.end(), run.binds.begin(), run.binds.end());
  run.binds = container::in_order(binds);
  run.workdir = run.request.workdir.empty() ? here : run.request.workdir;
  return run;
}

// The host's variables that are useful inside. The image's own are not known before the start.
std::vector<std::pair<std::string, std::string>> variables_inside(
    const Environment& environment, const container::Request& request) {
  const Environment inside = container::inside({}, environment, request);
  return {inside.variables().begin(), inside.variables().end()};
}

// toprun, and, where the ranks are toprun itself, the programs beside it that they may become.
Result<std::vector<container::Bind>> own_programs(const Options& options) {
  const auto self = TRY(process::own_path());
  const fs::path inside = program_inside;
  std::vector<container::Bind> binds = {{self, inside, true}};
  if (options.script != model::own_program) return binds;
  for (const char* name : {"toprun-bench", "toprun-bench-gloo"}) {
    const fs::path program = self.parent_path() / name;
    if (std::error_code error; fs::exists(program, error))
      binds.push_back({program, inside.parent_path() / name, true});
  }
  return binds;
}

// spank(7): srun's own help lists the options of plugins.
bool srun_has_pyxis(const Job& job) {
  const auto help = process::output_of({"srun", "--help"}, job.environment, srun_help_limit);
  return help && help->find("--container-image") != std::string::npos;
}

// The folders to which an agent inside writes.
Result<std::vector<container::Bind>> written_folders(const Options& options) {
  std::vector<container::Bind> binds;
  auto logs = TRY(log_folder(options));
  if (!logs.empty()) binds.push_back({logs, logs});
  std::error_code error;
  for (const auto& path : {options.node_log, options.report}) {
    if (!path) continue;
    fs::path folder = fs::absolute(*path, error).lexically_normal();
    if (&path != &options.node_log && !fs::is_directory(folder, error)) {
      folder = folder.parent_path();
    }
    binds.push_back({folder, folder});
  }
  return binds;
}

Result<ContainerPlan> planned(container::Run run, const Environment& environment,
                              const std::string& host) {
  // A wrong path is the user's own mistake, so it comes before a runtime that the node lacks.
  TRY(container::check_image_file(run.request.image, host, process::this_machine()));
  const auto runtime =
      TRY(container::choose(run.request, environment, process::is_executable_file, false));
  ContainerPlan plan;
  plan.runtime = runtime;
  plan.node = container::find_node(host);
  plan.run = TRY(completed(std::move(run), host));
  plan.creation = plan.runtime->creation(plan.run, plan.node, environment);
  plan.command = TRY(plan.runtime->command(plan.run, plan.node, environment));
  if (!plan.run.id.empty()) plan.removal = plan.runtime->removal(plan.run, environment);
  return plan;
}

}  // namespace

Result<ContainerPlan> plan_container(const Job& job, const std::string& folder) {
  container::Run run;
  run.request = job.options.container;
  run.binds = TRY(own_programs(job.options));
  const auto logs = TRY(log_folder(job.options));
  run.binds.push_back({folder, folder});
  if (!logs.empty()) run.binds.push_back({logs, logs});
  run.program = {std::string(program_inside), std::string(worker::shim_word),
                 fmt::format("{}/{}", folder, shim_socket_name)};
  run.id = fs::path(folder).filename();
  return planned(std::move(run), job.environment, job.place.node_name);
}

Result<EngineContainer> plan_engine_container(const Job& job) {
  const container::Request& request = job.options.container;
  const bool may_be_pyxis = request.runtime == "auto" || request.runtime == "pyxis";
  if (request.empty() || !may_be_pyxis || job.place.engine != engines::EngineKind::slurm)
    return EngineContainer{};
  const bool has_pyxis = srun_has_pyxis(job);
  if (!has_pyxis && request.runtime == "auto") return EngineContainer{};  // each node chooses
  const auto runtime =
      TRY(container::choose(request, job.environment, process::is_executable_file, has_pyxis));
  const auto programs = TRY(own_programs(job.options));
  container::Run run;
  run.request = request;
  run.binds = TRY(written_folders(job.options));
  run.binds.insert(run.binds.end(), programs.begin(), programs.end());
  run = TRY(completed(std::move(run), job.place.node_name));
  return EngineContainer{runtime->step_options(run), std::string(program_inside)};
}

std::optional<std::string> python_exec_inside(const Options& options,
                                              const Environment& environment) {
  for (const auto& [name, value] : options.activation.variables) {
    if (name == python_exec) return value ? value : environment.non_empty(python_exec);
  }
  return container::inside({}, environment, options.container).non_empty(python_exec);
}

std::string python_exec_note(const Options& options, const Environment& environment) {
  const auto own = environment.non_empty(python_exec);
  if (!own || options.program == Program::executable || options.container.empty() ||
      python_exec_inside(options, environment)) {
    return {};
  }
  return fmt::format(
      "PYTHON_EXEC={} is a path on the host and has no effect in the container: the image's own "
      "Python is used (-e PYTHON_EXEC=… sets another Python in the container)",
      *own);
}

std::vector<std::string> program_of_rank(const Options& options, const Environment& environment) {
  std::vector<std::string> argv;
  if (options.program != Program::executable) {
    std::error_code error;
    const fs::path venv = fs::absolute(options.activation.venv, error).lexically_normal();
    const std::string named = python_exec_inside(options, environment).value_or("python3");
    argv = {options.activation.venv.empty() ? named : (venv / "bin/python").string(), "-u"};
    if (options.program == Program::module) argv.push_back("-m");
  }
  argv.push_back(options.script);
  argv.insert(argv.end(), options.arguments.begin(), options.arguments.end());
  return argv;
}

Result<ContainerPlan> plan_rank(const Job& job, const std::vector<std::string>& argv,
                                const Environment& environment, const std::string& folder) {
  container::Run run;
  run.request = job.options.container;
  run.program = argv;
  if (!folder.empty()) run.binds.push_back({folder, folder});
  // mpirun's processes find its daemon there.
  if (const auto sockets = environment.non_empty("PMIX_SERVER_TMPDIR")) {
    run.binds.push_back({*sockets, *sockets});
  }
  run.variables = variables_inside(environment, job.options.container);
  return planned(std::move(run), environment, job.place.node_name);
}

Result<ContainerPlan> plan_shell(const container::Request& request, const std::string& venv,
                                 const Environment& environment, const std::string& host,
                                 bool on_terminal) {
  container::Run run;
  run.request = request;
  run.program = {"sh", "-c", std::string(best_shell), venv};
  run.interactive = on_terminal;
  run.binds = TRY(own_programs({}));
  run.variables = variables_inside(environment, request);
  // The container settings in toprun.toml have already been applied.
  run.variables.emplace_back(inside_variable, "1");
  return planned(std::move(run), environment, host);
}

}  // namespace toprun::plan
