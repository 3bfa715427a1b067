#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::setup {

// Returns which package index pip could not connect to, and why: "no connection to pypi.org:
// Temporary failure in name resolution". `lines`: pip's output. Empty if pip failed for another
// reason. Supports pip 22 to 26.
std::string missing_connection(const std::vector<std::string>& lines);

// Returns the errors in the output of pip (or venv) with their continuation lines, joined to one
// line. Empty if no line of the output looks like an error. Supports pip 22 to 26.
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

// Returns the package specifier with the login in its URL hidden, for messages and records:
// "git+https://<secret>@host/repository".
std::string without_login(std::string_view package);

// One command of a build.
struct Step {
  std::string what;  // text for messages, such as "pip install torch"; without logins
  std::vector<std::string> argv;
  // Environment variables that are set for this step only.
  std::vector<std::pair<std::string, std::string>> variables = {};
};

// Returns the commands that build the environment, in order. Horovod is built last and without
// pip's build isolation, so that it is compiled against the torch that the earlier steps have
// installed. The variables for Horovod are those in its docs/install.rst; values from the user have
// priority. pip uses a cache only if PIP_CACHE_DIR names a folder, so that it does not fill the
// quota of the home directory. Pure.
std::vector<Step> steps(const VenvRequest& requested, const Environment& environment);

// Returns the environment variables for all steps. Keeps the variables for proxies and pip, but
// removes the variables of another Python environment, which would redirect pip. Pure.
Environment build_environment(const Environment& environment);

// Returns a command that tests the new environment. The command imports `requested.imports`; if
// these are empty, it imports the modules of every requested distribution and torch. The last line
// of the command's output shows the results.
std::vector<std::string> import_command(const VenvRequest& requested);

struct Imported {
  std::string python;                           // "3.11.2"
  std::map<std::string, std::string> versions;  // by module
  std::map<std::string, std::string> failures;  // module → "ImportError: …"
};
// Parses the last line that import_command() prints.
Result<Imported> parse_imports(std::string_view output);

}  // namespace toprun::setup
