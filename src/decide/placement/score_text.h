#pragma once

#include <string>
#include <string_view>

#include "decide/placement/score.h"

namespace toprun::placement {

// Two tables. The first shows the crossings: a row per order, a column per level. The second shows
// the costs: a row per collective and order. Empty if all levels are unknown.
std::string score_text(const Score& score);

// {"schema": "toprun.topo_score/1", source, levels, nodes, bytes, links: [{level, gbps or null if
// it is not a bottleneck, latency_us, assumed}], orders: [{name, crossings: {LEVEL: N}, cost:
// {COLLECTIVE: {seconds, ratio: to least, worst: {level, name, flows, bytes, seconds} or null}}}],
// minimum: {LEVEL: N}, least: {COLLECTIVE: seconds}, ring: as in topo_order, unplaced, warnings}.
// `more`: further members to append, without the braces.
std::string score_json(const Score& score, std::string_view more = {});

}  // namespace toprun::placement
