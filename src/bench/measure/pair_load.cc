#include "bench/measure/pair_load.h"

#include <algorithm>

namespace toprun::measure {
namespace {

constexpr std::uint64_t least_probe = 64u << 10;
constexpr std::uint64_t growth = 4;
constexpr double telling_us = 20'000;
constexpr double most_us = 1'000'000;              // of a measurement
constexpr std::uint64_t least_bytes = 16u << 10;   // of a slow pair's transfer
constexpr std::uint64_t most_that_last = 100'000;  // of tiny transfers

}  // namespace

PairLoad first_load(const PairTerms& terms) {
  return {std::min(least_probe, terms.bytes), 0};
}

PairLoad next_load(const PairTerms& terms, const PairLoad& probe, double took_us,
                   std::chrono::milliseconds lasts) {
  if (took_us < telling_us && probe.bytes < terms.bytes) {
    return {std::min(probe.bytes * growth, terms.bytes), 0};
  }
  const double byte_us = std::max(took_us, 1.0) / static_cast<double>(probe.bytes);
  const double one_us = byte_us * static_cast<double>(terms.bytes);
  const auto transfers = static_cast<double>(terms.transfers);
  if (transfers * one_us <= most_us) {
    const double lasts_us = std::chrono::duration<double, std::micro>(lasts).count();
    const auto enough = static_cast<std::uint64_t>(lasts_us / one_us);
    return {terms.bytes,
            std::max<std::uint64_t>(terms.transfers, std::min(enough, most_that_last))};
  }
  const auto all = static_cast<std::uint64_t>(most_us / byte_us);
  const std::uint64_t bytes = std::min(std::max(all / terms.transfers, least_bytes), terms.bytes);
  return {bytes, std::clamp<std::uint64_t>(all / bytes, 1, terms.transfers)};
}

}  // namespace toprun::measure
