#include "node/prepare/workplace.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/process/command.h"
#include "base/text/text.h"
#include "machine/container/environment.h"
#include "node/plan/program.h"

namespace toprun::prepare {
namespace {

namespace fs = std::filesystem;

// Asks a container's shim about one path at a time; no answer counts as no.
class Sight {
 public:
  explicit Sight(worker::ShimLink& shim) : shim_(shim) {}
  worker::Seen of(const std::string& path) const {
    const auto seen = shim_.look({path});
    return seen && seen->size() == 1 ? seen->front() : worker::Seen();
  }

 private:
  worker::ShimLink& shim_;
};

std::string where(const plan::Job& job) {
  return fmt::format("the container on {}", job.place.node_name);
}

fs::path absolute(const std::string& path) {
  std::error_code error;
  return fs::absolute(path, error).lexically_normal();
}

bool there_outside(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The folder to bind so that a path of the host is visible: the one that contains it.
std::string folder_to_bind(const std::string& path) {
  std::error_code error;
  const fs::path whole = absolute(path);
  return (fs::is_directory(whole, error) ? whole : whole.parent_path()).string();
}

std::unexpected<Error> not_inside(const std::string& what, const plan::Job& job,
                                  const std::string& path) {
  return usage(what, fmt::format("there is no such path in {}", where(job)),
               there_outside(path)
                   ? fmt::format("the path is on the host: add --bind {}", folder_to_bind(path))
                   : "check the path");
}

// The Python of an environment is mostly a link to the one that it was made from.
std::unexpected<Error> without_python(const std::string& what, const plan::Job& job,
                                      const std::string& python) {
  std::error_code error;
  const fs::path origin = fs::canonical(python, error);
  const bool is_link = !error && origin != python;
  return usage(
      what,
      is_link ? fmt::format("the environment's Python is the host's {}, which does not exist in {}",
                            origin.string(), where(job))
              : fmt::format("there is no {} in {}", python, where(job)),
      "make the environment with the image's own Python, or use an image that has this Python at "
      "the same path");
}

Result<void> check_script(const plan::Job& job, const Sight& sight) {
  const std::string& script = job.options.script;
  if (job.options.program != plan::Program::script || script == "-") return {};
  const std::string what = fmt::format("script {}", script);
  const worker::Seen seen = sight.of(script);
  if (!seen.exists) return not_inside(what, job, script);
  if (seen.directory && !sight.of(script + "/__main__.py").exists) {
    return usage(what, "is a directory, and has no __main__.py", "name the file to run");
  }
  if (!seen.readable) {
    return usage(
        what, fmt::format("the script cannot be read in {}", where(job)),
        "check the script's permissions, and which user the container runs as (--container-root)");
  }
  return {};
}

// Folders that every container has separately from the host.
bool every_system_has(const std::string& path) {
  constexpr std::string_view folders[] = {"/", "/dev", "/proc", "/sys", "/tmp", "/etc"};
  return std::ranges::find(folders, absolute(path).string()) != std::end(folders);
}

Result<void> check_arguments(const plan::Job& job, const Sight& sight) {
  for (const std::string& path : paths_among(job.options.arguments)) {
    if (!there_outside(path) || every_system_has(path) || sight.of(path).exists) continue;
    return not_inside(fmt::format("argument {}", path), job, path);
  }
  return {};
}

void put_first(Environment& environment, const std::string& folder) {
  const std::string rest = process::search_path(environment);
  environment.set("PATH", folder + ":" + rest);
}

// --venv or --conda: its folder must be visible inside under the same name.
Result<void> enter(const plan::Job& job, const std::string& option, const std::string& folder,
                   const char* variable, const Sight& sight, Workplace& place) {
  const std::string whole = absolute(folder).string();
  const std::string python = whole + "/bin/python";
  if (!sight.of(python).executable) {
    const std::string what = option + " " + folder;
    return sight.of(whole).exists ? without_python(what, job, python)
                                  : not_inside(what, job, whole);
  }
  put_first(place.environment, whole + "/bin");
  place.environment.set(variable, whole);
  place.environment.unset("PYTHONHOME");
  place.program = {python, "-u"};
  place.program_reason = option;
  return {};
}

Result<void> enter_environment(const plan::Job& job, const Sight& sight, Workplace& place) {
  const plan::Activation& requested = job.options.activation;
  if (!requested.venv.empty())
    return enter(job, "--venv", requested.venv, "VIRTUAL_ENV", sight, place);
  if (requested.conda.empty()) return {};
  if (requested.conda.find('/') == std::string::npos) {
    return usage("--conda " + requested.conda,
                 "in a container toprun finds a conda environment only by its folder",
                 "give the environment's folder, and mount the folder with --bind");
  }
  return enter(job, "--conda", requested.conda, "CONDA_PREFIX", sight, place);
}

Result<void> choose_inner_python(const plan::Job& job, const Sight& sight, Workplace& place) {
  if (!place.program.empty()) return {};
  const process::IsExecutable is_executable = [&](const std::string& path) {
    const worker::Seen seen = sight.of(path);
    return seen.executable && !seen.directory;
  };
  auto python = plan::choose_python("", place.environment,
                                    job.place.node_name + " in the container", is_executable);
  if (!python) {
    Error error = python.error();
    error->fix =
        "use an image that has Python, or use an environment with --venv DIR and mount it with "
        "--bind";
    return std::unexpected(std::move(error));
  }
  place.program = {python->path, "-u"};
  place.program_reason = python->reason + " of the image";
  return {};
}

// Not every runtime has an option for it.
Result<void> enter_folder(const plan::Job& job, const std::string& folder, worker::ShimLink& shim) {
  const auto entered = shim.enter(folder);
  if (entered) return {};
  return usage(
      fmt::format("folder {} in {}", folder, where(job)), entered.error()->why,
      job.options.container.workdir.empty() ? "add --bind " + folder : "check --container-workdir");
}

// A rank that is ended by a signal such as SIGABRT then prints the line on which it stood.
void show_lines_at_the_end(const plan::Job& job, Environment& environment) {
  constexpr const char* variable = "PYTHONFAULTHANDLER";
  if (job.options.hang_timeout && !environment.has(variable)) environment.set(variable, "1");
}

}  // namespace

Workplace on_the_host(const plan::Job& job) {
  Workplace place{job.environment, job.program, job.program_reason};
  show_lines_at_the_end(job, place.environment);
  return place;
}

void move(Workplace& place, const std::string& from, const std::string& to) {
  const auto moved = [&](std::string_view path) {
    const bool is_in = path == from || path.starts_with(from + "/");
    return is_in ? to + std::string(path.substr(from.size())) : std::string(path);
  };
  if (!place.program.empty()) place.program.front() = moved(place.program.front());
  std::vector<std::string> folders;
  const std::string search = process::search_path(place.environment);
  for (const std::string_view folder : split(search, ':')) {
    folders.push_back(moved(folder));
  }
  place.environment.set("PATH", join(folders, ":"));
  const auto environment = place.environment.get("VIRTUAL_ENV");
  if (environment) place.environment.set("VIRTUAL_ENV", moved(*environment));
}

Result<Workplace> in_the_container(const plan::Job& job, const std::string& folder,
                                   worker::ShimLink& shim) {
  TRY(enter_folder(job, folder, shim));
  const Sight sight(shim);
  Workplace place;
  place.environment = container::inside(shim.environment(), job.environment, job.options.container);
  for (const auto& [name, value] : job.options.activation.variables) {
    const auto own = value ? value : job.environment.get(name);
    if (own) place.environment.set(name, *own);
  }
  show_lines_at_the_end(job, place.environment);
  TRY(check_script(job, sight));
  TRY(check_arguments(job, sight));
  if (job.options.program == plan::Program::executable) {
    place.program_reason = "--no-python";
  } else {
    TRY(enter_environment(job, sight, place));
    TRY(choose_inner_python(job, sight, place));
    if (job.options.program == plan::Program::module) place.program.push_back("-m");
  }
  place.program.push_back(job.options.script);
  place.program.insert(place.program.end(), job.options.arguments.begin(),
                       job.options.arguments.end());
  return place;
}

std::vector<std::string> paths_among(std::span<const std::string> words) {
  std::vector<std::string> paths;
  for (const std::string& word : words) {
    const std::size_t equals = word.starts_with('-') ? word.find('=') : std::string::npos;
    const std::string value = equals == std::string::npos ? word : word.substr(equals + 1);
    const bool is_path =
        value.starts_with('/') || value.starts_with("./") || value.starts_with("../");
    if (is_path) paths.push_back(value);
  }
  return paths;
}

}  // namespace toprun::prepare
