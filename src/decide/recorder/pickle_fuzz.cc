#include <cstdint>
#include <cstdlib>

#include "decide/recorder/dump.h"
#include "decide/recorder/pickle.h"
#include "decide/recorder/recorder_verdict.h"

// What is accepted is data that can be written, summed up within bounds, and judged.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::recorder;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto value = parse_pickle(bytes)) {
    value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  const auto dump = parse_dump(bytes);
  if (!dump) return 0;
  Dump other = *dump;
  if (!other.entries.empty()) other.entries.pop_back();
  for (const Finding& finding : judge(summary_of({{0, *dump}, {1, other}}))) text_of(finding);
  Summary summary = bounded_summary_of({{0, *dump}});
  if (summary.groups.size() > most_groups) std::abort();
  for (const GroupSummary& group : summary.groups) {
    if (group.transfers.size() > most_transfers || group.members.size() > most_runs) std::abort();
    if (group.calls.size() > most_calls || group.name.size() > longest_text) std::abort();
  }
  add(summary, bounded_summary_of({{1, other}}));
  judge(summary);
  return 0;
}
