#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::setup {

// The operations and controller for Horovod: NCCL on GPUs with Gloo, or Gloo or MPI alone on CPUs.
enum class Horovod { none, nccl, gloo, mpi };

// The requested virtual environment. Paths are absolute.
struct Wanted {
  std::string venv;
  std::string python;                               // the Python that creates it
  std::vector<std::string> requirement_files = {};  // pip's -r
  std::vector<std::string> packages = {};           // requirement specifiers, wheels, addresses
  std::vector<std::string> imports = {};            // modules; empty: those of the packages
  bool system_site_packages = false;
  bool upgrade_pip = false;
  Horovod horovod = Horovod::none;
  std::string nccl_home = {};
};

// A package specifier without the login of its address, for messages and records:
// "git+https://<secret>@host/repository".
std::string without_login(std::string_view package);

struct Step {
  std::string what;  // for messages: "pip install torch"; without logins
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> variables = {};  // set for this step
};

// The commands that build the environment, in order. Horovod comes last and without pip's
// isolation: it is built for the torch that is installed by then. Its variables are those in its
// docs/install.rst; the user's values of them stay. pip uses no cache, which would fill the home's
// quota, unless PIP_CACHE_DIR names a folder. Pure.
std::vector<Step> steps(const Wanted& wanted, const Environment& environment);

// The environment for all steps: without variables that would redirect pip (those of another
// environment); proxies and pip's own variables stay. Pure.
Environment build_environment(const Environment& environment);

// A command for the new environment: imports each given module, or else those of every requested
// distribution, and torch. Its last line of output is for parse_imports().
std::vector<std::string> import_command(const Wanted& wanted);

struct Imported {
  std::string python;                           // "3.11.2"
  std::map<std::string, std::string> versions;  // by module
  std::map<std::string, std::string> failures;  // module → "ImportError: …"
};
Result<Imported> parse_imports(std::string_view output);

}  // namespace toprun::setup
