#include "machine/container/runtimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/process/command.h"
#include "base/text/secrets.h"
#include "base/text/text.h"

namespace toprun::container {
namespace {

std::string quoted(const std::string& value) {
  std::string out;
  for (const char c : value) out.append(c == '"' ? 2 : 1, c);
  return fmt::format("\"{}\"", out);
}

}  // namespace

std::vector<std::string> Runtime::notes(const Run& run) const {
  std::vector<std::string> lines;
  for (const auto& [annotation, value] : run.request.annotations) {
    lines.push_back(fmt::format("annotation {}: has no effect with {}", annotation, name()));
  }
  return lines;
}

Result<Command> Runtime::build(std::string_view, const std::string& file,
                               const Environment&) const {
  return usage("image file " + file, fmt::format("{} cannot build image files", name()),
               "give the name of a .sif file (Apptainer) or a .sqsh file (enroot)");
}

std::span<const Runtime* const> runtimes() {
  static const std::array all{&pyxis(),       &enroot(), &apptainer(),
                              &singularity(), &podman(), &docker()};
  return all;
}

namespace {

// The runtimes of this node.
struct Here {
  const Environment& environment;
  const process::IsExecutable& is_executable;
  bool pyxis = false;

  bool has(const Runtime& runtime) const {
    if (runtime.program().empty()) return pyxis;
    return process::find_program(std::string(runtime.program()), environment, is_executable)
        .has_value();
  }
};

// How to make the runtime available.
std::string remedy(const Runtime& runtime) {
  if (runtime.program().empty()) {
    return "pyxis is a plugin of Slurm, which only administrators can install; choose another "
           "runtime";
  }
  return fmt::format("install {0}, or load {0} with --modules {0} if the site has {0} as a module",
                     runtime.name());
}

std::unexpected<Error> absent(const Runtime& runtime) {
  if (runtime.program().empty()) {
    return fail("--container-runtime pyxis",
                "this Slurm's srun does not have the option --container-image", remedy(runtime));
  }
  return fail(fmt::format("--container-runtime {}", runtime.name()),
              fmt::format("there is no {} in PATH", runtime.program()), remedy(runtime));
}

std::unexpected<Error> none_here(const Request& request,
                                 const std::vector<const Runtime*>& taking) {
  std::vector<std::string> programs;
  for (const Runtime* runtime : taking) {
    programs.emplace_back(runtime->program().empty() ? "srun --container-image (pyxis)"
                                                     : runtime->program());
  }
  std::string why = fmt::format("none of {} is in PATH", fmt::join(programs, ", "));
  return fail(fmt::format("no container runtime for image {}", printable(request.image)),
              std::move(why),
              "install a container runtime, or load one with --modules apptainer if the site has "
              "Apptainer as a module");
}

Result<const Runtime*> choose_named(const Request& request, const Here& here) {
  const Runtime* runtime = find_runtime(request.runtime);
  if (runtime == nullptr) {
    const auto names = runtime_names();
    const auto nearest = did_you_mean(request.runtime, names);
    return usage(fmt::format("--container-runtime {}", printable(request.runtime)),
                 fmt::format("must be auto or one of {}", fmt::join(names, ", ")),
                 nearest ? fmt::format("did you mean {}?", *nearest) : "");
  }
  TRY(runtime->accepts(request.image));
  if (!here.has(*runtime)) return absent(*runtime);
  return runtime;
}

}  // namespace

const Runtime* find_runtime(std::string_view name) {
  const auto all = runtimes();
  const auto found = std::ranges::find(all, name, &Runtime::name);
  return found == all.end() ? nullptr : *found;
}

std::vector<std::string> runtime_names() {
  std::vector<std::string> names;
  for (const Runtime* runtime : runtimes()) names.emplace_back(runtime->name());
  return names;
}

Result<const Runtime*> choose(const Request& request, const Environment& environment,
                              const process::IsExecutable& is_executable, bool engine_has_pyxis) {
  const Here here{environment, is_executable, engine_has_pyxis};
  if (request.runtime != "auto") return choose_named(request, here);
  std::vector<const Runtime*> taking;
  std::optional<Error> refusal;
  for (const Runtime* runtime : runtimes()) {
    auto taken = runtime->accepts(request.image);
    if (!taken) {
      if (!refusal) refusal = std::move(taken.error());
      continue;
    }
    if (here.has(*runtime)) return runtime;
    taking.push_back(runtime);
  }
  if (taking.empty()) return std::unexpected(std::move(*refusal));
  return none_here(request, taking);
}

std::string variable_word(const std::string& name, const std::string& value,
                          Environment& environment) {
  if (holds_a_secret(name, value)) environment.set(name, value);
  return environment.get(name) == value ? name : fmt::format("{}={}", name, value);
}

std::string colon_form(const Bind& bind) {
  return fmt::format("{}:{}{}", bind.source, bind.target, bind.read_only ? ":ro" : "");
}

bool needs_mount_form(const Bind& bind) {
  return (bind.source + bind.target).find_first_of(":,\"") != std::string::npos;
}

std::string mount_form(const Bind& bind) {
  return fmt::format("type=bind,{},{}{}", quoted("source=" + bind.source),
                     quoted("destination=" + bind.target), bind.read_only ? ",ro" : "");
}

}  // namespace toprun::container
