#include <deque>
#include <filesystem>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "cli/jobs/setup_site.h"
#include "cli/verbs/setup/builds.h"
#include "node/plan/program.h"
#include "node/plan/setup/build.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;
using setup::Record;

constexpr std::size_t most_venv_lines = 20'000;   // of what a step prints
constexpr std::chrono::minutes import_limit{15};  // a first import from a network file system

// The current step of a build and its place, until it ends.
class VenvBuild {
 public:
  VenvBuild(const SetupOptions& options, Environment environment)
      : options_(options), requested_(options.requested), environment_(std::move(environment)) {}

  Result<void> run() {
    auto done = begin();
    if (!done) return done;
    return jobs::end_record(requested_.venv, record_, build());
  }

  const Record& record() const { return record_; }

 private:
  Result<void> begin() {
    std::error_code error;
    fs::create_directories(requested_.venv, error);
    if (error)
      return fail("cannot make " + requested_.venv, error.message(), "check its parent folder");
    lock_ = TRY(jobs::lock_site(requested_.venv));
    record_ = jobs::begun_record(environment_);
    record_.asked = options_.asked;
    for (const std::string& file : requested_.requirement_files)
      record_.packages.push_back("-r " + file);
    for (const std::string& package : requested_.packages) {
      record_.packages.push_back(setup::without_login(package));
    }
    if (auto noted = setup::write_record(requested_.venv, record_); !noted) return noted;
    return clear();
  }

  // The remains of an earlier build.
  Result<void> clear() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(requested_.venv, error)) {
      if (entry.path().filename() == setup::record_name) continue;
      fs::remove_all(entry.path(), error);
      if (error) return fail("cannot remove " + entry.path().string(), error.message());
    }
    return {};
  }

  Result<void> build() {
    auto activated = TRY(plan::activate(options_.activation, environment_, record_.host));
    record_.modules =
        setup::loaded_modules(activated.environment.get("LOADEDMODULES").value_or(""));
    if (auto chosen = choose_python(activated.environment); !chosen) return chosen;
    environment_ = setup::build_environment(activated.environment);
    for (const setup::Step& step : setup::steps(requested_, environment_)) {
      if (auto done = take(step); !done) return done;
    }
    return test_imports();
  }

  Result<void> choose_python(const Environment& environment) {
    if (requested_.python.empty()) {
      auto python = TRY(plan::choose_python("", environment, record_.host));
      requested_.python = python.path;
    }
    if (!process::find_program(requested_.python, environment)) {
      return fail("--python " + requested_.python,
                  fmt::format("there is no such program on host {}", record_.host));
    }
    record_.base_python = requested_.python;
    return {};
  }

  Result<void> take(const setup::Step& step) {
    std::vector<std::string> shown;
    for (const std::string& word : step.argv) shown.push_back(setup::without_login(word));
    say(shell_quote(shown));
    Environment environment = environment_;
    for (const auto& [name, value] : step.variables) environment.set(name, value);
    const auto [code, lines] = run_and_show(step.argv, environment, most_venv_lines);
    const std::string what = fmt::format("{} on host {}", step.what, record_.host);
    if (!code) return fail(what, code.error().line());
    if (*code == 0) return {};
    process::end_at_once(*code);
    if (const std::string missing = setup::missing_connection(lines); !missing.empty()) {
      return fail(what, missing,
                  "name an index that this host reaches (PIP_INDEX_URL=URL) or a proxy "
                  "(https_proxy=URL), or build on another host");
    }
    const std::string said = setup::pips_words(lines);
    const std::string last = lines.empty() ? "" : printable(trim(lines.back()));
    return fail(what, said.empty()
                          ? fmt::format("the program ended with exit code {}: {}", *code, last)
                          : said);
  }

  Result<void> test_imports() {
    const auto done = process::run(setup::import_command(requested_), environment_, import_limit);
    const std::string what =
        fmt::format("importing in {} on host {}", requested_.venv, record_.host);
    if (!done) return fail(what, done.error()->why);
    process::end_at_once(done->code);
    if (done->code != 0)
      return fail(
          what, last_line(*done),
          "leave the module that failed out of --import, or load what it needs with --modules");
    const auto imported = setup::parse_imports(done->out);
    if (!imported) return fail(what, imported.error().line());
    record_.python = imported->python;
    record_.imports = imported->versions;
    if (imported->failures.empty()) return {};
    std::vector<std::string> failures;
    for (const auto& [name, why] : imported->failures) failures.push_back(name + ": " + why);
    return fail(what, join(failures, "; "),
                "load what the environment needs with --modules, or choose the modules to test "
                "with --import");
  }

  // Python ended in the middle: the module, and the signal or exit code.
  static std::string last_line(const process::Finished& done) {
    return fmt::format("Python ended with exit code {}; its last line: {}", done.code,
                       last_words(done.err));
  }

  const SetupOptions& options_;
  setup::VenvRequest requested_;
  Environment environment_;
  Record record_;
  std::unique_ptr<jobs::SiteLock> lock_;
};

}  // namespace

Watched run_and_show(const std::vector<std::string>& argv, const Environment& environment,
                     std::size_t most) {
  std::deque<std::string> kept;
  auto code = process::watch(argv, environment, [&](std::string_view line) {
    say_block(fmt::format("{}\n", line));
    kept.emplace_back(line);
    if (kept.size() > most) kept.pop_front();
  });
  return {std::move(code), {kept.begin(), kept.end()}};
}

int build_venv(const SetupOptions& options, const Environment& environment) {
  VenvBuild build(options, environment);
  if (const auto done = build.run(); !done) return give_up(done.error());
  std::vector<std::string> versions;
  for (const auto& [name, version] : build.record().imports) {
    versions.push_back(version.empty() ? name : fmt::format("{} {}", name, version));
  }
  say(fmt::format("built {}: Python {}{}", options.requested.venv, build.record().python,
                  versions.empty() ? "" : ", imported " + join(versions, ", ")));
  return 0;
}

}  // namespace toprun::cli
