#include "decide/hang/hang_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/text/text.h"
#include "decide/recorder/recorder_verdict.h"

namespace toprun::hang {
namespace {

constexpr std::size_t most_named = 4;           // ranks and nodes in one line
constexpr std::size_t most_groups_shown = 6;    // with their places
constexpr std::size_t most_groups_listed = 64;  // … if all is to be shown
constexpr std::size_t most_stacks_shown = 2;    // of suspects
constexpr std::size_t most_frames_shown = 6;

using GroupsOf = std::vector<const Group*>;

std::size_t count(const GroupsOf& groups) {
  std::size_t ranks = 0;
  for (const Group* group : groups) ranks += group->ranks.size();
  return ranks;
}

std::vector<int> ranks_of(const GroupsOf& groups) {
  std::vector<int> ranks;
  for (const Group* group : groups) {
    ranks.insert(ranks.end(), group->ranks.begin(), group->ranks.end());
  }
  std::ranges::sort(ranks);
  return ranks;
}

// The first few of them, and how many others there are.
std::string few(std::vector<std::string> names) {
  if (names.size() > most_named) {
    const std::size_t others = names.size() - most_named;
    names.resize(most_named);
    names.push_back(fmt::format("{} more", others));
  }
  return join(names, ", ");
}

std::string named(const std::vector<int>& ranks, const NodeOf& node_of) {
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back(fmt::format("rank {} on {}", rank, node_of(rank)));
  return few(std::move(names));
}

std::string number(std::size_t ranks) {
  return ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks);
}

// "sleeps at data.py:41 in load".
std::string standing_text(const Standing& standing, bool is_one) {
  std::string text(doing_text(standing.doing, is_one));
  if (!standing.wchan.empty()) text += fmt::format(" ({})", standing.wchan);
  const std::string place = place_text(standing);
  if (!place.empty()) return text + (has_own_place(standing) ? " " : "; ") + place;
  return standing.no_frames.empty() ? text : fmt::format("{}; {}", text, standing.no_frames);
}

// All ranks wait for others: those that call something else than most are suspects.
void judge_who_waits(Verdict& verdict, const NodeOf& node_of) {
  std::map<std::string, GroupsOf> by_place;
  std::size_t all = 0;
  for (const Group& group : verdict.groups) {
    by_place[place_text(group.standing)].push_back(&group);
    all += group.ranks.size();
  }
  const auto largest =
      std::ranges::max_element(by_place, {}, [](const auto& place) { return count(place.second); });
  const std::string& most_are = largest->first;
  const std::size_t most = count(largest->second);
  if (by_place.size() == 1) {
    verdict.what = fmt::format(
        "all {} wait {}: the network is stuck, or the ranks pass different sizes or types",
        number(all), most_are.empty() ? "for others" : most_are);
  } else if (2 * most <= all) {
    verdict.what = fmt::format(
        "{} wait for each other in {} different calls: probably these ranks do not make the calls "
        "in the same order",
        number(all), by_place.size());
  } else {
    GroupsOf others;
    for (const auto& [place, groups] : by_place) {
      if (place != most_are) others.insert(others.end(), groups.begin(), groups.end());
    }
    verdict.suspects = ranks_of(others);
    const bool is_one = verdict.suspects.size() == 1;
    const std::string where =
        others.size() == 1 ? place_text(others.front()->standing) : "elsewhere";
    verdict.what = fmt::format("{} {} {}, and {} {}", named(verdict.suspects, node_of),
                               is_one ? "waits" : "wait", where, number(most), most_are);
  }
}

void judge_who_does_not_come(Verdict& verdict, const GroupsOf& others, std::size_t waiting,
                             const NodeOf& node_of) {
  verdict.suspects = ranks_of(others);
  const bool is_one = verdict.suspects.size() == 1;
  const std::string doing =
      others.size() == 1 ? standing_text(others.front()->standing, is_one) : "do not come";
  verdict.what =
      fmt::format("{} {}, and {} {} for {}", named(verdict.suspects, node_of), doing,
                  number(waiting), waiting == 1 ? "waits" : "wait", is_one ? "it" : "them");
}

void judge_who_does_not_answer(Verdict& verdict, std::size_t waiting, const NodeOf& node_of) {
  verdict.suspects = verdict.unseen;
  std::vector<std::string> nodes = suspected_nodes(verdict, node_of);
  const bool is_one = nodes.size() == 1;
  verdict.what =
      fmt::format("{} {} not report where {} ranks are ({}), and {} {}", few(std::move(nodes)),
                  is_one ? "does" : "do", is_one ? "its" : "their",
                  ranges_text(verdict.unseen, recorder::most_ranges), number(waiting),
                  waiting == 1 ? "waits" : "wait");
}

bool all_wait(const Verdict& verdict) {
  return verdict.unseen.empty() && std::ranges::all_of(verdict.groups, [](const Group& group) {
           return group.standing.doing == Doing::communicates;
         });
}

// All wait for others, and not in the same call.
bool wait_in_different_calls(const Verdict& verdict) {
  if (verdict.groups.empty() || !all_wait(verdict)) return false;
  const std::string first = place_text(verdict.groups.front().standing);
  return std::ranges::any_of(
      verdict.groups, [&](const Group& group) { return place_text(group.standing) != first; });
}

// A rank waits for a lock, or in another collective, because of its program, on whatever node it
// is. What it waits for in a child or outside of Python may be the node's fault.
bool is_by_its_program(const Verdict& verdict) {
  const auto is_one = [&](const Standing& standing) {
    if (standing.doing == Doing::communicates) return verdict.evidence.empty();
    return standing.doing == Doing::locked && !standing.frames.empty() && standing.children.empty();
  };
  return verdict.unseen.empty() && std::ranges::all_of(verdict.groups, [&](const Group& group) {
           return !std::ranges::binary_search(verdict.suspects, group.ranks.front()) ||
                  is_one(group.standing);
         });
}

// Those that keep the others waiting first.
GroupsOf in_order_of_guilt(const Verdict& verdict) {
  GroupsOf order;
  for (const Group& group : verdict.groups) order.push_back(&group);
  std::ranges::stable_partition(order, [&](const Group* group) {
    return std::ranges::binary_search(verdict.suspects, group->ranks.front());
  });
  return order;
}

std::string group_line(const Group& group, const NodeOf& node_of) {
  const bool is_one = group.ranks.size() == 1;
  const std::string who =
      is_one ? fmt::format("rank {} on {}", group.ranks.front(), node_of(group.ranks.front()))
             : "ranks " + ranges_text(group.ranks, recorder::most_ranges);
  return fmt::format("{}: {}", who, standing_text(group.standing, is_one));
}

// The innermost frames. Where all of them are of libraries, the user's own frame stands last.
std::vector<std::string> frame_lines(const std::vector<stacks::Frame>& frames, std::size_t most) {
  const auto line = [](const stacks::Frame& frame) {
    return fmt::format("    {}, {}:{}", frame.function, frame.file, frame.line);
  };
  const std::size_t user = users_frame(frames);
  const bool is_cut_off = user >= most && user < frames.size();
  constexpr std::size_t for_the_user = 2;  // with the mark of what is left out
  const std::size_t innermost = std::min(frames.size(), is_cut_off ? most - for_the_user : most);
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < innermost; ++k) lines.push_back(line(frames[k]));
  if (!is_cut_off) return lines;
  lines.emplace_back("    …");
  lines.push_back(line(frames[user]));
  return lines;
}

}  // namespace

