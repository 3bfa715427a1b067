#include "decide/topology/torus.h"

#include <limits>

namespace toprun::topology {
namespace {

constexpr std::size_t axes = 3;
constexpr std::size_t bits = std::numeric_limits<std::uint16_t>::digits;  // of a coordinate

// The coordinate, counted from the far end if the direction is backwards.
std::size_t along(std::uint16_t at, bool backwards) {
  return backwards ? std::numeric_limits<std::uint16_t>::max() - at : at;
}

// A row's direction is opposite to that of the row before it, which is in the same plane or in the
// plane before.
std::size_t seat_of(const Coordinates& at) {
  const auto [x, y, z] = at;
  const bool plane_back = z % 2 != 0;
  const bool row_back = (z + y) % 2 != 0;
  const std::size_t plane = static_cast<std::size_t>(z) << (2 * bits);
  return 1 + (plane | (along(y, plane_back) << bits) | along(x, row_back));
}

std::string size_text(const Coordinates& dims) {
  return fmt::format("{}x{}x{}", dims[0], dims[1], dims[2]);
}

std::size_t places_in(const Coordinates& dims) {
  return std::size_t{dims[0]} * dims[1] * dims[2];
}

Result<void> check(const Torus& torus, const TorusRegion& region) {
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (region.anchor[axis] + region.dims[axis] <= torus.dims[axis]) continue;
    return usage(region.where,
                 fmt::format("a region of size {} at {} does not fit into torus {} of size {}",
                             size_text(region.dims), size_text(region.anchor), torus.name,
                             size_text(torus.dims)),
                 "see man topology.yaml");
  }
  if (region.nodes.size() == places_in(region.dims)) return {};
  return usage(region.where,
               fmt::format("the region has {} nodes, but its size {} has {} positions",
                           region.nodes.size(), size_text(region.dims), places_in(region.dims)),
               "list one node for each position");
}

}  // namespace

Path torus_path(std::string_view torus, const Coordinates& at) {
  Path path({Domain(torus), Domain(fmt::format("z{}", at[2])), Domain(fmt::format("y{}", at[1]))});
  path.set_seat(seat_of(at));
  return path;
}

std::vector<std::string> torus_level_names() {
  return {"torus", "plane", "row"};
}

Result<Map> map_of_toruses(std::string source, const std::vector<Torus>& toruses) {
  MapBuilder builder(std::move(source));
  for (const Torus& torus : toruses) {
    for (const TorusRegion& region : torus.regions) {
      TRY(check(torus, region));
      const std::size_t width = region.dims[0];
      const std::size_t height = region.dims[1];
      for (std::size_t i = 0; i < region.nodes.size(); ++i) {
        const Coordinates at = {
            static_cast<std::uint16_t>(region.anchor[0] + i % width),
            static_cast<std::uint16_t>(region.anchor[1] + i / width % height),
            static_cast<std::uint16_t>(region.anchor[2] + i / (width * height))};
        TRY(builder.add(region.nodes[i], {torus_path(torus.name, at), region.evidence, {}},
                        region.where));
      }
    }
  }
  return builder.finish(torus_level_names());
}

Result<Map> map_of_rings(std::string source, const std::vector<Ring>& rings) {
  MapBuilder builder(std::move(source));
  for (const Ring& ring : rings) {
    for (std::size_t i = 0; i < ring.nodes.size(); ++i) {
      Path path({Domain(ring.name)});
      path.set_seat(i + 1);
      TRY(builder.add(ring.nodes[i], {std::move(path), ring.evidence, {}}, ring.where));
    }
  }
  return builder.finish({"ring"});
}

}  // namespace toprun::topology
