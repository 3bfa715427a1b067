#include "observe/report/explain.h"

#include <algorithm>
#include <map>

#include "base/text/text.h"
#include "decide/placement/groups.h"
#include "observe/report/outline.h"

namespace toprun::report {
namespace {

using topology::Path;

constexpr std::size_t max_listed = 8;  // kinds of evidence, broken segments

std::string ordinal(std::size_t number) {
  const std::size_t tens = number % 100;
  const char* const ending = tens >= 11 && tens <= 13 ? "th"
                             : number % 10 == 1       ? "st"
                             : number % 10 == 2       ? "nd"
                             : number % 10 == 3       ? "rd"
                                                      : "th";
  return fmt::format("{}{}", number, ending);
}

std::string ranks_words(int first, int count) {
  if (count == 0) return "no rank";
  if (count == 1) return fmt::format("rank {}", first);
  return fmt::format("ranks {}-{}", first, first + count - 1);
}

// Whether two nodes are known to share all domains from the outermost down to this level.
bool share(const Path& a, const Path& b, std::size_t level) {
  return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(level + 1), b.begin(),
                    [](const auto& x, const auto& y) { return !x.is_unknown() && x == y; });
}

// "rack a of cluster c", from this level outwards; without levels that the host does not have.
std::string place_words(const std::vector<std::string>& levels, const Path& path,
                        std::size_t innermost) {
  std::string text;
  for (std::size_t level = innermost + 1; level-- > 0;) {
    if (path[level].is_none()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : " of ", levels[level],
                        path[level].value_or("unknown"));
  }
  return text;
}

std::optional<std::size_t> innermost_known(const Path& path) {
  for (std::size_t level = path.size(); level-- > 0;) {
    if (path[level]) return level;
  }
  return std::nullopt;
}

// The part "topology.conf" of "topology.conf:12:3".
std::string_view without_position(std::string_view evidence) {
  while (true) {
    const std::size_t colon = evidence.rfind(':');
    if (colon == std::string_view::npos || !parse_int(evidence.substr(colon + 1))) return evidence;
    evidence = evidence.substr(0, colon);
  }
}

class Overall {
 public:
  Overall(const placement::Placement& placement, const Question& question)
      : placement_(placement), question_(question) {}

  std::vector<std::string> run() {
    add_source();
    for (std::size_t level = 0; level < placement_.levels.size(); ++level) add_level(level);
    add_unplaced();
    add_spares();
    if (question_.segment > 1 && !placement_.levels.empty()) add_segments();
    return std::move(lines_);
  }

 private:
  void add_source() {
    if (placement_.source.empty()) {
      lines_.push_back(
          "no source knows the position of any node, so the nodes keep the order in which they "
          "were given");
      for (const std::string& note : placement_.notes) lines_.push_back(note);
      return;
    }
    lines_.push_back(
        fmt::format("{} says where the nodes are; it {}; evidence: {}", placement_.source,
                    question_.topology == "auto"
                        ? "is the first source in the order of --topology auto that knows them"
                        : "is the source that --topology names",
                    evidence()));
    if (placement_.notes.size() > 1) {
      for (const std::string& note : placement_.notes) lines_.push_back(note);
    }
    lines_.push_back(placement_.mapping ? "for --parallel, " + mapping_text(*placement_.mapping)
                                        : "domains are sorted naturally by name, and so are the "
                                          "nodes inside each innermost domain");
  }

  void add_spares() {
    if (placement_.spare.empty()) return;
    lines_.push_back(
        fmt::format("the job needs {} of {} nodes; without {} it uses the fewest domains",
                    placement_.nodes.size(), placement_.nodes.size() + placement_.spare.size(),
                    one_line_list(placement_.spare)));
  }

  std::string evidence() const {
    std::map<std::string_view, std::size_t> nodes_of;
    for (const placement::Node& node : placement_.nodes) {
      if (node.placed) ++nodes_of[without_position(node.location.evidence.source())];
    }
    if (nodes_of.empty()) return "none";
    std::vector<std::string> kinds;
    for (const auto& [kind, count] : nodes_of) {
      if (kinds.size() == max_listed) {
        kinds.push_back(fmt::format("{} more", nodes_of.size() - max_listed));
        break;
      }
      kinds.push_back(fmt::format("{} ({})", kind, counted(count, "node")));
    }
    return join(kinds, ", ");
  }

