#include "decide/topology/infiniband/ibnetdiscover.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/text/text.h"
#include "decide/topology/infiniband/ib_records.h"
#include "decide/topology/position.h"

namespace toprun::topology {
namespace {

using Index = std::size_t;

constexpr std::string_view whole_dump =
    "give the whole output of `ibnetdiscover`, without -l or --diff";

constexpr std::size_t max_first_strays = 16;  // above it, most lines must belong to the dump
constexpr std::size_t max_shown_of_stray = 60;

constexpr std::array<std::string_view, 6> dump_keys = {"vendid",     "devid",  "sysimgguid",
                                                       "switchguid", "caguid", "rtguid"};

// The unread rest of a line.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : line_(line), rest_(line) { skip_blanks(); }

  std::size_t column() const { return line_.size() - rest_.size() + 1; }
  bool at_end() const { return rest_.empty() || rest_.front() == '#'; }
  std::string_view rest() const { return rest_; }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    skip_blanks();
    return true;
  }

  std::optional<std::uint64_t> number(int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.begin(), rest_.end(), value, base);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.begin()));
    skip_blanks();
    return value;
  }

  // The text between two quotation marks.
  std::optional<std::string_view> quoted() {
    const std::size_t end = rest_.starts_with('"') ? rest_.find('"', 1) : std::string_view::npos;
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    skip_blanks();
    return text;
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }

  std::string_view line_;
  std::string_view rest_;
};

// The comment at the end of a record's or port's line. Descriptions may contain any character, also
// quotation marks, but the text behind them contains none.
struct Comment {
  std::string_view description;
  std::string_view speed;  // "4xNDR"
};

Comment parse_comment(std::string_view text) {
  Comment comment;
  const std::size_t open = text.find('"');
  const std::size_t close = text.rfind('"');
  if (open == std::string_view::npos || open == close) return comment;
  comment.description = text.substr(open + 1, close - open - 1);
  for (const std::string_view word : words(text.substr(close + 1))) {
    const std::size_t x = word.find('x');
    if (x == std::string_view::npos || x == 0 || word[0] < '0' || word[0] > '9') continue;
    comment.speed = word;
    break;
  }
  return comment;
}

using Node = IbNode;
using End = IbEnd;

// The type of the record that begins in this line: "Switch" in `Switch  65 "S-2c5eab0300b87b40"`. A
// terminal log may have lost the tab character.
std::optional<std::string_view> begins_record(std::string_view line) {
  for (const std::string_view type : {"Switch", "Ca", "Rt", "???"}) {
    if (!line.starts_with(type)) continue;
    const std::string_view rest = line.substr(type.size());
    const std::string_view number = trim(rest);
    if (number.empty()) return std::nullopt;
    const bool digit = number[0] >= '0' && number[0] <= '9';
    if (digit || (rest[0] != number[0] && number.contains('"'))) return type;
  }
  return std::nullopt;
}

// Parses the text into records.
class DumpReader {
 public:
  explicit DumpReader(const std::string& file) : file_(file) {}

