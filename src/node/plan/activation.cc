#include "node/plan/activation.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/process/command.h"
#include "base/text/text.h"
#include "node/plan/program.h"
#include "node/plan/setup/setup_record.h"

namespace toprun::plan {
namespace {

namespace fs = std::filesystem;

constexpr int no_module_command = 66;
constexpr int not_loaded = 67;

// Variables of the shell itself, independent of the modules.
constexpr std::array shell_variables = {"_", "SHLVL", "PWD", "OLDPWD"};

// Sends the scripts' output to stderr; fd 3 is our stdout.
constexpr std::string_view redirect_output = "exec 3>&1 1>&2\n";

// Defines the command `module` if it is missing: it is a function of an interactive shell.
constexpr std::string_view define_module = R"(
if ! type module >/dev/null 2>&1; then
  for init in "$MODULESHOME/init/bash" "$LMOD_PKG/init/bash" /etc/profile.d/modules.sh \
      /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh /usr/share/modules/init/bash \
      /usr/share/lmod/lmod/init/bash; do
    if [ -r "$init" ]; then . "$init"; break; fi
  done
fi
)";

// The words after $0 are the modules; stdout gets the name of one that cannot be loaded. It first
// unloads the loaded modules, so that a job has the same modules wherever it is started; sticky
// ones stay, as the site wants.
constexpr std::string_view load_modules = R"(
type module >/dev/null 2>&1 || exit 66
module purge
for name in "$@"; do
  loaded=
  module load "$name" && case ":$LOADEDMODULES:" in
    *":$name:"*|*":$name/"*|*"/$name:"*) loaded=1 ;;
  esac
  [ -n "$loaded" ] || { printf %s "$name" >&3; exit 67; }
done
env -0 >&3
)";

// The word after $0 is the user's command.
constexpr std::string_view run_command = R"(
toprun_command=$1; shift
eval "$toprun_command" || exit
env -0 >&3
)";

constexpr std::string_view list_modules = "module -t avail 2>&1\n";

// The words after $0 are scripts that packages of the environment provide for sourcing.
constexpr std::string_view source_scripts = R"(
for script in "$@"; do . "$script"; done
env -0 >&3
)";

