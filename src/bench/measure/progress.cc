#include "bench/measure/progress.h"

#include <fmt/format.h>

#include "base/text/clock.h"

namespace toprun::measure {

constexpr std::chrono::seconds least_reported{1};

std::optional<std::string> ProgressLines::at(const Progress& progress, Time now) {
  if (now - last_ < interval || progress.done >= progress.total) return std::nullopt;
  const std::chrono::duration<double> since = now - last_;
  const double rest = progress.total - progress.done;
  const double newly = progress.done - done_;
  last_ = now;
  done_ = progress.done;
  if (newly <= 0) return progress.what;
  const std::chrono::duration<double> left = since * (rest / newly);
  if (left < least_reported) return progress.what;
  return fmt::format("{}, about {} left", progress.what,
                     duration_text(std::chrono::duration_cast<std::chrono::milliseconds>(left)));
}

}  // namespace toprun::measure
