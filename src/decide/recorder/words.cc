#include <fmt/format.h>

#include <array>

#include "base/text/text.h"
#include "decide/recorder/recorder_verdict.h"

namespace toprun::recorder {
namespace {

using Kind = Finding::Kind;

std::string who(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks",
                     ranges_text(ranks, most_ranges));
}

const char* wait(const std::vector<int>& ranks) {
  return ranks.size() == 1 ? "waits" : "wait";
}

// A send or receive has no number of its own in its group.
bool is_transfer(const Finding& finding) {
  return finding.sequence == 0 && !finding.operation.empty();
}

std::string call_of(const Finding& finding) {
  if (is_transfer(finding)) return finding.operation;
  return fmt::format("call {}{}", finding.sequence,
                     finding.operation.empty() ? "" : fmt::format(" ({})", finding.operation));
}

// Ranks that wait, if these two are all.
std::string others_of(const Finding& finding) {
  const std::size_t named = finding.others.size() + finding.ranks.size();
  const bool are_all = finding.others.size() > 1 &&
                       (finding.members.empty() || ranks_of(finding.members).size() == named);
  return are_all ? "the others" : who(finding.others);
}

// A receive waits for one that sends, and the other way round.
std::string absence(const Finding& finding, const char* never, const char* has_not) {
  if (!is_transfer(finding)) {
    return fmt::format("{} {} to {}, in which {} {}", who(finding.ranks), never, call_of(finding),
                       others_of(finding), wait(finding.others));
  }
  const bool receives = finding.operation.find("<-") != std::string::npos;
  return fmt::format("{} {} {} {}, which waits in {}", who(finding.ranks), has_not,
                     receives ? "sent to" : "received from", who(finding.others),
                     finding.operation);
}

std::string mismatch_text(const Finding& finding) {
  if (is_transfer(finding)) {
    return fmt::format("{}: {} gives {}, {} takes {}", finding.operation, who(finding.others),
                       finding.expected, who(finding.ranks), finding.got);
  }
  const std::string others = finding.blames ? "the others" : who(finding.others);
  std::string text = fmt::format("{}: {} gave {}, {} {}", call_of(finding), who(finding.ranks),
                                 finding.got, others, finding.expected);
  return finding.note.empty() ? text : text + "; " + finding.note;
}

std::string silence_text(const Finding& finding) {
  std::string text = "no dump of " + who(finding.ranks);
  if (finding.others.empty()) return text;
  return fmt::format("{}, and {} {} in {}", text, others_of(finding), wait(finding.others),
                     call_of(finding));
}

std::string held_text(const Finding& finding) {
  if (!finding.others.empty()) {
    return fmt::format("{}: {} {} in {}", absence(finding, "did not come", "has not"),
                       finding.ranks.size() == 1 ? "it" : "they", wait(finding.ranks),
                       finding.note);
  }
  return fmt::format("all ranks have made {}; before it they wait in {}", call_of(finding),
                     finding.note);
}

std::string unclear_text(const Finding& finding) {
  if (finding.sequence == 0 && finding.operation.empty()) {
    return fmt::format("{}: the dump has {}, so it shows nothing", who(finding.ranks),
                       finding.note);
  }
  if (finding.others.empty()) {
    return fmt::format("{} has not ended on {}; {}", call_of(finding), who(finding.ranks),
                       finding.note);
  }
  return fmt::format(
      "{} {} in {}; it is not known whether {} made this call: the recorder no longer has the "
      "entry",
      who(finding.others), wait(finding.others), call_of(finding), who(finding.ranks));
}

}  // namespace

std::string text_of(const Finding& finding) {
  switch (finding.kind) {
    case Kind::mismatch:
      return mismatch_text(finding);
    case Kind::behind:
      return finding.note.empty()
                 ? absence(finding, "never came", "never")
                 : fmt::format("{}: {} {} in {}", absence(finding, "never came", "never"),
                               finding.ranks.size() == 1 ? "it" : "they", wait(finding.ranks),
                               finding.note);
    case Kind::silent:
      return silence_text(finding);
    case Kind::not_finished:
      return fmt::format(
          "all ranks have made {}, but the call has not ended on {}: perhaps because of the "
          "network or a "
          "GPU{}",
          call_of(finding), who(finding.ranks),
          finding.note.empty() ? "" : ", or sizes: " + finding.note);
    case Kind::held:
      return held_text(finding);
    case Kind::left:
      return fmt::format(
          "{} never came to {}, and this call has ended on {}: the call failed there, or the dumps "
          "were written at different times",
          who(finding.ranks), call_of(finding), others_of(finding));
    case Kind::unclear:
      return unclear_text(finding);
  }
  return {};
}

std::string label_of(const std::string& group, const std::string& description) {
  if (description.empty()) return "group " + group;
  return is_default(group, description) ? description
                                        : fmt::format("{} (group {})", description, group);
}

std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 7> names = {"mismatch", "behind", "silent", "not_finished",
                                                     "held",     "left",   "unclear"};
  return names.at(static_cast<std::size_t>(kind));
}

}  // namespace toprun::recorder