Verdict judge(std::vector<Group> groups, std::vector<int> unseen, const NodeOf& node_of) {
  Verdict verdict;
  verdict.groups = std::move(groups);
  verdict.unseen = std::move(unseen);
  GroupsOf others;
  std::size_t waiting = 0;
  for (const Group& group : verdict.groups) {
    if (group.standing.doing == Doing::communicates) {
      waiting += group.ranks.size();
    } else {
      others.push_back(&group);
    }
  }
  if (!verdict.unseen.empty()) {
    judge_who_does_not_answer(verdict, waiting, node_of);
  } else if (waiting == 0) {
    verdict.what = "no rank waits for another rank in a call of torch.distributed";
  } else if (others.empty()) {
    judge_who_waits(verdict, node_of);
  } else {
    judge_who_does_not_come(verdict, others, waiting, node_of);
  }
  return verdict;
}

std::string_view name_of(Evidence::Source source) {
  return source == Evidence::Source::nccl ? "nccl" : "flight_recorder";
}

// The ranks of a communicator of all ranks are the job's: PyTorch makes it in their order.
void add_reported_by_nccl(Verdict& verdict, const std::vector<ras::Finding>& findings) {
  std::size_t world = verdict.unseen.size();
  for (const Group& group : verdict.groups) world += group.ranks.size();
  for (const ras::Finding& finding : findings) {
    if (verdict.evidence.size() >= most_evidence) return;
    const bool of_all = std::cmp_equal(finding.size, world);
    std::string ranks = ranges_text(finding.ranks, recorder::most_ranges);
    if (finding.count > finding.ranks.size()) {
      ranks += fmt::format(",{} more", finding.count - finding.ranks.size());
    }
    Evidence evidence;
    evidence.source = Evidence::Source::nccl;
    evidence.group = finding.communicator;
    evidence.kind = ras::name_of(finding.kind);
    evidence.text =
        fmt::format("communicator {} of {}: {}{} {} {}", finding.communicator,
                    number(static_cast<std::size_t>(finding.size)), of_all ? "" : "its ",
                    finding.count == 1 ? "rank" : "ranks", ranks, finding.text);
    if (of_all && verdict.suspects.empty()) {
      verdict.suspects = finding.ranks;
      verdict.what = evidence.text;
    }
    if (of_all) evidence.ranks = finding.ranks;
    verdict.evidence.push_back(std::move(evidence));
  }
}

