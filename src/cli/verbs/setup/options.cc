#include "cli/verbs/setup/options.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/os/files.h"
#include "base/text/text.h"
#include "cli/options/run_options.h"
#include "cli/options/values.h"
#include "machine/container/prepare.h"
#include "node/plan/setup/setup_record.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

std::vector<std::string> values_of(const Call& call, FlagId id) {
  std::vector<std::string> values;
  for (options::Argument& argument : call.all(id)) values.push_back(std::move(argument.value));
  return values;
}

Result<std::vector<std::string>> packages_of(const options::Split& split) {
  std::vector<std::string> packages;
  if (split.script) packages.push_back(*split.script);
  packages.insert(packages.end(), split.arguments.begin(), split.arguments.end());
  for (const std::string& package : packages) {
    if (package.empty()) return usage("package ''", "has no name", "leave it out");
    if (!package.starts_with('-')) continue;
    return usage(package, "comes after the packages", "write options before the first package");
  }
  return packages;
}

// Options for the contents are passed on; options for the place and time of the job are not.
bool is_for_the_build(const options::Flag& flag) {
  return flag.group == options::Group::building || flag.id == options::FlagId::env ||
         flag.id == options::FlagId::modules || flag.id == options::FlagId::before ||
         flag.id == options::FlagId::verbose;
}

void add_words(SetupOptions& options, const Call& call, const options::Argument& target) {
  engines::JobRequest& request = options.job.request;
  request.verb = "setup";
  request.run_options = {"--on=local", "--no-config"};
  for (const options::ParsedOption& option : call.split.options) {
    if (is_for_the_build(*option.flag)) request.run_options.push_back(options::word_of(option));
  }
  if (target.from_variable) {
    const std::string_view name = options.image_from.empty() ? "--venv" : "--container";
    request.run_options.push_back(fmt::format("{}={}", name, options.built));
  }
  request.program = options.requested.packages;
  if (request.find("--job-name") != nullptr) return;
  const std::string name = std::filesystem::path(options.built + "/").parent_path().filename();
  request.options.insert(request.options.begin(),
                         {"--job-name", "setup-" + name, "what it builds"});
}

Result<void> take_horovod(SetupOptions& options, const Call& call) {
  struct NamedHorovod {
    std::string_view name;
    setup::Horovod kind;
  };
  constexpr std::array kinds = {
      NamedHorovod{"nccl", setup::Horovod::nccl}, NamedHorovod{"", setup::Horovod::nccl},
      NamedHorovod{"gloo", setup::Horovod::gloo}, NamedHorovod{"mpi", setup::Horovod::mpi}};
  if (const auto name = call.text(FlagId::horovod)) {
    const auto kind = std::ranges::find(kinds, *name, &NamedHorovod::name);
    if (kind == kinds.end()) return usage("--horovod=" + *name, "must be nccl, gloo or mpi", {});
    options.requested.horovod = kind->kind;
  }
  if (options.requested.horovod != setup::Horovod::none || options.requested.nccl_home.empty())
    return {};
  return usage("--nccl-home " + options.requested.nccl_home, "this option is for Horovod",
               "add --horovod");
}

// Files and variables may set --venv for other verbs, so --from decides.
Result<options::Argument> take_target(SetupOptions& options, const Call& call) {
  options.image_from = call.text(FlagId::image_from).value_or("");
  const bool is_image = !options.image_from.empty();
  const auto target = call.argument(is_image ? FlagId::container : FlagId::venv);
  if (target && !target->value.empty()) {
    options.built = target->value;
    if (!is_image) options.requested.venv = options.built;
    return *target;
  }
  if (!is_image) {
    const auto& packages = options.requested.packages;
    const auto image = call.argument(FlagId::container);
    if (packages.empty() && image && image->is_typed()) {
      return usage(image->label(), "--from IMAGE is missing: it names the image to build from",
                   "add the option, as in --from docker://pytorch/pytorch:latest");
    }
    if (packages.empty()) {
      return usage("nothing to build", "no --venv is given",
                   "name an environment, as in toprun setup --venv env torch");
    }
    return usage(
        "nothing to build",
        fmt::format("{}: --venv DIR is missing, the folder of the environment to install this into",
                    join(packages, ", ")),
        fmt::format("name an environment, as in toprun setup --venv env {}", join(packages, " ")));
  }
  return usage("--from " + options.image_from,
               "--container FILE is missing: it names the image to build",
               "add the option, as in --container pytorch.sif");
}

