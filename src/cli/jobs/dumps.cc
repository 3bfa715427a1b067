#include "cli/jobs/dumps.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "base/print.h"
#include "base/text.h"
#include "hang/verdict.h"
#include "recorder/verdict.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using recorder::Finding;

constexpr std::size_t most_dumps = 100'000;
constexpr std::size_t most_dump_bytes = 64u << 20;

// comm_lib_trace_rank_17, nccl_trace_rank_17, or whatever stem the user chose.
std::optional<int> rank_of(const std::string& name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  const auto rank = parse_int(last == std::string::npos ? name : name.substr(last + 1));
  return rank ? std::optional(static_cast<int>(*rank)) : std::nullopt;
}

Result<std::map<int, recorder::Dump>> read_dumps(const std::string& folder) {
  std::map<int, recorder::Dump> dumps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto rank = rank_of(entry.path().filename());
    if (!rank || !entry.is_regular_file(error) || dumps.size() == most_dumps) continue;
    const auto bytes = read_plain_file(entry.path(), most_dump_bytes);
    if (!bytes) return std::unexpected(bytes.error());
    auto dump = recorder::parse_dump(*bytes);
    if (!dump) {
      return fail(fmt::format("{} is no dump of the flight recorder", entry.path().string()),
                  dump.error().line(), "name a folder that has nothing else in it");
    }
    dumps[*rank] = *std::move(dump);
  }
  if (error) return fail("cannot read " + folder, error.message());
  if (dumps.empty()) {
    return usage(folder + ": no dump of PyTorch's flight recorder is there",
                 "their names end with a rank, as in comm_lib_trace_rank_17",
                 "see TORCH_FR_DUMP_TEMP_FILE in the job's environment");
  }
  return dumps;
}

json json_of(const Finding& finding) {
  return {{"kind", recorder::name_of(finding.kind)},
          {"group", finding.group},
          {"sequence", finding.sequence},
          {"operation", finding.operation},
          {"ranks", finding.ranks},
          {"expected", finding.expected},
          {"got", finding.got}};
}

}  // namespace

Result<int> show_dumps(const std::string& folder, bool as_json) {
  const auto dumps = read_dumps(folder);
  if (!dumps) return std::unexpected(dumps.error());
  const std::vector<Finding> findings = recorder::judge(*dumps);
  if (as_json) {
    json all = json::array();
    for (const Finding& finding : findings) all.push_back(json_of(finding));
    const json object = {
        {"schema", "toprun.dumps/1"}, {"ranks", dumps->size()}, {"findings", std::move(all)}};
    return print_bytes(json_text(object, 2) + '\n');
  }
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("group {}: {}\n", printable(finding.group),
                        printable(text_of(finding, hang::ranks_text(finding.ranks))));
  }
  if (text.empty()) text = "all ranks came to the same calls, and all have ended\n";
  return print(text);
}

}  // namespace toprun::cli
