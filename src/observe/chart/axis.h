#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::chart {

enum class Scale { linear, log2, log10 };

struct Tick {
  double value = 0;
  std::string label;
};

// The range of values on an axis, from low to high. The range begins and ends at a tick. On a
// logarithmic scale, values are > 0.
struct Range {
  double low = 0;
  double high = 1;
  std::vector<Tick> ticks;  // ascending, including low and high
};

// Returns the range from `least` to `most`, with about `requested` ticks (2 or more). Linear ticks
// are 1, 2 or 5 times a power of ten apart; logarithmic ticks are powers of the base. A log10 range
// with few powers of ten has multiples of them as ticks too, so that an axis has at least four
// ticks. A linear range that starts near 0 is extended to 0. Labels are as in figure().
Range range_of(double least, double most, Scale scale, std::string_view unit,
               std::size_t requested);

// Returns the position of a value in the range: 0 at its low end, 1 at its high end.
double position(double value, const Range& range, Scale scale);

// Returns a value as text: "120000"; bytes as in bytes_text(). Fractions have 4 significant digits.
std::string figure(double value, std::string_view unit);

}  // namespace toprun::chart