Result<void> check_image(const SetupOptions& options) {
  if (options.image_from.empty()) return {};
  const setup::VenvRequest& requested = options.requested;
  if (!setup::is_image(options.built)) {
    return usage("--container " + options.built, "must end in .sif or .sqsh",
                 "Apptainer builds a .sif file, and enroot builds a .sqsh file");
  }
  const bool has_packages = !requested.packages.empty() || !requested.requirement_files.empty() ||
                            requested.horovod != setup::Horovod::none;
  if (!has_packages) return {};
  return usage("--from " + options.image_from,
               "packages can be added only to a virtual environment, not to an image",
               "build an environment with these packages in another command, with --venv");
}

Result<void> take_imports(SetupOptions& options, const Call& call) {
  for (const std::string& list : values_of(call, FlagId::import_test)) {
    for (const std::string_view name : toprun::split(list, ',')) {
      const bool is_name = !name.empty() && name.find_first_of(" -/'\"") == name.npos;
      if (!is_name) return usage("--import " + list, "must be modules separated by commas", {});
      options.requested.imports.emplace_back(name);
    }
  }
  return {};
}

constexpr std::size_t longest_requirement_file_bytes = 1 << 20;

std::string_view name_of(setup::Horovod horovod) {
  switch (horovod) {
    case setup::Horovod::none:
      return "";
    case setup::Horovod::nccl:
      return "nccl";
    case setup::Horovod::gloo:
      return "gloo";
    case setup::Horovod::mpi:
      return "mpi";
  }
  return "";
}

// A file that changes is another one.
std::string image_source(const std::string& from) {
  return std::string(trim(fmt::format("{} {}", from, container::fingerprint(from))));
}

}  // namespace

Result<SetupOptions> setup_options(const Call& call) {
  SetupOptions out;
  out.job = TRY(jobs::setup_job_options(call.split, call.environment));
  if (const auto on = call.argument(FlagId::on)) {
    if (on->value != "slurm" && on->value != "local") {
      return usage(on->label(), "toprun builds on slurm or local", "choose one of them");
    }
    out.is_local = on->value == "local";
  }
  out.requested.packages = TRY(packages_of(call.split));
  const auto target = TRY(take_target(out, call));
  out.requested.requirement_files = values_of(call, FlagId::requirement);
  out.requested.python = call.text(FlagId::base_python).value_or("");
  out.requested.nccl_home = call.text(FlagId::nccl_home).value_or("");
  out.requested.system_site_packages = call.has(FlagId::system_site_packages);
  out.requested.upgrade_pip = call.has(FlagId::upgrade_pip);
  out.force = call.has(FlagId::force);
  TRY(take_imports(out, call));
  TRY(take_horovod(out, call));
  TRY(check_image(out));
  auto activation = TRY(options::activation_options(call.split, call.environment));
  out.activation.modules = std::move(activation.modules);
  out.activation.variables = std::move(activation.variables);
  add_words(out, call, target);
  return out;
}

std::vector<std::string> requirement_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view whole : toprun::split(text, '\n')) {
    std::string_view line = trim(whole);
    if (line.starts_with('#')) continue;
    line = trim(line.substr(0, line.find(" #")));
    if (!line.empty()) lines.push_back(setup::without_login(line));
  }
  return lines;
}

Result<std::vector<std::string>> contents_asked(const SetupOptions& options) {
  const setup::VenvRequest& requested = options.requested;
  std::vector<std::string> asked = {options.image_from.empty() ? "--venv" : "--container"};
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) asked.push_back(fmt::format("{}={}", option, value));
  };
  if (!options.image_from.empty()) asked.push_back(image_source(options.image_from));
  for (const std::string& package : requested.packages) {
    asked.push_back(setup::without_login(package));
  }
  for (const std::string& file : requested.requirement_files) {
    const auto text = TRY(read_file(file, longest_requirement_file_bytes));
    for (std::string& line : requirement_lines(text)) asked.push_back(std::move(line));
  }
  add("--python", requested.python);
  for (const std::string& module : options.activation.modules) add("--modules", module);
  add("--before", options.activation.before);
  if (requested.system_site_packages) asked.emplace_back("--system-site-packages");
  add("--horovod", std::string(name_of(requested.horovod)));
  add("--nccl-home", requested.nccl_home);
  return asked;
}

}  // namespace toprun::cli
