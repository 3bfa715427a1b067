#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "decide/topology/files/formats.h"
#include "decide/topology/physical_host.h"
#include "decide/topology/position.h"

namespace toprun::topology {
namespace {

using Kind = DataNode::Kind;

// The hosts in one entry and their place. A table may be split over several parts of a file; the
// positions give the file's order.
struct Mention {
  Position where;
  std::vector<std::string> hosts;
  Path path;
  std::string_view written = {};  // a place as one text: "/cluster/rack"; empty: a list of names
  bool lacks_host = false;        // the text has the host's name as its last part, `path` does not
};

class PlainReader {
 public:
  explicit PlainReader(const std::string& file) : file_(file), builder_(file) {}

  Result<Map> run(const DataNode& root) {
    if (root.kind != Kind::table && root.kind != Kind::empty) {
      return refuse(root.where, "expected a table with levels, hosts or domains");
    }
    for (std::size_t i = 0; i < root.keys.size(); ++i) {
      TRY(take_root(root.keys[i], root.items[i]));
    }
    const auto where = [](const Mention& m) { return std::pair(m.where.line, m.where.column); };
    if (!std::ranges::is_sorted(mentions_, {}, where)) std::ranges::sort(mentions_, {}, where);
    builder_.expect(hosts::max_hosts - hosts_left_);
    for (Mention& mention : mentions_) {
      TRY(add(mention));
    }
    builder_.warn(unknown_, "keys");
    if (levels_.empty()) levels_ = physical_level_names(depth_);
    TRY(check_links());
    Map map = builder_.finish(std::move(levels_));
    for (auto& [level, link] : links_) map.links[level] = link.link;
    return map;
  }

 private:
  std::unexpected<Error> refuse(Position where, std::string why, std::string fix = {}) const {
    return usage(at(file_, where), std::move(why), std::move(fix));
  }

  Result<void> take_root(const DataNode::Key& key, const DataNode& value) {
    static const std::vector<std::string> keys = {"levels", "hosts", "domains", "links"};
    if (std::ranges::find(keys, key.name) == keys.end()) {
      unknown_.add([&] {
        const auto meant = did_you_mean(key.name, keys);
        return fmt::format("{}: unknown key '{}' is ignored; {}", at(file_, key.where), key.name,
                           meant ? fmt::format("did you mean {}?", *meant)
                                 : "known are levels, hosts, domains and links");
      });
      return {};
    }
    if (key.name == "levels") return take_levels(value);
    if (value.kind != Kind::table) {
      return refuse(
          value.where, fmt::format("{} must be a table", key.name),
          "write hosts and their paths, domains and their hosts, or levels and their links");
    }
    if (key.name == "hosts") return take_hosts(value);
    if (key.name == "links") return take_links(value);
    Path path;
    return take_domains(value, path);
  }

  Result<void> take_levels(const DataNode& value) {
    const auto names = strings(value);
    if (!names || names->empty() || names->size() > max_levels ||
        std::set(names->begin(), names->end()).size() != names->size()) {
      return refuse(value.where,
                    fmt::format("levels must be a list of 1 to {} different names", max_levels),
                    "as in levels = [\"cluster\", \"rack\"]");
    }
    levels_ = *names;
    return {};
  }

  static constexpr std::string_view link_form = "write rack = 400, or {gbps = 400, latency_us = 5}";

  Result<void> take_links(const DataNode& table) {
    for (std::size_t i = 0; i < table.keys.size(); ++i) {
      const DataNode& value = table.items[i];
      Link link;
      if (value.kind != Kind::table) {
        if (auto taken = take_figure(value, link.gbps, false); !taken) return taken;
      }
      for (std::size_t k = 0; k < value.keys.size(); ++k) {
        const std::string& what = value.keys[k].name;
        if (what != "gbps" && what != "latency_us") {
          return refuse(value.keys[k].where, fmt::format("'{}' is not a property of a link", what),
                        std::string(link_form));
        }
        const bool is_latency = what == "latency_us";
        auto& figure = is_latency ? link.latency_us : link.gbps;
        if (auto taken = take_figure(value.items[k], figure, is_latency); !taken) return taken;
      }
      links_.insert_or_assign(table.keys[i].name, LinkEntry{table.keys[i].where, link});
    }
    return {};
  }

  Result<void> take_figure(const DataNode& value, std::optional<double>& figure,
                           bool may_be_zero) const {
    double number = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto [stopped, error] = std::from_chars(value.text.data(), end, number);
    const bool good = value.kind == Kind::text && error == std::errc{} && stopped == end &&
                      std::isfinite(number) && (number > 0 || (may_be_zero && number == 0));
    if (!good) return refuse(value.where, "expected a number above 0", std::string(link_form));
    figure = number;
    return {};
  }

  Result<void> check_links() const {
    for (const auto& [level, reported] : links_) {
      if (level == host_level || std::ranges::find(levels_, level) != levels_.end()) continue;
      return refuse(reported.where, fmt::format("there is no level {}", level),
                    fmt::format("choose one of: {}, {}", fmt::join(levels_, ", "), host_level));
    }
    return {};
  }

  // A list of strings, or one string as a list with one item.
  static std::optional<std::vector<std::string>> strings(const DataNode& value) {
    if (value.kind == Kind::text && value.is_string) return std::vector{value.text};
    if (value.kind != Kind::list) return std::nullopt;
    std::vector<std::string> texts;
    for (const DataNode& element : value.items) {
      if (element.kind != Kind::text || !element.is_string) return std::nullopt;
      texts.push_back(element.text);
    }
    return texts;
  }