std::vector<std::string> bash(const std::string& script, const std::vector<std::string>& words) {
  std::vector<std::string> argv = {"bash", "--noprofile", "--norc", "-c", script, "toprun"};
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

// Replaces our environment with the shell's, except for the shell's own variables.
Result<Environment> adopted_environment(std::string_view text, const Environment& before) {
  auto after = parse_environment(text);
  if (!after) return after;
  for (const char* name : shell_variables) {
    const auto value = before.get(name);
    value ? after->set(name, *value) : after->unset(name);
  }
  return after;
}

void put_first(Environment& environment, const std::string& folder) {
  const auto path = environment.non_empty("PATH");
  environment.set("PATH", path ? folder + ":" + *path : folder);
}

constexpr std::size_t max_words_shown = 300;

// The error of the module command in one line, from the first line with "error" on.
std::string first_error(std::string_view err) {
  const std::size_t error = lower(err).find("error");
  if (error != std::string::npos) err.remove_prefix(err.rfind('\n', error) + 1);
  std::string line = fmt::format("{}", fmt::join(words(err), " "));
  if (line.size() > max_words_shown) line = line.substr(0, max_words_shown) + " …";
  return printable(line);
}

std::string nearest_module(const std::string& name, const Environment& environment) {
  const auto listed = process::output_of(bash(fmt::format("{}{}", define_module, list_modules), {}),
                                         environment, activation_limit);
  const auto names = listed ? parse_available_modules(*listed) : std::vector<std::string>();
  const auto meant = did_you_mean(name, names);
  return meant ? fmt::format("did you mean {}?", *meant) : "`module avail` lists what there is";
}

Result<Environment> with_modules(const std::vector<std::string>& modules, Environment environment,
                                 const std::string& what) {
  if (modules.empty()) return environment;
  const auto loaded = process::run(
      bash(fmt::format("{}{}{}", redirect_output, define_module, load_modules), modules),
      environment, modules_limit);
  if (!loaded) return fail(what, loaded.error()->why);  // its `what` is the whole script
  if (loaded->code == no_module_command) {
    return fail(what, "there is no command `module`",
                "set MODULESHOME (Environment Modules) or LMOD_PKG (Lmod) to the folder of the "
                "installation");
  }
  if (loaded->code == 0) return adopted_environment(loaded->out, environment);
  const std::string said = first_error(loaded->err);
  if (loaded->code != not_loaded) return fail(what, said);
  const std::string& name = loaded->out;
  return fail(what, said.empty() ? fmt::format("{} was not loaded", name) : said,
              nearest_module(name, environment));
}

Result<Environment> with_command(const std::string& command, Environment environment,
                                 const std::string& host) {
  if (command.empty()) return environment;
  const std::string what = fmt::format("--before {} on host {}", printable(command), host);
  const auto done = process::run(bash(fmt::format("{}{}", redirect_output, run_command), {command}),
                                 environment, before_limit);
  if (!done) return fail(what, done.error()->why);
  if (done->code == 0) return adopted_environment(done->out, environment);
  const std::string said = first_error(done->err);
  return fail(
      what,
      fmt::format("the command ended with code {}{}{}", done->code, said.empty() ? "" : ": ", said),
      "add \"|| true\" to commands that may fail");
}

std::vector<fs::path> conda_roots(const Environment& environment) {
  std::vector<fs::path> roots;
  if (const auto exe = environment.non_empty("CONDA_EXE")) {
    roots.push_back(fs::path(*exe).parent_path().parent_path());
  }
  if (const auto root = environment.non_empty("MAMBA_ROOT_PREFIX")) roots.emplace_back(*root);
  if (const auto home = environment.non_empty("HOME")) {
    for (const char* name : {"miniconda3", "miniforge3", "anaconda3", "mambaforge", "micromamba"}) {
      roots.push_back(fs::path(*home) / name);
    }
  }
  return roots;
}

// The folders that may contain an environment of a given name.
std::vector<fs::path> conda_folders(const Environment& environment) {
  std::vector<fs::path> folders;
  for (const char* variable : {"CONDA_ENVS_PATH", "CONDA_ENVS_DIRS"}) {
    const std::string value = environment.get(variable).value_or("");
    for (const std::string_view folder : split(value, ':')) {
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }
  for (const fs::path& root : conda_roots(environment)) folders.push_back(root / "envs");
  if (const auto home = environment.non_empty("HOME")) {
    folders.push_back(fs::path(*home) / ".conda" / "envs");
  }
  return folders;
}

bool is_conda(const fs::path& prefix) {
  std::error_code error;
  return fs::is_directory(prefix / "conda-meta", error);
}

std::vector<std::string> names_below(const std::vector<fs::path>& folders) {
  std::set<std::string> names;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (is_conda(entry.path())) names.insert(entry.path().filename().string());
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> scripts_in(const fs::path& folder) {
  std::vector<std::string> scripts;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".sh") scripts.push_back(entry.path().string());
  }
  std::ranges::sort(scripts);
  return scripts;
}

Result<Activated> with_conda(const std::string& name, Environment environment,
                             const std::string& host) {
  const auto prefix = TRY(find_conda(name, environment, host));
  put_first(environment, (prefix / "bin").string());
  environment.set("CONDA_PREFIX", prefix.string());
  environment.set("CONDA_DEFAULT_ENV",
                  name.find('/') == std::string::npos ? name : prefix.string());
  environment.set("CONDA_SHLVL", "1");
  environment.unset("VIRTUAL_ENV");
  environment.unset("PYTHONHOME");
  if (const auto scripts = scripts_in(prefix / "etc" / "conda" / "activate.d"); !scripts.empty()) {
    const auto text =
        process::output_of(bash(fmt::format("{}{}", redirect_output, source_scripts), scripts),
                           environment, activation_limit);
    if (!text) return fail(fmt::format("--conda {} on host {}", name, host), text.error()->why);
    environment = TRY(adopted_environment(*text, environment));
  }
  Activated activated{std::move(environment), std::nullopt, "--conda", {}};
  const std::string python = (prefix / "bin" / "python").string();
  if (process::is_executable_file(python)) activated.python = python;
  return activated;
}

// The virtual environments in the parent folder of the missing one.
std::vector<std::string> venvs_beside(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.parent_path(), error)) {
    if (fs::exists(entry.path() / "pyvenv.cfg", error)) {
      names.push_back(entry.path().filename().string());
    }
  }
  return names;
}

fs::path folder_of(const std::string& venv) {
  std::error_code error;
  return fs::absolute(venv, error).lexically_normal();
}

std::string label_of(const std::string& venv, const std::string& host) {
  return fmt::format("--venv {} on host {}", venv, host);
}

Result<Activated> with_venv(const std::string& venv, Environment environment,
                            const std::string& host) {
  const auto python = TRY(find_venv(venv, host));
  const fs::path folder = folder_of(venv);
  put_first(environment, (folder / "bin").string());
  environment.set("VIRTUAL_ENV", folder.string());
  environment.unset("PYTHONHOME");
  return Activated{std::move(environment), python, "--venv", {}};
}

using Built = std::optional<setup::Record>;

Result<Built> how_built(const std::string& venv, const std::string& host) {
  if (venv.empty()) return std::nullopt;
  auto record = setup::read_record(folder_of(venv));
  if (!record || !*record) return record;
  TRY(setup::check_usable(**record, label_of(venv, host), process::this_machine()));
  return record;
}

std::vector<std::string> loaded_in(const Environment& environment) {
  return setup::loaded_modules(environment.get("LOADEDMODULES").value_or(""));
}

