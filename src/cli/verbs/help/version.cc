#include "base/text/version.h"

#include "base/os/print.h"
#include "cli/verbs/help/help.h"
#include "cli/verbs/run_verbs.h"

namespace toprun::cli {

using options::FlagId;

Result<int> run_version(const options::Call& call) {
  if (call.has(FlagId::bill_of_materials)) return print_bytes(sbom(linked_libraries(), version));
  return print(call.has(FlagId::verbose) ? version_text() + version_details() : version_text());
}

}  // namespace toprun::cli
