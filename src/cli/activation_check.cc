#include "cli/activation_check.h"

#include "hosts/address.h"

namespace toprun::cli {

Result<void> check_activation(const launch::Activation& wanted,
                              const scheduler::JobRequest& request, const Environment& environment,
                              std::vector<std::string>& notes) {
  if (request.find("--dependency") != nullptr) return {};
  const std::string host = hosts::host_name();
  if (wanted.modules.empty()) {
    const auto made = launch::activate(wanted, environment, host);
    return made ? Result<void>() : std::unexpected(made.error());
  }
  const auto venv = launch::activate({.venv = wanted.venv}, environment, host);
  if (!venv) return std::unexpected(venv.error());
  // A conda environment may be found by what a module sets.
  const auto made =
      launch::activate({.modules = wanted.modules, .conda = wanted.conda}, environment, host);
  if (!made) notes.push_back(made.error().line() + "; the job's nodes may have it");
  return {};
}

}  // namespace toprun::cli
