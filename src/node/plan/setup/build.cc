#include "node/plan/setup/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/text.h"

namespace toprun::setup {
namespace {

// A long message's beginning shows what failed, and its end (of a traceback) why.
constexpr std::size_t most_first_bytes = 200;
constexpr std::size_t most_last_bytes = 400;
constexpr std::size_t most_errors = 4;

// Lines that only frame another message or point to it.
constexpr std::array frames = {"note: ",
                               "hint: ",
                               "[end of output]",
                               "subprocess-exited-with-error",
                               "metadata-generation-failed",
                               "legacy-install-failure",
                               "Encountered error while generating package metadata.",
                               "Encountered error while trying to install package.",
                               "See above for"};

bool is_frame(std::string_view words) {
  return std::ranges::any_of(frames,
                             [&](std::string_view frame) { return words.starts_with(frame); });
}

bool begins_error(std::string_view line) {
  return line.starts_with("ERROR:") || line.starts_with("error:") || line.starts_with("Error:") ||
         line.starts_with("×");
}

// A compiler error such as "adapter.h:19:10: fatal error: torch/extension.h: No such file or
// directory": the cause within thousands of lines of build output. CMake prints the place in one
// line, which ends in a colon, and the error in the next.
bool is_compiler_error(std::string_view line) {
  return line.find(": error: ") != line.npos || line.find(": fatal error: ") != line.npos ||
         line.starts_with("CMake Error");
}

// "WARNING: Retrying (Retry(total=4, …)) after connection broken by 'X': /simple/demo/"
std::string_view broken_connection(std::string_view line) {
  constexpr std::string_view mark = "after connection broken by ";
  const std::size_t at = line.find(mark);
  return at == std::string_view::npos ? "" : line.substr(at + mark.size());
}

std::string_view between(std::string_view text, std::string_view before, std::string_view ends) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return {};
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find_first_of(ends));
}

// Why a connection failed, from the exception that pip prints, without Python's objects:
// "'NewConnectionError('<pip… object at 0x7f>: Failed to …: [Errno -3] Temporary failure in name
// resolution')': /simple/demo/".
std::string connection_error(std::string_view exception) {
  if (const auto errno_text = between(exception, "[Errno ", "'\")"); !errno_text.empty()) {
    return std::string(errno_text.substr(std::min(errno_text.find("] ") + 2, errno_text.size())));
  }
  if (exception.contains("timed out")) return "it timed out";
  std::string_view text = exception.substr(0, exception.rfind("': /"));
  if (text.starts_with('\'') || text.starts_with('"')) text.remove_prefix(1);
  return std::string(text);
}

// "pypi.org" of "https://me@pypi.org:443/simple".
std::string_view host_of_url(std::string_view url) {
  constexpr std::string_view mark = "://";
  url.remove_prefix(std::min(url.find(mark) + mark.size(), url.size()));
  url = url.substr(0, url.find('/'));
  url = url.substr(url.rfind('@') + 1);  // npos + 1: 0
  return url.substr(0, url.find(':'));
}

// Of "Looking in indexes: https://a/simple, file:///b", which pip prints for others than its
// default: the hosts.
std::string index_hosts(const std::vector<std::string>& lines) {
  constexpr std::string_view label = "Looking in indexes: ";
  std::vector<std::string> hosts;
  for (const std::string_view line : lines) {
    if (!line.starts_with(label)) continue;
    for (const std::string_view url : split(line.substr(label.size()), ',')) {
      if (trim(url).starts_with("http")) hosts.emplace_back(host_of_url(trim(url)));
    }
  }
  return hosts.empty() ? "pypi.org" : join(hosts, " or ");
}

// pip retries a broken connection: only these errors may be its consequence.
bool may_lack_an_index(std::string_view line) {
  return line.contains("(from versions: none)") || line.contains("Max retries exceeded");
}

// Removes the label: "ERROR: X" becomes X. Also removes the frames of newer pips around a build's
// output.
std::string_view without_label(std::string_view line) {
  line = trim(line);
  for (const std::string_view label : {"ERROR:", "error:", "Error:", "×", "│", "╰─>"}) {
    if (line.starts_with(label)) line = trim(line.substr(label.size()));
  }
  return line;
}

// Whether the line continues an error: such lines are indented.
bool continues(std::string_view line) {
  return line.starts_with(' ') || line.starts_with('\t') || line.starts_with("╰─>");
}

void add(std::vector<std::string>& errors, std::string_view words, bool to_last) {
  words = without_label(words);
  if (words.empty() || is_frame(words)) return;
  if (to_last && !errors.empty()) {
    errors.back() += fmt::format(" {}", words);
  } else if (std::ranges::find(errors, words) == errors.end()) {
    errors.emplace_back(words);
  }
}

std::string shortened(std::string words) {
  if (words.size() <= most_first_bytes + most_last_bytes) return words;
  const std::size_t first = words.rfind(' ', most_first_bytes);
  const std::size_t last = words.find(' ', words.size() - most_last_bytes);
  if (first == std::string::npos || last == std::string::npos) {
    return words.substr(0, most_first_bytes) + " …";
  }
  return words.substr(0, first) + " …" + words.substr(last);
}

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

std::string missing_connection(const std::vector<std::string>& lines) {
  const auto error = std::ranges::find_if(lines, may_lack_an_index);
  if (error == lines.end()) return {};
  std::string_view exception = between(*error, "(Caused by ", "\n");
  for (const std::string_view line : lines) {
    if (const auto broken = broken_connection(line); !broken.empty()) exception = broken;
  }
  if (exception.empty()) return {};
  const std::string_view host = between(*error, "host='", "'");
  return printable(fmt::format("no connection to {}: {}",
                               host.empty() ? index_hosts(lines) : std::string(host),
                               connection_error(exception)));
}

std::string pips_words(const std::vector<std::string>& lines) {
  std::vector<std::string> errors;
  std::string compiler;
  bool in_error = false;
  for (const std::string& whole : lines) {
    const std::string_view line = whole;
    if (compiler.ends_with(':') && !trim(line).empty()) compiler += fmt::format(" {}", trim(line));
    if (compiler.empty() && is_compiler_error(trim(line))) compiler = trim(line);
    if (begins_error(trim(line))) {
      add(errors, line, false);
      in_error = true;
    } else if (in_error && continues(line)) {
      add(errors, line, true);
    } else if (!trim(line).empty()) {
      in_error = false;
    }
  }
  if (errors.size() > most_errors) errors.erase(errors.begin(), errors.end() - most_errors);
  std::string words = join(errors, "; ");
  if (!compiler.empty()) words += (words.empty() ? "" : "; ") + compiler;
  return printable(shortened(std::string(trim(words))));
}

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
    return fail("Python did not print which modules it could import; it printed",
                printable(last.substr(0, 200)));
  }
  return Imported{text_at(object, "python"), texts_of(object, "versions"),
                  texts_of(object, "failures")};
}

}  // namespace toprun::setup
