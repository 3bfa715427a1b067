#include "node/plan/accelerate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/process/command.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "node/plan/activation.h"

namespace toprun::plan {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

// accelerate's launcher computes the ranks' environment and passes it to torchrun's run() or, for
// one process, to Popen(). This script replaces both functions. It writes the changed variables,
// and the number of processes that the file is for, to stdout, which nothing else may use. The
// words after -c are the launcher's.
constexpr std::string_view processes_variable = "TOPRUN_ACCELERATE_PROCESSES";
constexpr std::string_view ask_accelerate = R"(
import os, subprocess, sys
answer = os.dup(1)
os.dup2(2, 1)
script = "the-ranks-would-begin-here"
before = dict(os.environ)

def tell(after):
    changed = {name: value for name, value in after.items() if before.get(name) != value}
    changed["TOPRUN_ACCELERATE_PROCESSES"] = load_config_from_file(args.config_file).num_processes
    with open(answer, "w") as file:
        file.write("".join(f"{name}={value}\0" for name, value in changed.items()))
    os._exit(0)

class Popen(subprocess.Popen):
    def __init__(self, args, *rest, env=None, **more):
        if script in args:
            tell(env)
        super().__init__(args, *rest, env=env, **more)

from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import launch_command, launch_command_parser
import torch.distributed.run
torch.distributed.run.run = lambda args: tell(os.environ)
subprocess.Popen = Popen
args = launch_command_parser().parse_args([*sys.argv[1:], script])
launch_command(args)
sys.exit("accelerate's launcher started no program that toprun knows")
)";

// These options assign ranks and addresses, which toprun does itself. Port 0 means any port, so
// none has to be free.
std::vector<std::string> launcher_command(const std::string& file, const std::string& python,
                                          World world) {
  return {python,
          "-c",
          std::string(ask_accelerate),
          "--config_file",
          file,
          "--num_machines",
          fmt::to_string(world.nnodes),
          "--num_processes",
          fmt::to_string(world.nnodes * world.nproc),
          "--machine_rank",
          "0",
          "--main_process_ip",
          "127.0.0.1",
          "--main_process_port",
          "0",
          "--deepspeed_multinode_launcher",
          "standard"};
}

}  // namespace

Result<AccelerateSettings> accelerate_settings(const std::string& file, const std::string& python,
                                               World world, const Environment& environment,
                                               const std::string& host) {
  const std::string what = fmt::format("--accelerate-config {} on host {}", file, host);
  std::error_code error;
  if (!fs::is_regular_file(file, error)) {
    return usage(what, "there is no such file",
                 "create the file with `accelerate config --config_file FILE`");
  }
  const auto answer =
      process::run(launcher_command(file, python, world), environment, accelerate_limit);
  if (!answer) return fail(what, answer.error()->why);  // its `what` is the whole command line
  if (answer->code != 0) {
    const std::string said = last_words(answer->err);
    const bool is_missing = said.find("No module named 'accelerate'") != said.npos;
    return usage(
        what, said.empty() ? fmt::format("{} ended with {}", python, answer->code) : said,
        is_missing ? fmt::format("install accelerate: {} -m pip install accelerate", python) : "");
  }
  auto variables = TRY(parse_environment(answer->out));
  AccelerateSettings settings{std::move(variables), std::nullopt};
  const auto processes = parse_int(settings.variables.get(processes_variable).value_or(""));
  if (processes && *processes > 0) settings.processes = static_cast<int>(*processes);
  for (const std::string_view name : {processes_variable, "MASTER_ADDR"sv, "MASTER_PORT"sv}) {
    settings.variables.unset(name);
  }
  return settings;
}

fs::path accelerate_default_config(const Environment& environment) {
  const std::string home = environment.get("HOME").value_or("");
  const auto expanded = [&](const std::string& path) {
    return path.starts_with("~/") ? fs::path(home + path.substr(1)) : fs::path(path);
  };
  const auto hugging_face = environment.get("HF_HOME");
  const fs::path folder =
      hugging_face
          ? expanded(*hugging_face)
          : expanded(environment.get("XDG_CACHE_HOME").value_or("~/.cache")) / "huggingface";
  return folder / "accelerate" / "default_config.yaml";
}

bool has_accelerate_settings(const Environment& environment) {
  return environment.has("ACCELERATE_MIXED_PRECISION");  // accelerate's launcher always sets it
}

bool imports_accelerate(std::string_view script) {
  constexpr std::string_view package = "accelerate";
  if (script.find(package) == script.npos) return false;
  return std::ranges::any_of(split(script, '\n'), [&](std::string_view line) {
    const auto parts = words(line);
    if (parts.size() < 2 || (parts[0] != "import" && parts[0] != "from")) return false;
    const std::string_view name = parts[1].substr(0, parts[1].find_first_of(".,;"));
    return name == package;
  });
}

}  // namespace toprun::plan
