#include "topology/ibnetdiscover.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "topology/position.h"
#include "topology/rails.h"

namespace toprun::topology {
namespace {

using Index = std::size_t;

constexpr int max_port = 255;  // of a switch or adapter: one byte in InfiniBand
constexpr std::string_view form =
    "give the whole output of `ibnetdiscover`, without -l, -p or --diff";

constexpr std::array<std::string_view, 6> known_keys = {"vendid",     "devid",  "sysimgguid",
                                                        "switchguid", "caguid", "rtguid"};

// What is left of a line.
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

// The comment behind a record's or a port's line. Descriptions may contain any character, quotation
// marks too, but nothing behind them has any.
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

struct Node {
  std::string_view id;  // "S-2c5eab0300b87b40"
  std::uint64_t guid = 0;
  std::string_view description;
  std::size_t line = 0;          // of its record; 0: other records name it, it has none
  std::size_t mention_line = 0;  // where it is named first

  bool is_switch() const { return id[0] == 'S'; }
  bool is_adapter() const { return id[0] == 'H'; }
};

struct End {
  Index node = 0;
  int port = 0;

  bool operator==(const End&) const = default;
};

struct Cable {
  End from, to;
  std::string_view speed;
};

// The text as records.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Result<void> run(std::string_view text) {
    for (; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (auto taken = take(trim(text.substr(0, end)), text.data()); !taken) return taken;
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return {};
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Cable>& cables() const { return cables_; }
  std::size_t unknown_keys() const { return unknown_keys_; }
  const std::string& first_unknown_key() const { return first_unknown_key_; }

 private:
  std::unexpected<Error> refuse(std::size_t column, std::string why,
                                std::string fix = std::string(form)) const {
    return usage(at(file_, {line_, indent_ + column}), std::move(why), std::move(fix));
  }

  Result<void> take(std::string_view line, const char* start) {
    if (line.empty() || line[0] == '#') return {};
    indent_ = static_cast<std::size_t>(line.data() - start);
    Cursor cursor(line);
    if (line[0] == '[') return take_port(cursor);
    for (const std::string_view type : {"Switch", "Ca", "Rt", "???"}) {
      if (line.starts_with(type) && line.size() > type.size() &&
          (line[type.size()] == ' ' || line[type.size()] == '\t')) {
        cursor.take(type);
        return take_record(cursor, type);
      }
    }
    // Headings that -g puts between the records.
    for (const std::string_view heading : {"Chassis ", "Non-Chassis Nodes", "Hostname:"}) {
      if (line.starts_with(heading)) return {};
    }
    const std::size_t equals = line.find('=');
    const std::string_view key = line.substr(0, equals);
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    if (equals == std::string_view::npos || !std::ranges::all_of(key, is_letter)) {
      return refuse(1, "this is no line of a record or a port");
    }
    current_.reset();
    if (std::ranges::find(known_keys, key) == known_keys.end() && unknown_keys_++ == 0) {
      first_unknown_key_ = fmt::format("{}: unknown key {}", at_line(file_, line_), key);
    }
    return {};
  }

  Result<void> take_record(Cursor cursor, std::string_view type) {
    const auto ports = cursor.number(10);
    if (!ports || *ports > max_port) {
      return refuse(cursor.column(),
                    fmt::format("the number of ports is missing, or above {}", max_port));
    }
    const std::size_t column = cursor.column();
    const auto index = take_node(cursor);
    if (!index) return std::unexpected(index.error());
    Node& node = nodes_[*index];
    if (node.is_switch() != (type == "Switch")) {
      return refuse(column, fmt::format("{} is no name of a {}", node.id, type));
    }
    if (node.line > 0) {
      return refuse(column,
                    fmt::format("{} stands here for the second time, first at {}", node.id,
                                at_line(file_, node.line)),
                    "remove one of the two");
    }
    if (!cursor.at_end()) return refuse(cursor.column(), "'#' and a description are expected here");
    node.line = line_;
    node.description = parse_comment(cursor.rest()).description;
    current_ = *index;
    return {};
  }

  // "S-2c5eab0300b87b40" in quotation marks: the node of that name.
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
    return refuse(column, "the name of a node is expected here, as in \"S-2c5eab0300b87b40\"");
  }

  Index index_of(std::string_view id, std::uint64_t guid) {
    const auto [found, is_new] = index_.emplace(id, nodes_.size());
    if (is_new) nodes_.push_back({id, guid, {}, 0, line_});
    return found->second;
  }

  // "[N]", and "[ext N]" behind it if -g names the port on the chassis.
  Result<int> take_port_number(Cursor& cursor) {
    const std::size_t column = cursor.column();
    if (cursor.take("[")) {
      const auto number = cursor.number(10);
      if (number && *number <= max_port && cursor.take("]")) {
        if (!cursor.take("[ext")) return static_cast<int>(*number);
        if (cursor.number(10) && cursor.take("]")) return static_cast<int>(*number);
      }
    }
    return refuse(column, fmt::format("a port is expected here, as in [1], up to {}", max_port));
  }

