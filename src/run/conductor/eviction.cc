#include "run/conductor/eviction.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace toprun::run {
namespace {

constexpr std::array<std::string_view, 6> faults = {
    "uncorrectable ECC error encountered",
    "uncorrectable NVLink error detected during the execution",
    "system not yet initialized",
    "system has unsupported display driver / cuda driver combination",
    "GPU has fallen off the bus",
    "GPU is lost",
};

std::optional<std::string> fault_in(std::string_view text) {
  const auto fault = std::ranges::find_if(
      faults, [text](std::string_view words) { return text.find(words) != text.npos; });
  return fault == faults.end() ? std::nullopt : std::optional(std::string(*fault));
}

// How a library reports an error of the driver where no exception of Python's tells of it:
// PyTorch's "CUDA error: …" in a C++ exception, NCCL's "Cuda failure …".
bool reports_a_driver_error(std::string_view line) {
  constexpr std::array<std::string_view, 4> signs = {"CUDA error", "Cuda failure", "HIP error",
                                                     "NVML"};
  return std::ranges::any_of(
      signs, [line](std::string_view sign) { return line.find(sign) != line.npos; });
}

}  // namespace

std::optional<std::string> machine_fault(const model::WorkerExit& exit) {
  if (exit.ours || !exit.failed()) return std::nullopt;
  const std::string& raised = exit.error_file ? exit.error_file->message : exit.exception;
  if (!raised.empty()) return fault_in(raised);
  for (const std::string& line : exit.last_output) {
    if (!reports_a_driver_error(line)) continue;
    if (auto fault = fault_in(line)) return fault;
  }
  return std::nullopt;
}

std::string machine_of(const model::Join& join) {
  return join.kube && !join.kube->name.empty() ? join.kube->name : join.host;
}

}  // namespace toprun::run
