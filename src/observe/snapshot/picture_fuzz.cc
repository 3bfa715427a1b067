#include <cstdint>

#include <nlohmann/json.hpp>

#include "observe/snapshot/picture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto object = nlohmann::json::parse(data, data + size, nullptr, false);
  (void)toprun::snapshot::picture_in(object);
  return 0;
}