  Result<void> take_hosts(const DataNode& table) {
    mentions_.reserve(mentions_.size() + table.keys.size());
    for (std::size_t i = 0; i < table.keys.size(); ++i) {
      const DataNode::Key& key = table.keys[i];
      const DataNode& value = table.items[i];
      Mention mention{key.where, {}, {}};
      if (auto taken = expand(mention, key.name, mention.where); !taken) return taken;
      if (auto taken = take_place(value, key.name, mention); !taken) return taken;
      mentions_.push_back(std::move(mention));
    }
    return {};
  }

  Result<void> take_place(const DataNode& value, std::string_view host, Mention& mention) {
    if (value.kind == Kind::text && value.is_string) {
      mention.written = value.text;
      // All hosts of one rack share one path in memory.
      mention.lacks_host =
          own_id(mention.written) == host && host.size() + 1 < mention.written.size();
      const std::size_t left_out = mention.lacks_host ? host.size() + 1 : 0;
      auto path = places_.domains(mention.written.substr(0, mention.written.size() - left_out));
      if (!path) return refuse(value.where, path.error(), "write \"/cluster/rack\"");
      mention.path = *std::move(path);
      return {};
    }
    const auto names = strings(value);
    if (!names || names->empty() || names->size() > max_levels) {
      return refuse(
          value.where,
          fmt::format("a host's path must be a string or a list of 1 to {} names", max_levels),
          "write \"/cluster/rack\" or [\"cluster\", \"rack\"]");
    }
    for (const std::string& name : *names) {
      mention.path.push_back(name.empty()           ? Domain()
                             : name == written_none ? Domain::none()
                                                    : Domain(name));
    }
    return {};
  }

  // `path` is that of the table; it is unchanged afterwards.
  Result<void> take_domains(const DataNode& table, Path& path) {
    if (path.size() == max_levels) {
      return refuse(table.where, fmt::format("more than {} levels", max_levels));
    }
    for (std::size_t i = 0; i < table.keys.size(); ++i) {
      const DataNode& value = table.items[i];
      path.push_back(table.keys[i].name);
      TRY(value.kind == Kind::table ? take_domains(value, path)
                                    : take_members(table.keys[i], value, path));
      path.pop_back();
    }
    return {};
  }

  Result<void> take_members(const DataNode::Key& key, const DataNode& value, const Path& path) {
    const auto lists = strings(value);
    if (!lists) {
      return refuse(value.where,
                    fmt::format("the value of '{}' contains neither hosts nor domains", key.name),
                    "write a host list as \"n[0-3]\", or a table of domains");
    }
    Mention mention{key.where, {}, path};
    for (const std::string& list : *lists) {
      if (auto taken = expand(mention, list, value.where); !taken) return taken;
    }
    mentions_.push_back(std::move(mention));
    return {};
  }

  Result<void> expand(Mention& mention, const std::string& list, Position where) {
    auto hosts = hosts::parse_hostlist(list, hosts_left_);
    if (!hosts) {
      return refuse(where,
                    fmt::format("host list '{}', column {}: {}", list, hosts.error().column,
                                hosts.error().why),
                    hosts.error().fix);
    }
    hosts_left_ -= hosts->size();
    std::ranges::move(*hosts, std::back_inserter(mention.hosts));
    return {};
  }

  Result<void> add(Mention& mention) {
    if (auto fitted = fit(mention); !fitted) return fitted;
    for (std::string& host : mention.hosts) {
      // Most mentions name one host, so its path is moved, not copied.
      Path path = &host == &mention.hosts.back() ? std::move(mention.path) : mention.path;
      Location location{std::move(path), Evidence(file_name_, mention.where.line), {}};
      if (own_id(mention.written) != host) location.written = mention.written;
      TRY(builder_.add(std::move(host), std::move(location), file_, mention.where));
    }
    return {};
  }

  // Checks the length of the path against `levels`, or against the first path if `levels` is
  // missing. The last part of a written place may be the host's own id.
  Result<void> fit(Mention& mention) {
    const std::size_t parts = mention.path.size() + (mention.lacks_host ? 1 : 0);
    if (!levels_.empty() && !mention.written.empty() && parts == levels_.size() + 1) {
      if (!mention.lacks_host) mention.path.pop_back();
      return {};
    }
    if (mention.lacks_host) mention.path.push_back(Domain(own_id(mention.written)));
    mention.written = {};
    if (depth_ == 0) {
      depth_ = levels_.empty() ? mention.path.size() : levels_.size();
      depth_line_ = mention.where.line;
    }
    if (mention.path.size() == depth_) return {};
    const std::string than =
        levels_.empty() ? fmt::format("but the path in line {} has {}", depth_line_, depth_)
                        : fmt::format("but `levels` has {}", depth_);
    return refuse(mention.where,
                  fmt::format("the path has {} levels, {}", mention.path.size(), than),
                  "write \"\" for an unknown level");
  }

  struct LinkEntry {
    Position where;
    Link link;
  };

  const std::string& file_;
  std::shared_ptr<const std::string> file_name_ = std::make_shared<const std::string>(file_);
  MapBuilder builder_;
  PlaceTexts places_;
  std::vector<std::string> levels_;
  std::map<std::string, LinkEntry> links_;
  std::vector<Mention> mentions_;
  std::size_t hosts_left_ = hosts::max_hosts;
  std::size_t depth_ = 0;       // of all paths; 0: not known yet
  std::size_t depth_line_ = 0;  // the line that set it
  Tally unknown_;               // keys
};

}  // namespace

Result<Map> map_of_plain(const DataNode& root, const std::string& file) {
  return PlainReader(file).run(root);
}

}  // namespace toprun::topology
