#include "topology/toml_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "hosts/hostlist.h"
#include "topology/physical_host.h"
#include "topology/position.h"

namespace toprun::topology {
namespace {

Position position(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

// Hosts that one value names and where they are. toml++ sorts keys by name, the file's order is
// that of the positions.
struct Mention {
  Position where;
  std::vector<std::string> hosts;
  Path path;
  std::string written;
};

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file), builder_(file) {}

  Result<Map> run(const toml::table& root) {
    for (const auto& [key, value] : root) {
      if (auto taken = take_root(key, value); !taken) return std::unexpected(taken.error());
    }
    std::ranges::sort(mentions_, [](const Mention& a, const Mention& b) {
      return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
    });
    for (Mention& mention : mentions_) {
      if (auto added = add(mention); !added) return std::unexpected(added.error());
    }
    if (levels_.empty()) levels_ = physical_level_names(depth_);
    return builder_.finish(std::move(levels_));
  }

 private:
  std::unexpected<Error> refuse(Position where, std::string why, std::string fix = {}) const {
    return usage(at(file_, where), std::move(why), std::move(fix));
  }

  Result<void> take_root(const toml::key& key, const toml::node& value) {
    static const std::vector<std::string> keys = {"levels", "hosts", "domains"};
    if (key.str() == "levels") return take_levels(value);
    if (std::ranges::find(keys, key.str()) == keys.end()) {
      const auto meant = did_you_mean(key.str(), keys);
      return refuse(position(key.source()), fmt::format("unknown key '{}'", key.str()),
                    meant ? fmt::format("did you mean {}?", *meant)
                          : "known are levels, [hosts] and [domains]");
    }
    const toml::table* table = value.as_table();
    if (!table) {
      return refuse(position(value.source()), fmt::format("{} is a table", key.str()),
                    fmt::format("write [{}]", key.str()));
    }
    if (key.str() == "hosts") return take_hosts(*table);
    Path path;
    return take_domains(*table, path);
  }

  Result<void> take_levels(const toml::node& value) {
    const auto names = strings(value);
    if (!names || names->empty() || names->size() > max_levels ||
        std::set(names->begin(), names->end()).size() != names->size()) {
      return refuse(position(value.source()),
                    fmt::format("levels is a list of 1 to {} different names", max_levels),
                    "as in levels = [\"cluster\", \"rack\"]");
    }
    levels_ = *names;
    return {};
  }

  // A list of strings, or one string as a list of one.
  static std::optional<std::vector<std::string>> strings(const toml::node& value) {
    if (const auto* one = value.as_string()) return std::vector{one->get()};
    const toml::array* array = value.as_array();
    if (!array) return std::nullopt;
    std::vector<std::string> texts;
    for (const toml::node& element : *array) {
      if (!element.is_string()) return std::nullopt;
      texts.push_back(element.as_string()->get());
    }
    return texts;
  }

  Result<void> take_hosts(const toml::table& table) {
    for (const auto& [key, value] : table) {
      Mention mention{position(key.source()), {}, {}, {}};
      if (auto taken = expand(mention, std::string(key.str()), mention.where); !taken) return taken;
      if (auto taken = take_place(value, mention); !taken) return taken;
      mentions_.push_back(std::move(mention));
    }
    return {};
  }

  Result<void> take_place(const toml::node& value, Mention& mention) {
    if (const auto* text = value.as_string()) {
      auto path = parse_domains(text->get());
      if (!path) return refuse(position(value.source()), path.error(), "write \"/cluster/rack\"");
      mention.path = *std::move(path);
      mention.written = text->get();
      return {};
    }
    const auto names = strings(value);
    if (!names || names->empty() || names->size() > max_levels) {
      return refuse(position(value.source()),
                    fmt::format("a host's place is a text or a list of 1 to {} names", max_levels),
                    "write \"/cluster/rack\" or [\"cluster\", \"rack\"]");
    }
    for (const std::string& name : *names) {
      mention.path.push_back(name.empty() ? std::nullopt : std::optional(name));
    }
    return {};
  }

  // `path` is that of the table and the same again afterwards.
  Result<void> take_domains(const toml::table& table, Path& path) {
    if (path.size() == max_levels) {
      return refuse(position(table.source()), fmt::format("more than {} levels", max_levels));
    }
    for (const auto& [key, value] : table) {
      path.emplace_back(std::string(key.str()));
      const toml::table* inner = value.as_table();
      auto taken = inner ? take_domains(*inner, path) : take_members(key, value, path);
      if (!taken) return taken;
      path.pop_back();
    }
    return {};
  }

  Result<void> take_members(const toml::key& key, const toml::node& value, const Path& path) {
    const auto lists = strings(value);
    if (!lists) {
      return refuse(position(value.source()),
                    fmt::format("'{}' is neither hosts nor domains", key.str()),
                    "write a host list as \"n[0-3]\", or a table of domains");
    }
    Mention mention{position(key.source()), {}, path, {}};
    for (const std::string& list : *lists) {
      if (auto taken = expand(mention, list, position(value.source())); !taken) return taken;
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
      Location location{mention.path, at_line(file_, mention.where.line), mention.written};
      auto added = builder_.add(std::move(host), std::move(location), at(file_, mention.where));
      if (!added) return added;
    }
    return {};
  }

  // Holds the path against `levels`, or against the first path where there is no such list.
  Result<void> fit(Mention& mention) {
    const bool own_id = !mention.written.empty() && mention.path.size() == levels_.size() + 1;
    if (!levels_.empty() && own_id) {
      mention.path.pop_back();
      return {};
    }
    mention.written.clear();
    if (depth_ == 0) {
      depth_ = levels_.empty() ? mention.path.size() : levels_.size();
      depth_line_ = mention.where.line;
    }
    if (mention.path.size() == depth_) return {};
    const std::string than = levels_.empty()
                                 ? fmt::format("that of line {} has {}", depth_line_, depth_)
                                 : fmt::format("`levels` has {}", depth_);
    return refuse(mention.where,
                  fmt::format("the path has {} levels, {}", mention.path.size(), than),
                  "name an unknown level \"\"");
  }

  const std::string& file_;
  MapBuilder builder_;
  std::vector<std::string> levels_;
  std::vector<Mention> mentions_;
  std::size_t hosts_left_ = hosts::max_hosts;
  std::size_t depth_ = 0;       // of all paths; 0: not known yet
  std::size_t depth_line_ = 0;  // the line that fixed it
};

}  // namespace

Result<Map> parse_toml_file(std::string_view text, const std::string& file) {
  try {
    return Reader(file).run(toml::parse(text, file));
  } catch (const toml::parse_error& error) {
    return usage(at(file, position(error.source())), std::string(error.description()),
                 "see https://toml.io");
  }
}

}  // namespace toprun::topology
