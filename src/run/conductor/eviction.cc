#include "run/conductor/eviction.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text/text.h"

namespace toprun::run {
namespace {

constexpr std::array<std::string_view, 5> faults = {
    "uncorrectable ECC error encountered",
    "uncorrectable NVLink error detected during the execution",
    "system not yet initialized",
    "GPU has fallen off the bus",
    "GPU is lost",
};

std::optional<std::string> fault_in(std::string_view text) {
  const auto fault = std::ranges::find_if(
      faults, [text](std::string_view words) { return text.find(words) != text.npos; });
  return fault == faults.end() ? std::nullopt : std::optional(std::string(*fault));
}

// How libraries report an error of the driver: PyTorch's "CUDA error: …" and "Unexpected error from
// cudaGetDeviceCount()", NCCL's "Cuda failure …".
std::optional<std::string> fault_reported_in(std::string_view line) {
  constexpr std::array<std::string_view, 5> signs = {"CUDA error", "cudaGetDeviceCount",
                                                     "Cuda failure", "HIP error", "NVML"};
  const bool is_of_the_driver = std::ranges::any_of(
      signs, [line](std::string_view sign) { return line.find(sign) != line.npos; });
  return is_of_the_driver ? fault_in(line) : std::nullopt;
}

}  // namespace

std::optional<std::string> machine_fault(const model::WorkerExit& exit) {
  if (exit.ours || !exit.failed()) return std::nullopt;
  const std::string& raised = exit.error_file ? exit.error_file->message : exit.exception;
  if (!raised.empty()) return fault_reported_in(first_line(raised));
  for (const std::string& line : exit.last_output) {
    if (auto fault = fault_reported_in(line)) return fault;
  }
  return std::nullopt;
}

}  // namespace toprun::run
