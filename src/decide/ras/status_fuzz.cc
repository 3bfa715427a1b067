#include <cstdint>
#include <cstdlib>

#include "decide/ras/status.h"

// What is accepted can be judged, within the bounds.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::ras;
  const auto status = parse_answer({reinterpret_cast<const char*>(data), size});
  if (!status) return 0;
  const auto findings = judge(*status);
  if (findings.size() > most_findings) std::abort();
  for (const Finding& finding : findings) {
    if (finding.ranks.empty() || finding.ranks.size() > most_named) std::abort();
    if (finding.text.size() > longest_text) std::abort();
  }
  return 0;
}
