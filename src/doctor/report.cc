#include "doctor/report.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "doctor/checks.h"

namespace toprun::doctor {
namespace {

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

bool is_fine(const Finding& finding) {
  return finding.severity == Severity::ok;
}

}  // namespace

int exit_code(const std::vector<Finding>& findings) {
  const Severity worst = worst_of(findings);
  if (worst == Severity::error) return exit_error;
  return worst == Severity::warning ? exit_warning : 0;
}

std::string findings_text(const std::vector<Finding>& findings, bool all) {
  std::vector<Finding> sorted = findings;
  std::ranges::stable_sort(sorted, std::greater{}, &Finding::severity);
  std::string text;
  std::size_t fine = 0;
  for (const Finding& finding : sorted) {
    if (is_fine(finding)) ++fine;
    if (is_fine(finding) && !all) continue;
    text += fmt::format("{:<8}{:<17} {}\n", name_of(finding.severity), finding.id,
                        printable(finding.evidence));
    if (!finding.fix.empty()) text += fmt::format("{:26}{}\n", "", finding.fix);
  }
  return text + fmt::format("{} found nothing\n", counted(fine, "check"));
}

std::string fixes_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    if (finding.commands.empty()) continue;
    text += fmt::format("# {}\n", printable(finding.evidence));
    for (const std::string& command : finding.commands) text += command + '\n';
  }
  return text;
}

std::string findings_json(const std::vector<Finding>& findings, const std::string& host) {
  using nlohmann::ordered_json;
  ordered_json list = ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"id", finding.id},
                    {"severity", name_of(finding.severity)},
                    {"evidence", finding.evidence},
                    {"fix", finding.fix},
                    {"commands", finding.commands}});
  }
  const ordered_json document = {
      {"schema", "toprun.doctor/1"}, {"host", host}, {"findings", std::move(list)}};
  return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace toprun::doctor