// Loads the modules of the command line, which must equal those of the build; without any, loads
// those of the build, unless they are loaded already.
Result<Activated> with_all_modules(const Activation& requested, const Built& built,
                                   const Environment& environment, const std::string& host) {
  const std::string label = label_of(requested.venv, host);
  Activated out{environment, std::nullopt, {}, {}};
  const bool are_asked_for = !requested.modules.empty();
  std::vector<std::string> modules = requested.modules;
  std::string what = fmt::format("--modules {} on host {}", join(modules, ","), host);
  if (!are_asked_for && built &&
      !setup::module_differences(built->modules, loaded_in(environment)).empty()) {
    modules = built->modules;
    what = fmt::format("{}, which was built with the modules {}", label, join(modules, ","));
    if (!modules.empty())
      out.note = "modules " + join(modules, ", ") + ", because --venv was built with them";
  }
  out.environment = TRY(with_modules(modules, environment, what));
  if (!are_asked_for || !built) return out;
  const std::string others = setup::module_differences(built->modules, loaded_in(out.environment));
  if (others.empty()) return out;
  return usage(
      label,
      fmt::format("the environment was built with other modules; the modules now are {}", others),
      "leave out --modules, or build the environment again with these modules");
}

Result<Activated> with_python(const Activation& requested, Environment environment,
                              const std::string& host) {
  if (!requested.conda.empty()) return with_conda(requested.conda, std::move(environment), host);
  if (!requested.venv.empty()) return with_venv(requested.venv, std::move(environment), host);
  return Activated{std::move(environment), std::nullopt, "", {}};
}

}  // namespace

Result<Environment> parse_environment(std::string_view text) {
  Environment environment;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return fail(fmt::format("\"{}\" is not a valid environment variable: write NAME=VALUE",
                              printable(entry)));
    }
    environment.set(std::string(entry.substr(0, equals)), std::string(entry.substr(equals + 1)));
  }
  return environment;
}

std::vector<std::string> parse_available_modules(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    const bool heading = line.ends_with(':') || line.starts_with('/') || line.starts_with('-');
    if (line.empty() || heading || line.ends_with('/')) continue;
    names.emplace_back(line.substr(0, line.find_first_of("( ")));
  }
  return names;
}

Result<fs::path> find_conda(const std::string& name, const Environment& environment,
                            const std::string& host) {
  const std::string what = fmt::format("--conda {} on host {}", name, host);
  if (name.find('/') != std::string::npos) {
    std::error_code error;
    const fs::path prefix = fs::absolute(name, error).lexically_normal();
    if (is_conda(prefix)) return prefix;
    return usage(what, "the folder does not contain a conda environment (it has no conda-meta)",
                 "`conda env list` lists the environments");
  }
  if (name == "base") {
    for (const fs::path& root : conda_roots(environment)) {
      if (is_conda(root)) return root;
    }
  }
  const std::vector<fs::path> folders = conda_folders(environment);
  for (const fs::path& folder : folders) {
    if (is_conda(folder / name)) return folder / name;
  }
  std::vector<std::string> looked;
  for (const fs::path& folder : folders) looked.push_back(folder.string());
  const auto meant = did_you_mean(name, names_below(folders));
  return usage(what,
               fmt::format("there is no conda environment of that name in {}", join(looked, ", ")),
               meant ? fmt::format("did you mean {}?", *meant)
                     : "give the environment's folder, or set CONDA_ENVS_PATH");
}

Result<std::string> find_venv(const std::string& venv, const std::string& host) {
  const fs::path folder = folder_of(venv);
  std::string python = (folder / "bin" / "python").string();
  const auto record = TRY(setup::read_record(folder));
  if (record && record->state != setup::State::complete) {
    return std::unexpected(
        setup::check_usable(*record, label_of(venv, host), record->architecture).error());
  }
  if (process::is_executable_file(python)) return python;
  const auto meant = did_you_mean(folder.filename().string(), venvs_beside(folder));
  return usage(label_of(venv, host), fmt::format("there is no {}", python),
               meant ? fmt::format("did you mean {}?", (folder.parent_path() / *meant).string())
                     : fmt::format("`toprun setup --venv {0} -r FILE` builds the environment in a "
                                   "job, `python3 -m venv {0}` builds it here",
                                   folder.string()));
}

Result<Activated> activate(const Activation& requested, const Environment& environment,
                           const std::string& host) {
  const auto built = TRY(how_built(requested.venv, host));
  auto loaded = TRY(with_all_modules(requested, built, environment, host));
  auto prepared = TRY(with_command(requested.before, std::move(loaded.environment), host));
  auto activated = with_python(requested, std::move(prepared), host);
  if (!activated) return activated;
  activated->note = std::move(loaded.note);
  for (const auto& [name, value] : requested.variables) {
    if (value) {
      activated->environment.set(name, *value);
    } else if (const auto own = environment.get(name)) {
      activated->environment.set(name, *own);
    }
  }
  return activated;
}

}  // namespace toprun::plan
