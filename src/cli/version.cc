#include "cli/version.h"

#include <CLI/CLI.hpp>

#include "base/print.h"
#include "base/version.h"
#include "cli/help.h"
#include "cli/libraries.h"
#include "cli/parse.h"

namespace toprun::cli {

int run_version(const std::vector<std::string>& arguments, const Environment&) {
  bool verbose = false;
  bool bill = false;
  CLI::App app("Says which toprun this is.", "toprun version");
  app.add_flag("-v,--verbose", verbose, "its build, and the libraries that are linked in");
  app.add_flag("--sbom", bill, "these as a bill of materials: CycloneDX 1.5, JSON");
  app.footer("Example: toprun version -v");
  if (const auto code = parse(app, arguments)) return *code;
  if (bill) return print_bytes(sbom(linked_libraries(), version));
  return print(verbose ? version_text() + version_details() : version_text());
}

}  // namespace toprun::cli
