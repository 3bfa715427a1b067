#include "observe/picture/pack.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace toprun::picture {
namespace {

constexpr std::size_t most_tries = 64;
// weight of unused area: two empty tenths count as much as a third too wide
constexpr double waste_weight = 1.5;

Packing in_rows(const std::vector<Size>& boxes, Spacing spacing, double row_width) {
  Packing packing;
  double x = 0;
  double row_height = 0;
  double y = spacing.above;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const bool first = packing.rows.empty();
    if (first || x + boxes[i].width > row_width) {
      if (!first) y += row_height + spacing.above;
      packing.rows.push_back({y, i, 0});
      x = 0;
      row_height = 0;
    }
    packing.x.push_back(x);
    ++packing.rows.back().count;
    packing.size.width = std::max(packing.size.width, x + boxes[i].width);
    x += boxes[i].width + spacing.beside;
    row_height = std::max(row_height, boxes[i].height);
  }
  packing.size.height = boxes.empty() ? 0 : y + row_height;
  return packing;
}

// The possible row lengths if a row contains the first boxes.
std::vector<double> row_widths(const std::vector<Size>& boxes, double beside, double most_width) {
  std::set<double> widths;
  double width = -beside;
  for (const Size& box : boxes) {
    width += box.width + beside;
    if (width > most_width && !widths.empty()) break;
    widths.insert(width);
  }
  std::vector<double> some;
  const std::size_t step = std::max<std::size_t>(1, widths.size() / most_tries);
  std::size_t i = 0;
  for (const double each : widths) {
    if (i++ % step == 0 || i == widths.size()) some.push_back(each);
  }
  return some;
}

}  // namespace

double penalty(Size size, double used_area, double shape) {
  if (size.width == 0 || size.height == 0) return 0;
  return std::abs(std::log(size.width / size.height / shape)) +
         waste_weight * std::max(0.0, 1 - used_area / (size.width * size.height));
}

Packing pack(const std::vector<Size>& boxes, Spacing spacing, double shape, double most_width) {
  double used = 0;
  for (const Size& box : boxes) {
    used += (box.width + spacing.beside) * (box.height + spacing.above);
  }
  std::optional<Packing> best;
  double least = 0;
  for (const double width : row_widths(boxes, spacing.beside, most_width)) {
    Packing packing = in_rows(boxes, spacing, width);
    const Size size{packing.size.width + spacing.beside, packing.size.height + spacing.above};
    const double bad = penalty(size, used, shape);
    if (best && bad >= least) continue;
    best = std::move(packing);
    least = bad;
  }
  return best.value_or(Packing{});
}

}  // namespace toprun::picture