  void add_level(std::size_t level) {
    const placement::Crossings& ring = placement_.ring[level];
    lines_.push_back(
        fmt::format("{}: left {} as given, {} as ordered{}", ring.level,
                    counted(ring.given, "time"), ring.ordered,
                    ring.minimum == 0 ? "; all nodes share one"
                    : ring.ordered == ring.minimum
                        ? fmt::format("; each of the {} has to be left once, so no order is better",
                                      ring.minimum)
                        : fmt::format("; without --segment, {} would be enough", ring.minimum)));
    std::vector<std::string> unknown;
    for (const placement::Node& node : placement_.nodes) {
      if (node.placed && node.location.path[level].is_unknown()) unknown.push_back(node.name);
    }
    if (unknown.empty()) return;
    lines_.push_back(fmt::format(
        "{}: not known for {}: {} counts as a domain of its own, after the known domains",
        ring.level, one_line_list(unknown), unknown.size() == 1 ? "it" : "each"));
  }

  void add_unplaced() {
    if (placement_.unplaced.empty() || placement_.source.empty()) return;
    lines_.push_back(fmt::format("the position of {} is not known: placed last, in the order given",
                                 one_line_list(placement_.unplaced)));
  }

  void add_segments() {
    const std::size_t size = question_.segment;
    const std::size_t innermost = placement_.levels.size() - 1;
    std::size_t broken = 0;
    std::vector<std::string> shown;
    std::size_t segments = 0;
    for (std::size_t first = 0; first < placement_.nodes.size(); first += size, ++segments) {
      const std::span<const placement::Node> segment =
          std::span(placement_.nodes)
              .subspan(first)
              .first(std::min(size, placement_.nodes.size() - first));
      const Path& path = segment.front().location.path;
      if (std::ranges::all_of(segment, [&](const placement::Node& node) {
            return share(path, node.location.path, innermost);
          })) {
        continue;
      }
      if (++broken > max_listed) continue;
      shown.push_back(one_line_list(names_of(segment)));
    }
    lines_.push_back(fmt::format(
        "segments of {}: {} of {} are inside one {}{}", size, segments - broken, segments,
        placement_.levels.back(),
        broken == 0 ? std::string()
                    : fmt::format("; segments that are not inside one: {}{}", join(shown, "; "),
                                  broken > max_listed ? "; …" : "")));
  }

  const placement::Placement& placement_;
  const Question& question_;
  std::vector<std::string> lines_;
};

// The reason for the position of one node.
class Reason {
 public:
  Reason(const placement::Placement& placement, std::size_t position, bool segments)
      : placement_(placement),
        nodes_(placement.nodes),
        position_(position),
        node_(nodes_[position]),
        segments_(segments) {}

  std::string run() const {
    std::string text = fmt::format("{} is {} of {} ({})", node_.name, ordinal(position_ + 1),
                                   nodes_.size(), ranks_words(node_.first_rank, node_.nproc));
    const auto level = innermost_known(node_.location.path);
    if (!level) {
      text += placement_.unplaced.size() == nodes_.size()
                  ? ": its place is not known, so it keeps its given position"
                  : ": its place is not known, so it comes after the nodes with a known place, in "
                    "the given order";
    } else {
      text += fmt::format(": {}{}; {}", place(*level), evidence(), domain_nodes(*level));
    }
    return text + neighbours();
  }

 private:
  const Path& path() const { return node_.location.path; }

  // "rack unknown of block b of cluster c".
  std::string place(std::size_t level) const {
    const std::string text = place_words(placement_.levels, path(), path().size() - 1);
    const bool more = std::any_of(path().begin() + static_cast<std::ptrdiff_t>(level), path().end(),
                                  [](const auto& domain) { return domain.is_unknown(); });
    return more ? text + ", no more is known" : text;
  }

  std::string evidence() const {
    return node_.location.evidence.empty() ? "" : ", by " + node_.location.evidence.text();
  }

  // The nodes of its innermost known domain: their number, and those that are in a row.
  std::string domain_nodes(std::size_t level) const {
    const auto same = [&](const placement::Node& node) { return shares(node, level); };
    std::size_t first = position_;
    while (first > 0 && same(nodes_[first - 1])) --first;
    std::size_t last = position_;
    while (last + 1 < nodes_.size() && same(nodes_[last + 1])) ++last;
    const auto all = static_cast<std::size_t>(std::ranges::count_if(nodes_, same));
    const std::size_t here = last - first + 1;
    if (all == 1)
      return fmt::format("alone in its {}{}", placement_.levels[level], after(first, level));
    if (here < all) {
      return fmt::format("{} of {}'s {} {} here; the others are elsewhere to complete segments",
                         here, *path()[level], counted(all, "node"),
                         here == 1 ? "stands" : "stand");
    }
    return fmt::format("{}'s {} stand together{}", *path()[level], counted(all, "node"),
                       after(first, level));
  }

