#include "node/plan/setup/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/json/json_members.h"
#include "base/json/json_text.h"
#include "base/text/text.h"

namespace toprun::setup {
namespace {

using nlohmann::json;

std::string python_in(const VenvRequest& requested) {
  return requested.venv + "/bin/python";
}

std::vector<std::string> pip_install(const VenvRequest& requested, const Environment& environment) {
  std::vector<std::string> argv = {
      python_in(requested), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"};
  if (!environment.non_empty("PIP_CACHE_DIR")) argv.push_back("--no-cache-dir");
  return argv;
}

Step venv_step(const VenvRequest& requested) {
  Step step{"venv", {requested.python, "-m", "venv"}};
  if (requested.system_site_packages) step.argv.push_back("--system-site-packages");
  step.argv.push_back(requested.venv);
  return step;
}

using Variables = std::vector<std::pair<std::string, std::string>>;

bool is_horovod(const std::string& package) {
  constexpr std::string_view name = "horovod";
  return lower(package).starts_with(name) &&
         package.find_first_not_of(" [=<>!~;@", name.size()) != name.size();
}

Variables horovod_variables(const VenvRequest& requested, const Environment& environment) {
  Variables all = {{"HOROVOD_WITH_PYTORCH", "1"},
                   {"HOROVOD_WITHOUT_TENSORFLOW", "1"},
                   {"HOROVOD_WITHOUT_MXNET", "1"}};
  if (requested.horovod == Horovod::mpi) {
    all.emplace_back("HOROVOD_WITH_MPI", "1");
    all.emplace_back("HOROVOD_WITHOUT_GLOO", "1");
  } else {
    all.emplace_back("HOROVOD_WITH_GLOO", "1");
  }
  if (requested.horovod == Horovod::gloo) all.emplace_back("HOROVOD_WITHOUT_MPI", "1");
  if (requested.horovod == Horovod::nccl) all.emplace_back("HOROVOD_GPU_OPERATIONS", "NCCL");
  if (!requested.nccl_home.empty()) all.emplace_back("HOROVOD_NCCL_HOME", requested.nccl_home);
  std::erase_if(all, [&](const auto& variable) { return environment.has(variable.first); });
  return all;
}

void add_horovod(std::vector<Step>& all, const VenvRequest& requested,
                 const Environment& environment) {
  all.push_back(
      {"the torch that Horovod is built for", {python_in(requested), "-c", "import torch"}});
  Step step{"pip install --no-build-isolation", pip_install(requested, environment)};
  step.argv.emplace_back("--no-build-isolation");
  std::vector<std::string> packages;
  std::ranges::copy_if(requested.packages, std::back_inserter(packages), is_horovod);
  if (packages.empty()) packages.emplace_back("horovod");
  for (const std::string& package : packages) {
    step.what += " " + without_login(package);
    step.argv.push_back(package);
  }
  step.variables = horovod_variables(requested, environment);
  all.push_back(std::move(step));
}

// pip writes a REQUESTED file (PEP 376) for each requested distribution. Its modules are in
// top_level.txt, which newer build tools omit, or follow from its list of files.
constexpr std::string_view import_program = R"(
import importlib, importlib.metadata, importlib.util, json, re, sys

sys.path[:] = [path for path in sys.path if path]


def modules_of(distribution):
    listed = (distribution.read_text("top_level.txt") or "").split()
    if not listed:
        files = [str(file).split("/") for file in distribution.files or [] if file.suffix in (".py", ".so")]
        listed = [parts[0].split(".")[0] for parts in files]
    names = sorted({name for name in listed if name.isidentifier() and not name.startswith("_")})
    own = re.sub(r"[-_.]+", "_", distribution.metadata["Name"]).lower()
    same = [name for name in names if name.lower() == own]
    return same or names


def asked_for():
    for distribution in importlib.metadata.distributions():
        own = str(distribution.locate_file("")).startswith(sys.prefix)
        of_venv = distribution.metadata["Name"] in ("pip", "setuptools", "wheel")
        if own and not of_venv and distribution.read_text("REQUESTED") is not None:
            yield from modules_of(distribution)
    if importlib.util.find_spec("torch"):
        yield "torch"


versions, failures = {}, {}
mode, *names = sys.argv[1:]
for name in names if mode == "these" else sorted({*asked_for(), *names}):
    print("importing", name, file=sys.stderr, flush=True)
    try:
        versions[name] = str(getattr(importlib.import_module(name), "__version__", ""))
    except BaseException as error:
        failures[name] = f"{type(error).__name__}: {error}"
print()
print(json.dumps({"python": sys.version.split()[0], "versions": versions, "failures": failures}))
)";

constexpr std::array variables_of_others = {"VIRTUAL_ENV", "PYTHONHOME", "CONDA_PREFIX",
                                            "PIP_TARGET",  "PIP_PREFIX", "PIP_USER"};

std::map<std::string, std::string> texts_of(const json& object, const char* name) {
  std::map<std::string, std::string> texts;
  const json& found = member(object, name);
  if (!found.is_object()) return texts;
  for (const auto& [key, value] : found.items()) {
    if (value.is_string()) texts[key] = printable(value.get<std::string>());
  }
  return texts;
}

}  // namespace

std::string without_login(std::string_view package) {
  constexpr std::string_view mark = "://";
  const std::size_t begin = package.find(mark);
  if (begin == package.npos) return std::string(package);
  const std::size_t host = begin + mark.size();
  const std::size_t login = package.substr(0, package.find('/', host)).rfind('@');
  if (login == package.npos || login < host) return std::string(package);
  return fmt::format("{}<secret>{}", package.substr(0, host), package.substr(login));
}

std::vector<Step> steps(const VenvRequest& requested, const Environment& environment) {
  std::vector<Step> all = {venv_step(requested)};
  if (requested.upgrade_pip) {
    Step step{"pip install --upgrade pip", pip_install(requested, environment)};
    for (const char* word : {"--upgrade", "pip", "setuptools", "wheel"})
      step.argv.emplace_back(word);
    all.push_back(std::move(step));
  }
  const bool with_horovod = requested.horovod != Horovod::none;
  std::vector<std::string> packages = requested.packages;
  if (with_horovod) {
    std::erase_if(packages, is_horovod);
    for (const char* name : {"setuptools", "wheel"})
      packages.emplace_back(name);  // as pip's isolation would
  }
  Step step{"pip install", pip_install(requested, environment)};
  for (const std::string& file : requested.requirement_files) {
    step.what += " -r " + file;
    step.argv.insert(step.argv.end(), {"-r", file});
  }
  for (const std::string& package : packages) {
    step.what += " " + without_login(package);
    step.argv.push_back(package);
  }
  if (!requested.requirement_files.empty() || !packages.empty()) all.push_back(std::move(step));
  if (with_horovod) add_horovod(all, requested, environment);
  return all;
}

Environment build_environment(const Environment& environment) {
  Environment out = environment;
  for (const char* name : variables_of_others) out.unset(name);
  return out;
}

std::vector<std::string> import_command(const VenvRequest& requested) {
  std::vector<std::string> argv = {python_in(requested), "-c", std::string(import_program),
                                   requested.imports.empty() ? "all" : "these"};
  argv.insert(argv.end(), requested.imports.begin(), requested.imports.end());
  if (requested.horovod != Horovod::none) argv.emplace_back("horovod.torch");
  return argv;
}

Result<Imported> parse_imports(std::string_view output) {
  output = trim(output);
  const std::string_view last = output.substr(output.rfind('\n') + 1);
  const json object = json_in(last);
  if (!member(object, "python").is_string()) {
    return fail("the test of the environment's imports printed no result",
                printable(last.substr(0, 200)));
  }
  return Imported{text_at(object, "python"), texts_of(object, "versions"),
                  texts_of(object, "failures")};
}

}  // namespace toprun::setup
