#include "cli/setup_options.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "options/given.h"
#include "options/run_options.h"
#include "options/values.h"
#include "setup/record.h"

namespace toprun::cli {
namespace {

const options::Flag& flag(std::string_view name) {
  return *options::find_flag(name, options::Command::setup);
}

std::vector<std::string> all_of(const options::Split& split, std::string_view name) {
  std::vector<std::string> values;
  for (const options::GivenOption& option : split.options) {
    if (option.flag == &flag(name)) values.push_back(option.value);
  }
  return values;
}

std::string text_of(const options::Split& split, std::string_view name,
                    const Environment& environment) {
  const auto given = options::given_of(flag(name), split, environment);
  return given ? given->value : "";
}

Result<bool> is_on(const options::Split& split, std::string_view name,
                   const Environment& environment) {
  const auto given = options::given_of(flag(name), split, environment);
  return given ? options::parse_switch(*given) : Result<bool>(false);
}

Result<std::vector<std::string>> packages_of(const options::Split& split) {
  std::vector<std::string> packages;
  if (split.script) packages.push_back(*split.script);
  packages.insert(packages.end(), split.arguments.begin(), split.arguments.end());
  for (const std::string& package : packages) {
    if (package.empty()) return usage("package ''", "has no name", "leave it out");
    if (!package.starts_with('-')) continue;
    return usage(package, "stands behind the packages", "write options before the first package");
  }
  return packages;
}

// What the job is to do goes on; where and when it runs does not.
bool is_for_the_build(const options::Flag& flag) {
  return flag.group == options::Group::building || flag.id == options::FlagId::env ||
         flag.id == options::FlagId::modules || flag.id == options::FlagId::before ||
         flag.id == options::FlagId::verbose;
}

void add_words(SetupOptions& options, const options::Split& split) {
  scheduler::JobRequest& request = options.job.request;
  request.verb = "setup";
  request.run_options = {"--on=local", std::string(flag("--no-config").name)};
  for (const options::GivenOption& option : split.options) {
    if (is_for_the_build(*option.flag)) request.run_options.push_back(options::word_of(option));
  }
  const std::string_view target = options.image_from.empty() ? "--venv" : "--container";
  const bool by_variable = all_of(split, target).empty();
  if (by_variable) request.run_options.push_back(fmt::format("{}={}", target, options.built));
  request.program = options.wanted.packages;
  if (request.find("--job-name") != nullptr) return;
  const std::string name = std::filesystem::path(options.built + "/").parent_path().filename();
  request.options.insert(request.options.begin(),
                         {"--job-name", "setup-" + name, "what it builds"});
}

Result<void> take_switches(SetupOptions& options, const options::Split& split,
                           const Environment& environment) {
  struct Switch {
    std::string_view name;
    bool& value;
  };
  for (const Switch& each :
       {Switch{"--system-site-packages", options.wanted.system_site_packages},
        Switch{"--upgrade-pip", options.wanted.upgrade_pip}, Switch{"--force", options.force}}) {
    const auto on = is_on(split, each.name, environment);
    if (!on) return std::unexpected(on.error());
    each.value = *on;
  }
  return {};
}

Result<void> take_horovod(SetupOptions& options, const options::Split& split) {
  struct Kind {
    std::string_view name;
    setup::Horovod kind;
  };
  constexpr std::array kinds = {Kind{"nccl", setup::Horovod::nccl}, Kind{"", setup::Horovod::nccl},
                                Kind{"gloo", setup::Horovod::gloo},
                                Kind{"mpi", setup::Horovod::mpi}};
  for (const std::string& name : all_of(split, "--horovod")) {
    const auto kind = std::ranges::find(kinds, name, &Kind::name);
    if (kind == kinds.end()) return usage("--horovod=" + name, "must be nccl, gloo or mpi", {});
    options.wanted.horovod = kind->kind;
  }
  if (options.wanted.horovod != setup::Horovod::none || options.wanted.nccl_home.empty()) return {};
  return usage("--nccl-home " + options.wanted.nccl_home, "is for Horovod", "say --horovod too");
}

// What files and variables say of --venv is for the other verbs too: --from decides.
Result<void> take_target(SetupOptions& options, const options::Split& split,
                         const Environment& environment) {
  options.image_from = text_of(split, "--from", environment);
  options.built =
      text_of(split, options.image_from.empty() ? "--venv" : "--container", environment);
  if (options.image_from.empty()) options.wanted.venv = options.built;
  if (!options.built.empty()) return {};
  if (options.image_from.empty()) {
    return usage("nothing to build", "no --venv is given", "as in toprun setup --venv env torch");
  }
  return usage("--from " + options.image_from, "no --container says which file to make of it",
               "as in --container pytorch.sif");
}

Result<void> check_image(const SetupOptions& options) {
  if (options.image_from.empty()) return {};
  const setup::Wanted& wanted = options.wanted;
  if (!setup::is_image(options.built)) {
    return usage("--container " + options.built, "must end in .sif or .sqsh",
                 "a .sif is built by Apptainer, a .sqsh by enroot");
  }
  const bool has_packages = !wanted.packages.empty() || !wanted.requirement_files.empty() ||
                            wanted.horovod != setup::Horovod::none;
  if (!has_packages) return {};
  return usage("--from " + options.image_from,
               "packages go into a virtual environment, not into an image",
               "build them with --venv, in a command of their own");
}

Result<void> take_imports(SetupOptions& options, const options::Split& split) {
  for (const std::string& list : all_of(split, "--import")) {
    for (const std::string_view name : toprun::split(list, ',')) {
      const bool is_name = !name.empty() && name.find_first_of(" -/'\"") == name.npos;
      if (!is_name) return usage("--import " + list, "must be modules with commas between", {});
      options.wanted.imports.emplace_back(name);
    }
  }
  return {};
}

}  // namespace

Result<SetupOptions> setup_options(const options::Split& split, const Environment& environment) {
  SetupOptions out;
  auto job = jobs::setup_job_options(split, environment);
  if (!job) return std::unexpected(job.error());
  out.job = *std::move(job);
  if (const auto on = options::given_of(flag("--on"), split, environment)) {
    if (on->value != "slurm" && on->value != "local") {
      return usage(on->label(), "toprun builds on slurm or local", "say one of them");
    }
    out.on = on->value;
  }
  auto done = take_target(out, split, environment);
  if (!done) return std::unexpected(done.error());
  auto packages = packages_of(split);
  if (!packages) return std::unexpected(packages.error());
  out.wanted.packages = *std::move(packages);
  out.wanted.requirement_files = all_of(split, "--requirement");
  out.wanted.python = text_of(split, "--python", environment);
  out.wanted.nccl_home = text_of(split, "--nccl-home", environment);
  done = take_switches(out, split, environment);
  if (done) done = take_imports(out, split);
  if (done) done = take_horovod(out, split);
  if (done) done = check_image(out);
  if (!done) return std::unexpected(done.error());
  auto activation = options::activation_options(split, environment);
  if (!activation) return std::unexpected(activation.error());
  out.activation.modules = std::move(activation->modules);
  out.activation.variables = std::move(activation->variables);
  add_words(out, split);
  return out;
}

}  // namespace toprun::cli
