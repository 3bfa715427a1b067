#include "cli/verbs/jobs/activation_check.h"

#include "base/net/address.h"

namespace toprun::cli {

Result<void> check_activation(const plan::Activation& requested, const engines::JobRequest& request,
                              const Environment& environment, std::vector<std::string>& notes) {
  if (request.find("--dependency") != nullptr) return {};
  const std::string host = hosts::host_name();
  if (!requested.venv.empty()) {
    TRY(plan::find_venv(requested.venv, host));
  }
  plan::Activation here = requested;
  here.before = {};  // it is for the job's nodes
  const auto made = plan::activate(here, environment, host);
  if (made) return {};
  const bool may_differ =
      !requested.modules.empty() || !requested.venv.empty() || !requested.before.empty();
  // Variables of a module or a command may be needed to find a conda environment.
  if (!may_differ || made.error()->exit_code == exit_usage) return std::unexpected(made.error());
  notes.push_back(made.error().line() + "; perhaps the job's nodes have it");
  return {};
}

}  // namespace toprun::cli
