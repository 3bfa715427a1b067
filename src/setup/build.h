#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::setup {

// Which operations and controller Horovod is built with: NCCL for GPUs beside Gloo; Gloo or MPI
// alone, on CPUs.
enum class Horovod { none, nccl, gloo, mpi };

// A virtual environment that is wanted. Paths are absolute.
struct Wanted {
  std::string venv;
  std::string python;                               // to make it from
  std::vector<std::string> requirement_files = {};  // pip's -r
  std::vector<std::string> packages = {};           // requirement specifiers, wheels, addresses
  std::vector<std::string> imports = {};            // empty: the modules of what is installed
  bool system_site_packages = false;
  bool upgrade_pip = false;
  Horovod horovod = Horovod::none;
  std::string nccl_home = {};
};

// A package's word as it may be shown and kept: who logs in at an address is left out, as in
// "git+https://<secret>@host/repository".
std::string without_login(std::string_view package);

struct Step {
  std::string what;  // in messages: "pip install torch"; without logins
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> variables = {};  // set for this one
};

// The commands that build it, in order. Horovod comes last and without pip's isolation: it is built
// for the torch that is there by then. Its variables are those of its docs/install.rst; what the
// user has set of them stays. pip keeps no cache, which would fill the home's quota, unless
// PIP_CACHE_DIR in the environment says where. Pure.
std::vector<Step> steps(const Wanted& wanted, const Environment& environment);

// The environment for all steps: what would send pip elsewhere (another environment's variables) is
// left out; proxies and pip's own variables stay. Pure.
Environment build_environment(const Environment& environment);

// Runs in the new environment: imports each of the modules, or where none is given those of every
// distribution that was asked for, and torch. Prints what parse_imports() reads as its last line.
std::vector<std::string> import_command(const Wanted& wanted);

struct Imported {
  std::string python;                           // "3.11.2"
  std::map<std::string, std::string> versions;  // of the modules
  std::map<std::string, std::string> failures;  // module → "ImportError: …"
};
Result<Imported> parse_imports(std::string_view output);

}  // namespace toprun::setup
