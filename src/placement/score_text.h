#pragma once

#include <string>
#include <string_view>

#include "placement/score.h"

namespace toprun::placement {

// Two tables: crossings, a row per order and a column per level; costs, a row per collective and
// order. Empty where no level is known.
std::string score_text(const Score& score);

// {"schema": "toprun.topo_score/1", source, levels, nodes, bytes, links: [{level, gbps or null
// where it is no bottleneck, latency_us, assumed}], orders: [{name, crossings: {LEVEL: N}, cost:
// {COLLECTIVE: {seconds, ratio: to least, worst: {level, name, flows, bytes, seconds} or null}}}],
// minimum: {LEVEL: N}, least: {COLLECTIVE: seconds}, ring: as in topo_order, unplaced, warnings},
// and `more`, further members without the braces.
std::string score_json(const Score& score, std::string_view more = {});

}  // namespace toprun::placement
