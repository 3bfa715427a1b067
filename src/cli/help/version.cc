#include "cli/help/version.h"

#include "base/print.h"
#include "base/version.h"
#include "cli/help/help.h"
#include "cli/help/libraries.h"

namespace toprun::cli {

using options::FlagId;

Result<int> run_version(const options::Call& call) {
  if (call.has(FlagId::bill_of_materials)) return print_bytes(sbom(linked_libraries(), version));
  return print(call.has(FlagId::verbose) ? version_text() + version_details() : version_text());
}

}  // namespace toprun::cli