  // Whether a node is in the same domains as our node, where ours are known. Domains around an
  // unknown one may be known.
  bool shares(const placement::Node& node, std::size_t level) const {
    return std::equal(path().begin(), path().begin() + static_cast<std::ptrdiff_t>(level + 1),
                      node.location.path.begin());
  }

  // The nodes before those of its domain.
  std::string after(std::size_t first, std::size_t level) const {
    if (segments_) return {};
    const std::string_view by = path().seat() > 0 ? "position" : "name";
    if (first == 0) return fmt::format(", first by {}", by);
    const Path& before = nodes_[first - 1].location.path;
    std::size_t other = 0;
    while (other < level && before[other] == path()[other]) ++other;
    if (!before[other] || !path()[other]) return {};
    return fmt::format(", after {} {} by {}", placement_.levels[other], *before[other], by);
  }

  std::string neighbours() const {
    if (nodes_.size() == 1) return {};
    const placement::Node& before = nodes_[(position_ + nodes_.size() - 1) % nodes_.size()];
    const placement::Node& next = nodes_[(position_ + 1) % nodes_.size()];
    if (nodes_.size() == 2) return fmt::format("; its neighbour is {}", neighbour(next));
    return fmt::format("; its neighbours are {} and {}", neighbour(before), neighbour(next));
  }

  std::string neighbour(const placement::Node& node) const {
    if (path().empty()) return node.name;
    for (std::size_t level = 0; level < path().size(); ++level) {
      if (share(path(), node.location.path, level)) continue;
      const bool known = !path()[level].is_unknown() && !node.location.path[level].is_unknown();
      return fmt::format("{} ({} {})", node.name, known ? "another" : "unknown",
                         placement_.levels[level]);
    }
    return fmt::format("{} (same {})", node.name, placement_.levels.back());
  }

  const placement::Placement& placement_;
  std::span<const placement::Node> nodes_;
  std::size_t position_;
  const placement::Node& node_;
  bool segments_;
};

// Ranges of nodes that share all levels down to a certain one.
class Runs {
 public:
  explicit Runs(const placement::Placement& placement) : placement_(placement) {}

  std::vector<std::string> lines() const {
    if (placement_.levels.empty()) return {};
    std::size_t level = placement_.levels.size() - 1;
    while (level > 0 && starts(level).size() > max_explained_domains) --level;
    std::vector<std::size_t> begins = starts(level);
    const std::size_t all = begins.size();
    begins.push_back(placement_.nodes.size());
    std::vector<std::string> out;
    for (std::size_t i = 0; i < std::min(all, max_explained_domains); ++i) {
      out.push_back(line(level, begins[i], begins[i + 1]));
    }
    if (all > max_explained_domains) {
      out.push_back(fmt::format("and {} more", counted(all - max_explained_domains, "such run")));
    }
    return out;
  }

 private:
  std::vector<std::size_t> starts(std::size_t level) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < placement_.nodes.size(); ++i) {
      if (i == 0 || !same(i - 1, i, level)) found.push_back(i);
    }
    return found;
  }

  bool same(std::size_t a, std::size_t b, std::size_t level) const {
    const Path& x = placement_.nodes[a].location.path;
    const Path& y = placement_.nodes[b].location.path;
    return std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(level + 1), y.begin());
  }

  std::string line(std::size_t level, std::size_t first, std::size_t last) const {
    const std::span<const placement::Node> run =
        std::span(placement_.nodes).subspan(first, last - first);
    const std::string place = place_words(placement_.levels, run.front().location.path, level);
    const placement::Node& end = run.back();
    return fmt::format(
        "{}: {}, {} ({})",
        ranks_words(run.front().first_rank, end.first_rank + end.nproc - run.front().first_rank),
        run.front().placed ? place : "place unknown", counted(run.size(), "node"),
        one_line_list(names_of(run)));
  }

  const placement::Placement& placement_;
};

}  // namespace

void explain(placement::Placement& placement, const Question& question) {
  std::ranges::move(Overall(placement, question).run(), std::back_inserter(placement.explanation));
  const bool segments = question.segment > 1;
  if (!question.node && placement.nodes.size() > max_explained_nodes) {
    std::ranges::move(Runs(placement).lines(), std::back_inserter(placement.explanation));
    return;
  }
  placement.node_explanations.resize(placement.nodes.size());
  for (std::size_t i = 0; i < placement.nodes.size(); ++i) {
    if (question.node && question.node != i) continue;
    placement.node_explanations[i] = Reason(placement, i, segments).run();
  }
}

std::string explanation_text(const placement::Placement& placement) {
  std::string text;
  for (const std::string& line : placement.explanation) text += printable(line) + '\n';
  for (const std::string& line : placement.node_explanations) {
    if (!line.empty()) text += printable(line) + '\n';
  }
  return text;
}

}  // namespace toprun::report
