#include "decide/topology/infiniband/ib_ports_report.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/text/text.h"
#include "decide/topology/position.h"

namespace toprun::topology {
namespace {

// One end of a line.
struct ReportedPort {
  IbNode::Kind kind = IbNode::Kind::other;
  int number = 0;
  std::string_view guid_text;
  std::uint64_t guid = 0;
};

std::optional<IbNode::Kind> kind_of(std::string_view type) {
  if (type == "SW") return IbNode::Kind::device;
  if (type == "CA") return IbNode::Kind::adapter;
  if (type == "RT" || type == "??") return IbNode::Kind::other;
  return std::nullopt;
}

// "SW", "73", "1", "0x2c5eab0300b87b40".
std::optional<ReportedPort> port_in(const std::vector<std::string_view>& columns,
                                    std::size_t first) {
  if (columns.size() < first + 4) return std::nullopt;
  const auto kind = kind_of(columns[first]);
  const auto lid = parse_int(columns[first + 1]);
  const auto number = parse_int(columns[first + 2]);
  std::string_view digits = columns[first + 3];
  if (!kind || !lid || !number || *number < 0 || *number > max_ib_port ||
      !digits.starts_with("0x")) {
    return std::nullopt;
  }
  ReportedPort port{*kind, static_cast<int>(*number), digits, 0};
  digits.remove_prefix(2);
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), port.guid, 16);
  if (error != std::errc{} || end != digits.end()) return std::nullopt;
  return port;
}

// Splits "'MF0;leaf' - 'n0 mlx5_5'" into two descriptions.
struct Descriptions {
  std::string_view own, others;
};

std::optional<Descriptions> descriptions_in(std::string_view line) {
  const std::size_t open = line.find("( '");
  const std::size_t close = line.rfind("' )");
  if (open == line.npos || close == line.npos || close < open + 3) return std::nullopt;
  const std::string_view both = line.substr(open + 3, close - open - 3);
  const std::size_t middle = both.find("' - '");
  if (middle == both.npos) return std::nullopt;
  return Descriptions{both.substr(0, middle), both.substr(middle + 5)};
}

class PortsReportReader {
 public:
  explicit PortsReportReader(const std::string& file) : file_(file) {}

  Result<IbRecords> run(std::string_view text) {
    for (; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      TRY(take(trim(text.substr(0, end))));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(records_);
  }

 private:
  Result<void> take(std::string_view line) {
    const std::vector<std::string_view> columns = words(line.substr(0, line.find('\'')));
    const auto own = port_in(columns, 0);
    if (!own) return {};
    const bool open = std::ranges::find(columns, "-") == columns.end();
    if (open) return {};
    constexpr std::size_t other_end = 7;  // type LID port GUID width speed -
    const auto other = columns.size() > other_end && columns[other_end - 1] == "-"
                           ? port_in(columns, other_end)
                           : std::nullopt;
    const auto descriptions = descriptions_in(line);
    if (!other || !descriptions) {
      return usage(at(file_, {line_, 1}),
                   "this line does not describe a port and the port at the other end of its cable",
                   "give the whole output of `ibnetdiscover -p`");
    }
    const IbEnd from = end_of(*own, descriptions->own);
    const IbEnd to = end_of(*other, descriptions->others);
    if (!seen_.insert(from.key()).second)
      return {};  // the other end's line named this cable before
    seen_.insert(to.key());
    records_.cables.push_back({from, to, std::string(columns[4]) + std::string(columns[5])});
    return {};
  }

  IbEnd end_of(const ReportedPort& port, std::string_view description) {
    const auto [found, is_new] = index_.emplace(port.guid, records_.nodes.size());
    if (is_new) {
      records_.nodes.push_back({port.kind, port.guid_text, 0, description, line_, line_});
    }
    return {found->second, port.number,
            port.kind == IbNode::Kind::adapter ? port.guid : std::uint64_t{0}};
  }

  const std::string& file_;
  std::size_t line_ = 1;
  IbRecords records_;
  std::unordered_map<std::uint64_t, std::size_t> index_;  // of nodes, by GUID
  std::unordered_set<std::uint64_t> seen_;                // ends of cables
};

}  // namespace

Result<IbRecords> parse_ports_report(std::string_view text, const std::string& file) {
  return PortsReportReader(file).run(text);
}

bool is_ports_report_line(std::string_view line) {
  return port_in(words(line.substr(0, line.find('\''))), 0).has_value();
}

}  // namespace toprun::topology