void add_recorded(Verdict& verdict, const recorder::Summary& recorded) {
  using Kind = recorder::Finding::Kind;
  if (recorded.ranks.empty()) return;
  std::vector<recorder::Finding> findings = recorder::judge(recorded);
  // Ranks without a dump are said below, of all ranks.
  std::erase_if(findings, [](const recorder::Finding& finding) {
    return finding.kind == Kind::silent && finding.operation.empty();
  });
  // What is held follows from the others, if there are any.
  const auto is_held = [](const recorder::Finding& one) { return one.kind == Kind::held; };
  if (!std::ranges::all_of(findings, is_held)) std::erase_if(findings, is_held);
  for (recorder::Finding& finding : findings) {
    if (verdict.evidence.size() == most_evidence) break;
    Evidence evidence;
    evidence.kind = recorder::name_of(finding.kind);
    evidence.group = finding.description.empty() ? finding.group : finding.description;
    evidence.text = recorder::text_of(finding);
    if (!finding.group.empty()) {
      const std::string label = recorder::label_of(finding.group, finding.description);
      evidence.text = fmt::format("{}: {}", label, evidence.text);
    }
    if (finding.blames && verdict.suspects.empty()) {
      verdict.suspects = finding.ranks;
      verdict.what = evidence.text;
    }
    evidence.ranks = std::move(finding.ranks);
    verdict.evidence.push_back(std::move(evidence));
  }
  std::vector<int> silent;
  for (const Group& group : verdict.groups) {
    std::ranges::copy_if(group.ranks, std::back_inserter(silent), [&](int rank) {
      return !std::ranges::binary_search(recorded.ranks, rank);
    });
  }
  if (silent.empty()) return;
  std::ranges::sort(silent);
  const std::string text = fmt::format("no dump of {} {}", silent.size() == 1 ? "rank" : "ranks",
                                       ranges_text(silent, recorder::most_ranges));
  verdict.evidence.push_back(
      {.kind = "silent", .group = {}, .text = text, .ranks = std::move(silent)});
}

std::vector<std::string> suspected_nodes(const Verdict& verdict, const NodeOf& node_of) {
  std::vector<std::string> nodes;
  for (const int rank : verdict.suspects) {
    std::string node = node_of(rank);
    if (nodes.empty() || nodes.back() != node) nodes.push_back(std::move(node));
  }
  std::ranges::sort(nodes, natural_less);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  return nodes;
}

// Whether there are other nodes to tell the suspected ones from.
bool is_on_several(const Verdict& verdict, const NodeOf& node_of) {
  if (verdict.suspects.empty()) return false;
  const std::string one = node_of(verdict.suspects.front());
  const auto is_elsewhere = [&](int rank) { return node_of(rank) != one; };
  return std::ranges::any_of(verdict.suspects, is_elsewhere) ||
         std::ranges::any_of(verdict.unseen, is_elsewhere) ||
         std::ranges::any_of(verdict.groups, [&](const Group& group) {
           return std::ranges::any_of(group.ranks, is_elsewhere);
         });
}

std::string next_of(const Verdict& verdict) {
  if (!verdict.evidence.empty() || !wait_in_different_calls(verdict)) return {};
  return "compare the calls of these ranks up to these lines (is a collective in an `if` that only "
         "some ranks enter?); TORCH_DISTRIBUTED_DEBUG=DETAIL checks each call";
}

std::vector<std::string> lines_of(const Verdict& verdict, const NodeOf& node_of, Shown shown) {
  const bool all = shown == Shown::all_stacks;
  const std::size_t most_groups = all ? most_groups_listed : most_groups_shown;
  const std::size_t frames_shown = all ? most_frames : most_frames_shown;
  std::vector<std::string> lines;
  const GroupsOf order = in_order_of_guilt(verdict);
  for (std::size_t i = 0; i < std::min(order.size(), most_groups); ++i) {
    const Group& group = *order[i];
    lines.push_back(group_line(group, node_of));
    const bool is_suspect = std::ranges::binary_search(verdict.suspects, group.ranks.front());
    if (!all && (!is_suspect || i >= most_stacks_shown)) continue;
    for (std::string& line : frame_lines(group.standing.frames, frames_shown)) {
      lines.push_back(std::move(line));
    }
  }
  if (order.size() > most_groups) {
    const GroupsOf rest(order.begin() + static_cast<std::ptrdiff_t>(most_groups), order.end());
    lines.push_back(fmt::format("{} in {} other places", number(count(rest)), rest.size()));
  }
  if (all) {
    if (!verdict.unseen.empty()) {
      lines.push_back(named(verdict.unseen, node_of) + ": no answer in time from there");
    }
    return lines;
  }
  for (const Evidence& evidence : verdict.evidence) {
    const bool by_nccl = evidence.source == Evidence::Source::nccl;
    lines.push_back((by_nccl ? "NCCL: " : "flight recorder: ") + evidence.text);
  }
  if (const std::string next = next_of(verdict); !next.empty()) lines.push_back("next: " + next);
  if (is_by_its_program(verdict)) return lines;
  if (auto nodes = suspected_nodes(verdict, node_of); is_on_several(verdict, node_of)) {
    const std::string_view label = nodes.size() == 1 ? "suspected node" : "suspected nodes";
    lines.push_back(fmt::format("{}: {}", label, few(std::move(nodes))));
  }
  return lines;
}

}  // namespace toprun::hang