  // "(e09d7303007a4bd8)", which adapters' ports have.
  Result<void> take_guid(Cursor& cursor) {
    const std::size_t column = cursor.column();
    if (!cursor.take("(")) return {};
    if (cursor.number(16) && cursor.take(")")) return {};
    return refuse(column, "a GUID is expected here, as in (e09d7303007a4bd8)");
  }

  Result<void> take_port(Cursor cursor) {
    if (!current_) return refuse(1, "a port, but no Switch, Ca or Rt line before it");
    const auto port = take_port_number(cursor);
    if (!port) return std::unexpected(port.error());
    if (auto taken = take_guid(cursor); !taken) return taken;
    const auto peer = take_node(cursor);
    if (!peer) return std::unexpected(peer.error());
    const auto peer_port = take_port_number(cursor);
    if (!peer_port) return std::unexpected(peer_port.error());
    if (auto taken = take_guid(cursor); !taken) return taken;
    if (!cursor.at_end()) return refuse(cursor.column(), "'#' and a description are expected here");
    const Comment comment = parse_comment(cursor.rest());
    Node& node = nodes_[*peer];
    if (node.line == 0 && node.description.empty()) node.description = comment.description;
    return connect({*current_, *port}, {*peer, *peer_port}, comment.speed);
  }

  Result<void> connect(End from, End to, std::string_view speed) {
    const auto [mine, is_new] = plugs_.emplace(key(from), Plug{to, line_});
    if (!is_new && mine->second.to != to) return contradiction(from, to, from, mine->second);
    const auto [other, other_is_new] = plugs_.emplace(key(to), Plug{from, line_});
    if (!other_is_new && other->second.to != from)
      return contradiction(from, to, to, other->second);
    if (is_new) cables_.push_back({from, to, speed});
    return {};
  }

  struct Plug {
    End to;
    std::size_t line;
  };

  std::unexpected<Error> contradiction(End from, End to, End which, const Plug& earlier) const {
    const auto name = [&](End end) { return fmt::format("{}[{}]", nodes_[end.node].id, end.port); };
    return refuse(
        1,
        fmt::format("a cable from {} to {}, but {} has {} at the other end of {}", name(from),
                    name(to), at_line(file_, earlier.line), name(earlier.to), name(which)),
        "run ibnetdiscover again");
  }

  static std::uint64_t key(End end) {
    return static_cast<std::uint64_t>(end.node) * (max_port + 1) +
           static_cast<std::uint64_t>(end.port);
  }

  const std::string& file_;
  std::size_t line_ = 1;
  std::size_t indent_ = 0;  // blanks before the line
  std::vector<Node> nodes_;
  std::unordered_map<std::string_view, Index> index_;
  std::vector<Cable> cables_;
  std::unordered_map<std::uint64_t, Plug> plugs_;  // what is at the other end
  std::optional<Index> current_;                   // whose ports follow
  std::size_t unknown_keys_ = 0;
  std::string first_unknown_key_;
};

// "MF0;leaf-04:MQM9701/U1" (system, model, chip) is "leaf-04"; other descriptions are taken whole.
std::string switch_name(std::string_view description) {
  const std::size_t semicolon = description.find(';');
  std::string_view name = description;
  if (semicolon != std::string_view::npos) {
    name = description.substr(semicolon + 1);
    name = name.substr(0, name.find(':'));
  }
  std::string text(trim(name));
  // Characters that a host list could not hold.
  for (char& c : text) {
    if (std::string_view(" \t,[]{}/").find(c) != std::string_view::npos) c = '-';
  }
  return text;
}

// The chip's place in a chassis of several: "/L01/U1" of "MF0;core:CS7500/L01/U1".
std::string_view chip_name(std::string_view description) {
  const std::size_t colon = description.rfind(':');
  if (colon == std::string_view::npos) return {};
  const std::size_t slash = description.find('/', colon);
  return slash == std::string_view::npos ? std::string_view() : description.substr(slash);
}

// Records as switches and hosts' ports.
class Dump {
 public:
  Dump(const Reader& reader, const std::string& file)
      : nodes_(reader.nodes()), cables_(reader.cables()), file_(file) {}

  Result<Fabric> run() {
    if (auto any = check_switches(); !any) return std::unexpected(any.error());
    name_switches();
    for (const Cable& cable : cables_) add(cable);
    if (ports_.empty()) {
      return usage(file_, "no adapter on any switch names its host",
                   unnamed_ == 0 ? "are the hosts' ports up?"
                                 : "give the hosts' adapters node descriptions: rdma-ndd does");
    }
    auto fabric = map_of_fabric(file_, switches_, ports_);
    if (!fabric) return fabric;
    tell_of_rails(*fabric);
    warn(fabric->map);
    return fabric;
  }

