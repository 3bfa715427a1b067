#pragma once

#include <span>
#include <string_view>

namespace toprun {

// toprun's version, as in "0.1.0", from the build file.
extern const std::string_view version;

// Something that agents of this version do for a job, but that agents of an earlier version cannot
// do. Agents of both versions may still run one job together.
struct Feature {
  std::string_view name;     // on the wire
  std::string_view lacking;  // completes "n3 cannot …"
};
inline constexpr std::size_t most_features = 64;
// All features that were added since the first version.
extern const std::span<const Feature> features;

// Whether agents of these versions may run one job. MAJOR must be the same, and MINOR may differ by
// at most one. Versions that are not MAJOR.MINOR.PATCH must be equal.
bool work_together(std::string_view one, std::string_view other);

}  // namespace toprun
