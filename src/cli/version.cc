#include "cli/version.h"

#include "base/print.h"
#include "base/version.h"
#include "cli/help.h"
#include "cli/libraries.h"
#include "cli/parse.h"

namespace toprun::cli {

using options::Command;
using options::FlagId;

int run_version(const std::vector<std::string>& arguments, const Environment& environment) {
  const auto call = call_of(Command::version, arguments, environment);
  if (!call) return call.error();
  if (call->has(FlagId::bill_of_materials)) return print_bytes(sbom(linked_libraries(), version));
  return print(call->has(FlagId::verbose) ? version_text() + version_details() : version_text());
}

}  // namespace toprun::cli
