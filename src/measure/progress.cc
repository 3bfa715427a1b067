#include "measure/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

namespace toprun::measure {

std::optional<std::string> ProgressLines::at(const Progress& progress, Time now) {
  if (now - last_ < interval) return std::nullopt;
  const std::chrono::duration<double> since = now - last_;
  const double rest = std::max(progress.total - progress.done, 0.0);
  const double newly = progress.done - done_;
  last_ = now;
  done_ = progress.done;
  if (newly <= 0) return progress.what;
  const std::chrono::duration<double> left = since * (rest / newly);
  return fmt::format("{}, about {} left", progress.what,
                     duration_text(std::chrono::duration_cast<std::chrono::milliseconds>(left)));
}

}  // namespace toprun::measure
