#include "bench/tables/nccl_text.h"

#include <fmt/format.h>

#include "base/text/text.h"

namespace toprun::bench {
namespace {

constexpr int time_width = 7;
constexpr int bandwidth_width = 6;
constexpr int null_side_width = 32;  // what nccl-tests leaves for a placement it skipped

int digits_before_point(double value, int most) {
  int digits = 0;
  for (double power = 1; value >= power && digits < most; power *= 10) ++digits;
  return digits;
}

// As many decimals, at most two, as the column has room for.
std::string fitted(double value, int width) {
  const int digits = digits_before_point(value, width + 1);
  if (digits < width - 2) return fmt::format("{:{}.2f}", value, width);
  if (digits < width - 1) return fmt::format("{:{}.1f}", value, width);
  if (digits < width + 1) return fmt::format("{:{}.0f}", value, width);
  return fmt::format("{:{}.{}e}", value, width, width >= time_width ? 1 : 0);
}

std::string side_text(const Side& side) {
  const std::string figures =
      fmt::format("  {}  {}  {}", fitted(side.times.mean_us, time_width),
                  fitted(side.algbw, bandwidth_width), fitted(side.busbw, bandwidth_width));
  // N/A stands one column further left than a number would, as in nccl-tests.
  if (!side.wrong) return figures + "    N/A";
  return figures + fmt::format("  {:6g}", static_cast<double>(*side.wrong));
}

std::string name_text(const std::string& name) {
  return name.empty() ? std::string(no_name) : printable(name);
}

std::string device_text(const Device& device) {
  return fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} {}{}\n", device.rank,
                     device.pid, printable(device.host), device.device,
                     device.bus_id.empty() ? "" : fmt::format("[{}] ", printable(device.bus_id)),
                     printable(device.name));
}

std::string heading_line(std::string_view size, std::string_view count, std::string_view type,
                         std::string_view redop, std::string_view root) {
  return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", size, count, type, redop, root);
}

std::string heading() {
  constexpr auto side = "  {:>7}  {:>6}  {:>6}  {:>6}";
  const std::string names = fmt::format(side, "time", "algbw", "busbw", "#wrong");
  const std::string units = fmt::format(side, "(us)", "(GB/s)", "(GB/s)", "");
  std::string out = heading_line("", "", "", "", "");
  out += "           out-of-place                       in-place          \n";
  out += heading_line("size", "count", "type", "redop", "root") + names + names + " \n";
  out += heading_line("(B)", "(elements)", "", "", "") + units + units + " \n";
  return out;
}

template <class Visit>
void for_each_side(const Series& series, Visit visit) {
  for (const Row& row : series.rows) {
    if (row.out_of_place) visit(*row.out_of_place);
    if (row.in_place) visit(*row.in_place);
  }
}

}  // namespace

std::string nccl_header(const Report& report, const Series& series) {
  std::string out = "# " + printable(report.version);
  if (!report.library.empty()) out += ", " + printable(report.library);
  out += '\n';
  out += fmt::format("# Collective test starting: {}_perf\n#\n# Using devices\n",
                     facts_of(series.collective).name);
  for (const Device& device : report.devices) out += device_text(device);
  return out + "#\n" + heading();
}

std::string nccl_row(const Row& row) {
  std::string out = fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:6}", row.bytes, row.count,
                                name_text(row.type), name_text(row.redop), row.root);
  out += row.out_of_place ? side_text(*row.out_of_place) : std::string(null_side_width, ' ');
  if (row.in_place) out += side_text(*row.in_place);
  return out + "\n";
}

std::string nccl_footer(const Series& series) {
  const std::uint64_t wrong = wrong_elements(series);
  std::string out = fmt::format("# {:<20} : {} {}\n", "Out of bounds values", wrong,
                                wrong == 0 ? "OK" : "FAILED");
  // The blank at the end stands where nccl-tests says whether a minimum was reached.
  out += fmt::format("# {:<20} : {:g} \n#\n", "Avg bus bandwidth", average_busbw(series));
  return out +
         fmt::format("# Collective test concluded: {}_perf\n", facts_of(series.collective).name);
}

std::string nccl_text(const Report& report) {
  std::string out;
  for (const Series& series : report.series) {
    out += nccl_header(report, series);
    for (const Row& row : series.rows) out += nccl_row(row);
    out += nccl_footer(series);
  }
  return out;
}

double average_busbw(const Series& series) {
  double sum = 0;
  std::size_t count = 0;
  for_each_side(series, [&](const Side& side) {
    sum += side.busbw;
    ++count;
  });
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::uint64_t wrong_elements(const Series& series) {
  std::uint64_t sum = 0;
  for_each_side(series, [&](const Side& side) { sum += side.wrong.value_or(0); });
  return sum;
}

}  // namespace toprun::bench
