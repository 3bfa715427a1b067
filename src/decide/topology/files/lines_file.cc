#include <algorithm>
#include <unordered_map>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "decide/topology/files/formats.h"
#include "decide/topology/physical_host.h"
#include "decide/topology/position.h"

namespace toprun::topology {
namespace {

constexpr std::string_view line_form = "write HOST /cluster/rack/HOST";

bool is_word(std::string_view text, std::string_view word) {
  return text.size() == word.size() && lower(text) == word;
}

bool is_number(std::string_view word) {
  return std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

class LinesReader {
 public:
  explicit LinesReader(const std::string& file) : file_(file), builder_(file) {}

  Result<Map> run(std::string_view text) {
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    builder_.expect(std::min(lines, hosts::max_hosts));
    for (; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      TRY(take(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return builder_.finish(physical_level_names(levels_.value_or(0)));
  }

 private:
  std::unexpected<Error> refuse(std::string_view line, std::string_view word, std::string why,
                                std::string fix = std::string(line_form)) const {
    const auto column = static_cast<std::size_t>(word.data() - line.data()) + 1;
    return usage(at(file_, {line_, column}), std::move(why), std::move(fix));
  }

  Result<void> take(std::string_view line) {
    std::vector<std::string_view> columns = words(line);
    const auto comment = std::ranges::find_if(columns, [](auto word) { return word[0] == '#'; });
    columns.erase(comment, columns.end());
    labelled_ = columns.size() > 1 && is_task_label(columns[0]);
    if (labelled_) columns.erase(columns.begin());
    if (columns.empty()) return {};
    if (is_heading(columns)) {
      table_start_ = line_;
      return {};
    }
    if (is_title(columns)) return {};
    const bool ranked = is_number(columns[0]) && (table_start_ > 0 || columns.size() == 3);
    if (ranked) columns.erase(columns.begin());
    if (columns.empty()) return refuse(line, trim(line), "a rank has no host");
    if (columns.size() > 2) {
      return refuse(line, columns[2],
                    fmt::format("'{}' is unexpected: the line has too many words", columns[2]));
    }
    if (columns.size() == 1 && !ranked) {
      return refuse(line, columns[0], fmt::format("the path of host {} is missing", columns[0]));
    }
    return take_host(line, columns);
  }

  static bool is_heading(const std::vector<std::string_view>& columns) {
    return columns.size() >= 2 && is_word(columns[0], "rank") && is_word(columns[1], "hostname");
  }

  // Whether it is "Standard" or "Sorted by topology"; neither can be a host's line.
  static bool is_title(const std::vector<std::string_view>& columns) {
    return (columns.size() == 1 && is_word(columns[0], "standard")) ||
           (columns.size() == 3 && is_word(columns[0], "sorted") && is_word(columns[1], "by"));
  }

  Result<void> take_host(std::string_view line, const std::vector<std::string_view>& columns) {
    Location location;
    location.evidence = {file_name_, line_};
    std::string_view written;
    if (columns.size() == 2 && columns[1] != "-" && !is_word(columns[1], "unknown")) {
      auto path = places_.physical_host(columns[1]);
      if (!path) return refuse(line, columns[1], path.error());
      if (!levels_) {
        levels_ = path->size();
        first_path_line_ = line_;
      }
      if (*levels_ != path->size()) {
        return refuse(
            line, columns[1],
            fmt::format("this path has {} above the host, but the path in line {} has {}",
                        counted(path->size(), "level"), first_path_line_, *levels_),
            "leave an unknown level empty, as in /cluster//HOST; write - for a level that does not "
            "exist, as in /cluster/-/HOST");
      }
      location.path = *std::move(path);
      written = columns[1];
    }
    auto hosts = hosts::parse_hostlist(columns[0], hosts::max_hosts - builder_.size());
    if (!hosts) {
      return refuse(line, columns[0].substr(hosts.error().column - 1), hosts.error().why,
                    hosts.error().fix);
    }
    for (std::string& host : *hosts) {
      // Most lines name one host, so its location is moved, not copied.
      Location own = &host == &hosts->back() ? std::move(location) : location;
      if (own_id(written) != host) own.written = written;
      TRY(add(line, columns[0], std::move(host), std::move(own)));
    }
    return {};
  }

  Result<void> add(std::string_view line, std::string_view word, std::string host,
                   Location location) {
    if (labelled_) {  // several tasks of one node say the same
      const Location* earlier = builder_.find(host);
      if (earlier && earlier->path == location.path) return {};
    }
    if (table_start_ > 0) {
      // A second table with the same hosts in another order, as in the output of `toprun topo
      // order`.
      const std::size_t first = first_line_of_.emplace(host, line_).first->second;
      const Location* earlier = builder_.find(host);
      if (first < table_start_ && earlier && earlier->path == location.path) return {};
    }
    const auto column = static_cast<std::size_t>(word.data() - line.data()) + 1;
    return builder_.add(std::move(host), std::move(location), file_, {line_, column});
  }

  const std::string& file_;
  std::shared_ptr<const std::string> file_name_ = std::make_shared<const std::string>(file_);
  MapBuilder builder_;
  PlaceTexts places_;
  std::size_t line_ = 1;
  bool labelled_ = false;        // the line has a label
  std::size_t table_start_ = 0;  // the line of the last heading; 0: none
  std::unordered_map<std::string, std::size_t> first_line_of_;  // for hosts in tables
  std::optional<std::size_t> levels_;
  std::size_t first_path_line_ = 0;
};

}  // namespace

bool is_task_label(std::string_view word) {
  return word.size() > 1 && word.ends_with(':') && is_number(word.substr(0, word.size() - 1));
}

Result<Map> parse_lines_file(std::string_view text, const std::string& file) {
  return LinesReader(file).run(text);
}

}  // namespace toprun::topology