  Result<void> run(std::string_view text) {
    for (; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (auto taken = take(trim(text.substr(0, end)), text.data()); !taken) return taken;
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return {};
  }

  const IbRecords& records() const { return records_; }

  void warn(Map& map) const {
    keys_.warn(map.warnings, "lines");
    strays_.warn(map.warnings, "lines");
  }

 private:
  std::unexpected<Error> refuse(std::size_t column, std::string why,
                                std::string fix = std::string(whole_dump)) const {
    return usage(at(file_, {line_, indent_ + column}), std::move(why), std::move(fix));
  }

  Result<void> take(std::string_view line, const char* start) {
    if (line.empty() || line[0] == '#') return {};
    indent_ = static_cast<std::size_t>(line.data() - start);
    Cursor cursor(line);
    if (line[0] == '[') return is_port(line) ? take_port(cursor) : take_stray(line);
    if (const auto type = begins_record(line)) {
      cursor.take(*type);
      return take_record(cursor, *type);
    }
    // Headings that -g prints between the records.
    for (const std::string_view heading : {"Chassis ", "Non-Chassis Nodes", "Hostname:"}) {
      if (line.starts_with(heading)) return {};
    }
    const std::size_t equals = line.find('=');
    const std::string_view key = line.substr(0, equals);
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    if (equals == std::string_view::npos || !std::ranges::all_of(key, is_letter)) {
      return take_stray(line);
    }
    current_.reset();
    if (std::ranges::find(dump_keys, key) == dump_keys.end()) {
      keys_.add([&] { return fmt::format("{}: unknown key {}", at_line(file_, line_), key); });
    }
    return {};
  }

  // Whether it is "[1]" and the beginning of a cable; not "[17.3] a kernel's message" or a prompt.
  static bool is_port(std::string_view line) {
    const std::size_t digits = line.find_first_not_of("0123456789", 1);
    const bool numbered = digits != line.npos && digits > 1 && line[digits] == ']';
    const std::string_view rest = numbered ? trim(line.substr(digits + 1)) : std::string_view();
    constexpr std::array<std::string_view, 6> beginnings = {"\"", "(", "[ext", "S-", "H-", "R-"};
    return line.contains("\"S-") || line.contains("\"H-") ||
           std::ranges::any_of(beginnings, [&](auto start) { return rest.starts_with(start); });
  }

  // Skips lines of a terminal or another program. Error: most of the text consists of such lines.
  Result<void> take_stray(std::string_view line) {
    if (strays_.count >= max_first_strays && strays_.count >= lines_) {
      return refuse(1, "this is not a line of a record or a port");
    }
    strays_.add([&] {
      return fmt::format("{}: '{}' is skipped: it is not a line of a record or a port",
                         at_line(file_, line_), printable(line.substr(0, max_shown_of_stray)));
    });
    return {};
  }

  Result<void> take_record(Cursor cursor, std::string_view type) {
    const auto ports = cursor.number(10);
    if (!ports || *ports > max_ib_port) {
      return refuse(cursor.column(),
                    fmt::format("the number of ports is missing, or above {}", max_ib_port));
    }
    const std::size_t column = cursor.column();
    const auto index = TRY(take_node(cursor));
    Node& node = records_.nodes[index];
    if (node.is_switch() != (type == "Switch")) {
      return refuse(column, fmt::format("{} is not a name of a {}", node.id, type));
    }
    const std::string_view description = parse_comment(cursor.rest()).description;
    // -g prints the switches of a chassis twice.
    if (node.line > 0 && node.description != description) {
      return refuse(
          column, fmt::format("{} appears twice, first at {}", node.id, at_line(file_, node.line)),
          "remove one of the two");
    }
    if (!cursor.at_end()) return refuse(cursor.column(), "expected '#' and a description");
    if (node.line == 0) node.line = line_;
    node.description = description;
    current_ = index;
    ++lines_;
    return {};
  }

  // Reads "S-2c5eab0300b87b40" in quotation marks and returns the node with that name.
  Result<Index> take_node(Cursor& cursor) {
    const std::size_t column = cursor.column();
    const auto id = cursor.quoted();
    const bool shaped = id && id->size() >= 3 && (*id)[1] == '-' &&
                        std::string_view("SHR?").find((*id)[0]) != std::string_view::npos;
    std::uint64_t guid = 0;
    if (shaped) {
      const auto [end, error] = std::from_chars(id->begin() + 2, id->end(), guid, 16);
      if (error == std::errc{} && end == id->end()) return index_of(*id, guid);
    }
    return refuse(column, "expected the name of a node, as in \"S-2c5eab0300b87b40\"");
  }

  Index index_of(std::string_view id, std::uint64_t guid) {
    const auto [found, is_new] = index_.emplace(id, records_.nodes.size());
    const auto kind = id[0] == 'S'   ? Node::Kind::device
                      : id[0] == 'H' ? Node::Kind::adapter
                                     : Node::Kind::other;
    if (is_new) records_.nodes.push_back({kind, id, guid, {}, 0, line_});
    return found->second;
  }

  // Reads "[N]" and an optional "[ext N]" (-g prints it for a port on the chassis).
  Result<int> take_port_number(Cursor& cursor) {
    const std::size_t column = cursor.column();
    if (cursor.take("[")) {
      const auto number = cursor.number(10);
      if (number && *number <= max_ib_port && cursor.take("]")) {
        if (!cursor.take("[ext")) return static_cast<int>(*number);
        if (cursor.number(10) && cursor.take("]")) return static_cast<int>(*number);
      }
    }
    return refuse(column, fmt::format("expected a port, as in [1], up to {}", max_ib_port));
  }

  // Reads "(e09d7303007a4bd8)", which adapters' ports have; 0: there is none.
  Result<std::uint64_t> take_guid(Cursor& cursor) {
    const std::size_t column = cursor.column();
    if (!cursor.take("(")) return 0;
    const auto guid = cursor.number(16);
    if (guid && cursor.take(")")) return *guid;
    return refuse(column, "expected a GUID, as in (e09d7303007a4bd8)");
  }

  Result<void> take_port(Cursor cursor) {
    if (!current_) return refuse(1, "this port has no Switch, Ca or Rt line before it");
    const auto from = TRY(take_end(cursor, *current_));
    const auto peer = TRY(take_node(cursor));
    const auto to = TRY(take_end(cursor, peer));
    if (!cursor.at_end()) return refuse(cursor.column(), "expected '#' and a description");
    const Comment comment = parse_comment(cursor.rest());
    Node& node = records_.nodes[peer];
    if (node.line == 0 && node.description.empty()) node.description = comment.description;
    ++lines_;
    return connect(from, to, comment.speed);
  }

  Result<End> take_end(Cursor& cursor, Index node) {
    const auto port = TRY(take_port_number(cursor));
    const auto guid = TRY(take_guid(cursor));
    return End{node, port, guid};
  }

  Result<void> connect(End from, End to, std::string_view speed) {
    const auto [mine, is_new] = plugs_.emplace(from.key(), Plug{to, line_});
    if (!is_new && mine->second.to != to) return contradiction(from, to, from, mine->second);
    const auto [other, other_is_new] = plugs_.emplace(to.key(), Plug{from, line_});
    if (!other_is_new && other->second.to != from)
      return contradiction(from, to, to, other->second);
    if (is_new) records_.cables.push_back({from, to, std::string(speed)});
    return {};
  }

  struct Plug {
    End to;
    std::size_t line;
  };

  std::unexpected<Error> contradiction(End from, End to, End which, const Plug& earlier) const {
    const auto name = [&](End end) {
      return fmt::format("{}[{}]", records_.nodes[end.node].id, end.port);
    };
    return refuse(1,
                  fmt::format("the cable goes from {} to {}, but {} has {} at the other end of {}",
                              name(from), name(to), at_line(file_, earlier.line), name(earlier.to),
                              name(which)),
                  "run ibnetdiscover again");
  }

  const std::string& file_;
  std::size_t line_ = 1;
  std::size_t indent_ = 0;  // blanks before the line
  std::size_t lines_ = 0;   // of records and ports
  IbRecords records_;
  std::unordered_map<std::string_view, Index> index_;
  std::unordered_map<std::uint64_t, Plug> plugs_;  // the other end of each port's cable
  std::optional<Index> current_;                   // the node of the following ports
  Tally keys_, strays_;
};

// Whether the first line that belongs to a dump has the form of `ibnetdiscover -p`.
bool begins_as_ports_report(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    if (is_ports_report_line(line)) return true;
    if (looks_like_ibnetdiscover(line)) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace

Result<Fabric> parse_ibnetdiscover(std::string_view text, const std::string& file,
                                   std::span<const Member> members) {
  if (begins_as_ports_report(text)) {
    const auto records = TRY(parse_ports_report(text, file));
    return fabric_of_records(records, file, members);
  }
  DumpReader reader(file);
  TRY(reader.run(text));
  auto fabric = fabric_of_records(reader.records(), file, members);
  if (fabric) reader.warn(fabric->map);
  return fabric;
}

bool looks_like_ibnetdiscover(std::string_view line) {
  for (const std::string_view start : {"vendid=0x", "devid=0x", "sysimgguid=0x", "switchguid=0x",
                                       "caguid=0x", "rtguid=0x", "Chassis ", "Non-Chassis Nodes"}) {
    if (line.starts_with(start)) return true;
  }
  const bool record = begins_record(line).has_value() && !is_node_list(line);
  return record || is_ports_report_line(line);
}

bool is_node_list(std::string_view line) {
  for (const std::string_view type : {"Switch", "Ca", "Router", "Rt"}) {
    if (!line.starts_with(type)) continue;
    const std::string_view rest = trim(line.substr(type.size()));
    return rest.starts_with(':') && trim(rest.substr(1)).starts_with("0x");
  }
  return false;
}

}  // namespace toprun::topology