 private:
  Result<void> check_switches() const {
    if (std::ranges::any_of(nodes_, &Node::is_switch)) return {};
    if (nodes_.empty()) return usage(file_, "no Switch and no Ca stands in it", std::string(form));
    const Node& node = nodes_.front();
    return usage(at(file_, {node.mention_line, 1}),
                 fmt::format("no switch: {} \"{}\" is linked to {}", node.id, node.description,
                             cables_.empty() ? "nothing" : "no switch"),
                 "run ibnetdiscover on a node whose InfiniBand port is active, see ibstat");
  }

  void name_switches() {
    std::unordered_map<std::string, std::size_t> short_names, long_names;
    for (const Node& node : nodes_) {
      if (!node.is_switch()) continue;
      ++short_names[switch_name(node.description)];
      ++long_names[long_name(node)];
    }
    std::unordered_set<std::string> taken;
    for (const Node& node : nodes_) {
      switch_index_.push_back(switches_.size());
      if (!node.is_switch()) continue;
      std::string name = switch_name(node.description);
      bool unique = short_names[name] == 1;
      if (!unique) {
        name = long_name(node);
        unique = long_names[name] == 1;
      }
      // Switches without a manager all carry their maker's description.
      if (name.empty() || !unique || !taken.insert(name).second) name = node.id;
      switches_.push_back({std::move(name), {}});
    }
  }

  static std::string long_name(const Node& node) {
    std::string name = switch_name(node.description) + std::string(chip_name(node.description));
    std::ranges::replace(name, '/', '-');
    return name;
  }

  void add(const Cable& cable) {
    const Node& from = nodes_[cable.from.node];
    const Node& to = nodes_[cable.to.node];
    if (from.is_switch() && to.is_switch()) {
      FabricSwitch& end = switches_[switch_index_[cable.from.node]];
      end.peers.push_back(switch_index_[cable.to.node]);
      end.gbps.push_back(gbps_of(cable.speed).value_or(0));
    } else if (from.is_switch() && to.is_adapter()) {
      add_port(to, cable.to.port, cable.from.node, cable.speed);
    } else if (to.is_switch() && from.is_adapter()) {
      add_port(from, cable.from.port, cable.to.node, cable.speed);
    }
  }

  void add_port(const Node& adapter, int port, Index leaf, std::string_view speed) {
    const std::vector<std::string_view> names = words(adapter.description);
    // SHARP's adapter inside a switch.
    if (adapter.description.ends_with("Aggregation Node")) return;
    // A device's name ends in its number: mlx5_0, HCA-1, ibp24s0.
    const bool device = names.size() == 2 && names[1].back() >= '0' && names[1].back() <= '9';
    const std::string evidence =
        at_line(file_, adapter.line > 0 ? adapter.line : adapter.mention_line);
    if (names.size() != 1 && !device) {
      if (unnamed_++ == 0) {
        first_unnamed_ = fmt::format("{}: adapter {} says \"{}\", which names no host", evidence,
                                     adapter.id, adapter.description);
      }
      return;
    }
    const std::string_view hca = device ? names[1] : adapter.id;
    ports_.push_back({std::string(names[0]), std::string(hca), adapter.guid, port,
                      switch_index_[leaf], std::string(speed), evidence});
  }

  void warn(Map& map) const {
    if (unnamed_ > 0) {
      map.warnings.push_back(unnamed_ == 1
                                 ? first_unnamed_
                                 : fmt::format("{} ({} such ports)", first_unnamed_, unnamed_));
    }
    const auto open = [](const Node& node) { return node.line == 0; };
    const auto missing = std::ranges::count_if(nodes_, open);
    if (missing == 0) return;
    const Node& first = *std::ranges::find_if(nodes_, open);
    map.warnings.push_back(
        fmt::format("{}: {} has no record of its own, {} in all: is the dump whole?",
                    at_line(file_, first.mention_line), first.id, missing));
  }

  const std::vector<Node>& nodes_;
  const std::vector<Cable>& cables_;
  const std::string& file_;
  std::vector<FabricSwitch> switches_;
  std::vector<Index> switch_index_;  // by node; of no meaning for others
  std::vector<FabricPort> ports_;
  std::size_t unnamed_ = 0;
  std::string first_unnamed_;
};

}  // namespace

Result<Fabric> parse_ibnetdiscover(std::string_view text, const std::string& file) {
  Reader reader(file);
  if (auto read = reader.run(text); !read) return std::unexpected(read.error());
  auto fabric = Dump(reader, file).run();
  if (fabric && reader.unknown_keys() > 0) {
    fabric->map.warnings.push_back(
        reader.unknown_keys() == 1
            ? reader.first_unknown_key()
            : fmt::format("{} ({} such lines)", reader.first_unknown_key(), reader.unknown_keys()));
  }
  return fabric;
}

bool looks_like_ibnetdiscover(std::string_view line) {
  for (const std::string_view start : {"vendid=0x", "devid=0x", "sysimgguid=0x", "switchguid=0x",
                                       "caguid=0x", "rtguid=0x", "Switch\t", "Ca\t", "Rt\t",
                                       "Chassis "}) {
    if (line.starts_with(start)) return true;
  }
  return line.starts_with("Switch ") && line.find("\"S-") != std::string_view::npos;
}

}  // namespace toprun::topology
