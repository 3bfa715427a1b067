#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::setup {

// If pip found nothing because it could not connect to a package index: "no connection to pypi.org:
// Temporary failure in name resolution". Empty: another error. Supports pip 22 to 26.
std::string missing_connection(const std::vector<std::string>& lines);

// The errors in the output of pip (or venv), on one line. The text includes the errors'
// continuation lines. Empty if no line looks like an error. Supports pip 22 to 26.
std::string pips_words(const std::vector<std::string>& lines);

// How Horovod is built: with NCCL and Gloo for GPUs, or with Gloo or MPI alone for CPUs.
enum class Horovod { none, nccl, gloo, mpi };

// The requested virtual environment. Paths are absolute.
struct VenvRequest {
  std::string venv;
  std::string python;                               // the Python that creates the environment
  std::vector<std::string> requirement_files = {};  // files for pip's -r
  std::vector<std::string> packages = {};           // requirement specifiers, wheels or URLs
  std::vector<std::string> imports = {};  // modules to import; empty: the modules of the packages
  bool system_site_packages = false;
  bool upgrade_pip = false;
  Horovod horovod = Horovod::none;
  std::string nccl_home = {};
};

// A package specifier whose URL does not show the login, for messages and records:
// "git+https://<secret>@host/repository".
std::string without_login(std::string_view package);

struct Step {
  std::string what;  // text for messages, such as "pip install torch"; without logins
  std::vector<std::string> argv;
  // Variables that are set for this step.
  std::vector<std::pair<std::string, std::string>> variables = {};
};

// The commands that build the environment, in order. Horovod is built last and without pip's build
// isolation, because it is built for the torch that the earlier steps have installed. The variables
// for Horovod are those in its docs/install.rst; values from the user have priority. pip uses no
// cache, unless PIP_CACHE_DIR names a folder, because a cache would fill the quota of the home
// directory. Pure.
std::vector<Step> steps(const VenvRequest& requested, const Environment& environment);

// The environment for all steps. Variables of another Python environment are removed, because they
// would redirect pip. Variables for proxies and for pip stay. Pure.
Environment build_environment(const Environment& environment);

// A command for the new environment. The command imports each given module, or else the modules of
// every requested distribution, and torch. parse_imports() reads the last line of its output.
std::vector<std::string> import_command(const VenvRequest& requested);

struct Imported {
  std::string python;                           // "3.11.2"
  std::map<std::string, std::string> versions;  // by module
  std::map<std::string, std::string> failures;  // module → "ImportError: …"
};
Result<Imported> parse_imports(std::string_view output);

}  // namespace toprun::setup
