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

// The range of an axis, ascending, widened to whole ticks; on a logarithmic scale values are > 0.
struct Range {
  double low = 0;
  double high = 1;
  std::vector<Tick> ticks;  // ascending, low and high among them
};

// Covers least … most with about `requested` ticks (2 or more), whose steps are 1, 2 or 5 times a
// power of ten, or whole powers of the base. Of few powers of ten, multiples of them have ticks
// too, so that four or more can be read off. A linear range that is near 0 starts there. Labels
// of the unit "B" are in KiB, MiB …; the others are plain figures.
Range range_of(double least, double most, Scale scale, std::string_view unit,
               std::size_t requested);

// Where a value lies in the range: 0 at its low end, 1 at its high end.
double position(double value, const Range& range, Scale scale);

// "1.5 GiB", "0.25", "120000": four digits that count; bytes in their largest unit.
std::string figure(double value, std::string_view unit);

}  // namespace toprun::chart
