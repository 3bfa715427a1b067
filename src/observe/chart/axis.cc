#include "observe/chart/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/text/text.h"

namespace toprun::chart {
namespace {

// A range whose low end is below this share of its high end starts at 0.
constexpr double near_zero = 0.5;
constexpr int most_powers = 1100;  // of two, that a double spans, and some

double step_of(double span, std::size_t requested) {
  const double rough = span / static_cast<double>(requested);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power * 1.0001) return factor * power;
  }
  return 10 * power;
}

// Bytes step in powers of two.
double byte_step_of(double span, std::size_t requested) {
  return std::exp2(std::ceil(std::log2(span / static_cast<double>(requested))));
}

Range linear(double least, double most, std::string_view unit, std::size_t requested) {
  if (least > 0 && least < most * near_zero) least = 0;
  if (least == most) {
    const double room = most == 0 ? 1 : std::abs(most) / 2;
    least = least > 0 ? 0 : least - room;
    most += room;
  }
  const double step =
      unit == "B" ? byte_step_of(most - least, requested) : step_of(most - least, requested);
  const double first = std::floor(least / step + 1e-9);
  const double last = std::ceil(most / step - 1e-9);
  Range out{first * step, last * step, {}};
  for (double i = first; i <= last; ++i) out.ticks.push_back({i * step, figure(i * step, unit)});
  return out;
}

Range whole_powers(double least, double most, double base, std::string_view unit,
                   std::size_t requested) {
  const auto power_of = [&](double value) { return std::log2(value) / std::log2(base); };
  int first = static_cast<int>(std::floor(power_of(least) + 1e-9));
  int last = static_cast<int>(std::ceil(power_of(most) - 1e-9));
  if (first == last) --first, ++last;  // it stands in the middle
  last = std::clamp(last, first + 1, first + most_powers);
  const int step =
      std::max(1, static_cast<int>(std::ceil((last - first) / static_cast<double>(requested))));
  last = first + (last - first + step - 1) / step * step;
  Range out{std::pow(base, first), std::pow(base, last), {}};
  for (int power = first; power <= last; power += step) {
    const double value = std::pow(base, power);
    out.ticks.push_back({value, figure(value, unit)});
  }
  return out;
}

// Multiples of powers of ten, from coarse to fine.
constexpr std::array within_one = {1.0};
constexpr std::array within_three = {1.0, 2.0, 5.0};
constexpr std::array within_many = {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0};
constexpr std::array<std::span<const double>, 3> multiples = {within_one, within_three,
                                                              within_many};
constexpr std::size_t fewest_ticks = 4;

// The multiples around least … most, ends included.
std::vector<double> around(double least, double most, std::span<const double> within) {
  std::vector<double> below;
  std::vector<double> out;
  const double first = std::pow(10, std::floor(std::log10(least)));
  for (double power = first; out.empty() || out.back() < most * (1 - 1e-9); power *= 10) {
    for (const double factor : within) {
      const double value = factor * power;
      if (value <= least * (1 + 1e-9)) out.clear();
      if (!out.empty() && out.back() >= most * (1 - 1e-9)) break;
      out.push_back(value);
    }
  }
  return out;
}

// Labels at several places also where the range has but one power of ten, or a part of one.
Range decimal(double least, double most, std::string_view unit, std::size_t requested) {
  if (least == most) {
    least /= 2;
    most *= 2;
  }
  for (const std::span<const double> within : multiples) {
    const std::vector<double> values = around(least, most, within);
    if (values.size() < fewest_ticks) continue;
    if (values.size() > 2 * requested) break;
    Range out{values.front(), values.back(), {}};
    for (const double value : values) out.ticks.push_back({value, figure(value, unit)});
    return out;
  }
  if (most / least >= 10) return whole_powers(least, most, 10, unit, requested);
  return linear(least, most, unit, requested);
}

}  // namespace

Range range_of(double least, double most, Scale scale, std::string_view unit,
               std::size_t requested) {
  if (scale == Scale::linear) return linear(least, most, unit, requested);
  if (scale == Scale::log2) return whole_powers(least, most, 2, unit, requested);
  return decimal(least, most, unit, requested);
}

double position(double value, const Range& range, Scale scale) {
  if (scale == Scale::linear) return (value - range.low) / (range.high - range.low);
  return std::log(value / range.low) / std::log(range.high / range.low);
}

std::string figure(double value, std::string_view unit) {
  if (unit == "B") return bytes_text(value);
  const bool plain = value == 0 || (std::abs(value) >= 1e-4 && std::abs(value) < 1e6);
  if (plain && value == std::round(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

}  // namespace toprun::chart
