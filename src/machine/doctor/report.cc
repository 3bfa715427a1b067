#include "machine/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "machine/doctor/checks.h"

namespace toprun::doctor {
namespace {

// `next`: the finding that follows, or null. The same advice is printed after the last finding
// only.
std::string line_of(const Finding& finding, const std::string& evidence, const Finding* next) {
  const std::string_view result = finding.is_idle ? "--" : name_of(finding.severity);
  std::string line = fmt::format("{:<8}{:<17} {}\n", result, finding.id, printable(evidence));
  const bool is_repeated = next != nullptr && next->id == finding.id && next->fix == finding.fix;
  if (!finding.fix.empty() && !is_repeated) {
    line += fmt::format("{:26}{}\n", "", printable(finding.fix));
  }
  return line;
}

std::string evidence_of(const SharedFinding& shared) {
  return hosts::short_list(shared.hosts) + ": " + shared.finding.evidence;
}

// The lines of several hosts arrive mixed, so the host is in front of each line.
std::string with_host(std::string_view text, const std::string& host) {
  if (host.empty()) return std::string(text);
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n') + 1;
    lines += fmt::format("{}: {}", printable(host), text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// A limit of a shell and its children: no other process can set it for a job.
bool is_of_a_shell(std::string_view command) {
  return command.starts_with("ulimit ");
}

// The command for other machines than this one.
std::string on_hosts(const std::string& command, const std::vector<std::string>& hosts) {
  if (is_of_a_shell(command)) {
    return fmt::format("# on {}, in the shell that starts the job: {}", hosts::short_list(hosts),
                       command);
  }
  const std::vector<std::string> as_root{"sudo " + command};
  if (hosts.size() == 1) return fmt::format("ssh {} {}", hosts.front(), shell_quote(as_root));
  return fmt::format("for host in {}; do ssh \"$host\" {}; done", shell_quote(hosts),
                     shell_quote(as_root));
}

// The command for this machine.
std::string here(const std::string& command, bool is_root) {
  return is_root || is_of_a_shell(command) ? command : "sudo " + command;
}

// `hosts`: where the commands are to run; empty: on this machine.
std::string fix_of(const Finding& finding, const std::string& evidence,
                   const std::vector<std::string>& hosts, bool is_root = false) {
  if (finding.severity == Severity::ok) return {};
  std::string text = fmt::format("# {}\n", printable(evidence));
  if (finding.commands.empty() && !finding.fix.empty()) {
    text += fmt::format("# by hand: {}\n", printable(finding.fix));
  }
  for (const std::string& command : finding.commands) {
    text += (hosts.empty() ? here(command, is_root) : on_hosts(command, hosts)) + '\n';
  }
  return text;
}

}  // namespace

int exit_code(Severity worst) {
  if (worst == Severity::error) return exit_error;
  return worst == Severity::warning ? exit_warning : 0;
}

std::string findings_text(const std::vector<Finding>& findings, bool all, const std::string& host) {
  std::vector<Finding> sorted = findings;
  std::ranges::stable_sort(sorted, std::greater{}, &Finding::severity);
  std::string text;
  std::size_t fine = 0, idle = 0, unknown = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Finding& finding = sorted[i];
    const bool is_fine = finding.severity == Severity::ok;
    if (is_fine) ++(finding.is_unknown ? unknown : finding.is_idle ? idle : fine);
    const Finding* const next = i + 1 < sorted.size() ? &sorted[i + 1] : nullptr;
    if (!is_fine || all) text += line_of(finding, finding.evidence, next);
  }
  if (all) return with_host(text, host);
  std::string others =
      idle == 0 ? "" : fmt::format("; {} {} not apply", idle, idle == 1 ? "does" : "do");
  if (unknown > 0) others += fmt::format("; {} unknown", unknown);
  text += fmt::format("{} found nothing{}\n", counted(fine, "check"), others);
  return with_host(text, host);
}

std::string findings_text(const std::vector<SharedFinding>& findings, std::size_t hosts) {
  std::string text;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding* const next = i + 1 < findings.size() ? &findings[i + 1].finding : nullptr;
    text += line_of(findings[i].finding, evidence_of(findings[i]), next);
  }
  const bool is_fine = std::ranges::all_of(findings, [](const SharedFinding& shared) {
    return shared.finding.severity == Severity::ok;
  });
  return text + fmt::format("{} examined{}{}\n", counted(hosts, "host"),
                            hosts > 1 ? " and compared" : "", is_fine ? ": nothing found" : "");
}

std::string fixes_text(const std::vector<Finding>& findings, bool is_root,
                       const std::string& host) {
  std::string text;
  for (const Finding& finding : findings) {
    text += host.empty() ? fix_of(finding, finding.evidence, {}, is_root)
                         : fix_of(finding, host + ": " + finding.evidence, {host});
  }
  return text;
}

std::string fixes_text(const std::vector<SharedFinding>& findings) {
  std::vector<SharedFinding> sorted = findings;
  std::ranges::stable_sort(
      sorted, {}, [](const SharedFinding& shared) { return place_of_check(shared.finding.id); });
  std::string text;
  for (const SharedFinding& shared : sorted) {
    text += fix_of(shared.finding, evidence_of(shared), shared.hosts);
  }
  return text;
}

std::string findings_json(const std::vector<SharedFinding>& findings,
                          const std::vector<std::string>& hosts) {
  using nlohmann::json;
  json list = json::array();
  for (const SharedFinding& shared : findings) {
    json one = {{"hosts", shared.hosts}};
    one.update(json_of(shared.finding));
    list.push_back(std::move(one));
  }
  const json document = {
      {"schema", "toprun.doctor_hosts/1"}, {"hosts", hosts}, {"findings", std::move(list)}};
  return json_text(document) + '\n';
}

}  // namespace toprun::doctor
