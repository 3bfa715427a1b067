#include <filesystem>

#include "base/os/console.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "cli/jobs/setup_site.h"
#include "cli/verbs/setup/builds.h"
#include "machine/container/node.h"
#include "machine/container/places.h"
#include "machine/container/runtimes.h"
#include "node/plan/activation.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;
using container::Runtime;

constexpr std::size_t most_image_lines = 40;

std::string part_of(const SetupOptions& options) {
  return options.built + ".part";
}

// Chosen by the file's suffix, Apptainer before Singularity.
Result<const Runtime*> runtime_for(const SetupOptions& options, const Environment& environment) {
  const bool is_sif = options.built.ends_with(".sif");
  std::vector<std::string> looked;
  for (const char* name : {"apptainer", "singularity", "enroot"}) {
    if (is_sif == (std::string_view(name) == "enroot")) continue;
    looked.emplace_back(name);
    if (process::find_program(name, environment)) return container::find_runtime(name);
  }
  return fail("--container " + options.built,
              fmt::format("there is no {} in PATH", join(looked, " and no ")),
              "load the program's module with --modules, or build the image on nodes that have the "
              "program");
}

class ImageBuild {
 public:
  ImageBuild(const SetupOptions& options, Environment environment)
      : options_(options), environment_(std::move(environment)) {}

  Result<void> run() {
    std::error_code error;
    const fs::path folder = fs::path(options_.built).parent_path();
    fs::create_directories(folder, error);
    if (error) return fail("cannot make " + folder.string(), error.message());
    TRY(jobs::lock_site(options_.built));
    record_ = jobs::begun_record(environment_);
    record_.asked = options_.asked;
    record_.packages = {options_.image_from};
    if (auto noted = setup::write_record(options_.built, record_); !noted) return noted;
    return jobs::end_record(options_.built, record_, build());
  }

 private:
  Result<void> build() {
    auto activated = TRY(plan::activate(options_.activation, environment_, record_.host));
    environment_ = std::move(activated.environment);
    record_.modules = setup::loaded_modules(environment_.get("LOADEDMODULES").value_or(""));
    if (const auto caches = container::caches_path(environment_)) {
      if (auto ours = container::check_path(*caches, environment_); !ours) return ours;
    }
    const auto command = TRY(image_command(options_, environment_));
    const std::string part = part_of(options_);
    std::error_code error;
    auto done = execute(command);
    if (done) fs::rename(part, options_.built, error);
    if (error) return fail("cannot make " + options_.built, error.message());
    if (!done) fs::remove_all(part, error);
    return done;
  }

  Result<void> execute(const container::Command& command) {
    say(shown_command(command.argv));
    const auto [code, lines] = run_and_show(command.argv, command.environment, most_image_lines);
    const std::string what =
        fmt::format("{} {} on host {}", command.argv[0], command.argv[1], record_.host);
    if (!code) return fail(what, code.error().line());
    if (*code == 0) return {};
    process::end_at_once(*code);
    return std::unexpected(explained(what, command.argv[0], lines, *code));
  }

  Error explained(const std::string& what, const std::string& program,
                  const std::vector<std::string>& lines, int code) const {
    container::Run run;
    run.request.image = options_.image_from;
    const Runtime* runtime = container::find_runtime(program);
    const auto meant = runtime->explain(join(lines, "\n"), run, container::find_node(record_.host));
    if (meant) return *meant;
    const std::string last = lines.empty() ? "" : printable(trim(lines.back()));
    return {what, fmt::format("the program ended with exit code {}: {}", code, last), ""};
  }

  const SetupOptions& options_;
  Environment environment_;
  setup::Record record_;
};

}  // namespace

Result<container::Command> image_command(const SetupOptions& options,
                                         const Environment& environment) {
  const auto runtime = TRY(runtime_for(options, environment));
  return runtime->build(options.image_from, part_of(options), environment);
}

int build_image(const SetupOptions& options, const Environment& environment) {
  ImageBuild build(options, environment);
  if (const auto done = build.run(); !done) return give_up(done.error());
  say(fmt::format("built {} from {}", options.built, options.image_from));
  return 0;
}

}  // namespace toprun::cli
