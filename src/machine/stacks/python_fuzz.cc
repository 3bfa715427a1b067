#include <cstdint>
#include <cstdlib>

#include "machine/stacks/memory.h"
#include "machine/stacks/python.h"
#include "machine/stacks/stacks_testing.h"

// A process whose memory is the input, of a version that its first byte chooses: runtime, threads
// and library begin at its start.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::stacks;
  constexpr Address start = 0x10000;
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  FakeMemory memory({bytes.begin(), bytes.end()}, start);
  exported(memory, start, "_PyRuntime");

  const auto layout = data[0] % 6 == 0 ? described_layout(bytes) : fixed_layout(7 + data[0] % 6);
  if (!layout) return 0;
  Python python(*layout, start);
  auto threads = python.threads(memory);
  if (threads.size() > most_python_threads) std::abort();
  const int ids[] = {1, 2, 3};
  if (native_ids(memory, threads, ids).size() != threads.size()) std::abort();
  if (threads.size() > 4) threads.resize(4);
  for (const PythonThread& thread : threads) {
    const auto stack = python.stack(memory, thread);
    if (stack && stack->size() > most_frames) std::abort();
    if (stack && !stack->empty() && stack->front().line < 0) std::abort();
  }
  return 0;
}
