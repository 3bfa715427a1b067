// A libcuda.so.1 without a GPU: its memory is the host's, its streams do their work at once.
// As the real one it opens /dev/nvidiactl, where there is one. FAKE_CUDA_GPUS (2) and
// FAKE_CUDA_MEMORY (bytes, 4 GiB) say what it pretends to be.

#include <fcntl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;

struct Event {
  Clock::time_point time;
};

std::size_t number(const char* variable, std::size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::size_t all_bytes() {
  return number("FAKE_CUDA_MEMORY", std::size_t{4} << 30);
}

}  // namespace

extern "C" {

int cuInit(unsigned /*flags*/) {
  static const int control = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
  static_cast<void>(control);
  return std::getenv("FAKE_CUDA_BROKEN") == nullptr ? success : 999;
}
int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(number("FAKE_CUDA_GPUS", 2));
  return success;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return success;
}
int cuDeviceGetName(char* name, int length, int /*device*/) {
  std::snprintf(name, static_cast<std::size_t>(length), "Pretended GPU");
  return success;
}
int cuDeviceGetPCIBusId(char* name, int length, int device) {
  std::snprintf(name, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 16);
  return success;
}
int cuDevicePrimaryCtxRetain(void** context, int /*device*/) {
  static int any;
  *context = &any;
  return success;
}
int cuCtxSetCurrent(void* context) {
  return context != nullptr ? success : invalid_value;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* all) {
  *free = *all = all_bytes();
  return success;
}
int cuMemAlloc_v2(void** start, std::size_t bytes) {
  if (bytes > all_bytes()) return out_of_memory;
  *start = std::calloc(bytes, 1);
  return *start != nullptr ? success : out_of_memory;
}
int cuMemFree_v2(void* start) {
  std::free(start);
  return success;
}
int cuMemcpyHtoD_v2(void* target, const void* source, std::size_t bytes) {
  std::memcpy(target, source, bytes);
  return success;
}
int cuMemcpyDtoH_v2(void* target, void* source, std::size_t bytes) {
  std::memcpy(target, source, bytes);
  return success;
}
int cuStreamCreate(void** stream, unsigned /*flags*/) {
  *stream = new int;
  return success;
}
int cuStreamDestroy_v2(void* stream) {
  delete static_cast<int*>(stream);
  return success;
}
int cuEventCreate(void** event, unsigned /*flags*/) {
  *event = new Event;
  return success;
}
int cuEventDestroy_v2(void* event) {
  delete static_cast<Event*>(event);
  return success;
}
int cuEventRecord(void* event, void* /*stream*/) {
  static_cast<Event*>(event)->time = Clock::now();
  return success;
}
// With FAKE_CUDA_HANGS nothing is ever done.
int cuEventQuery(void* /*event*/) {
  return std::getenv("FAKE_CUDA_HANGS") == nullptr ? success : 600;
}
int cuEventElapsedTime(float* milliseconds, void* first, void* second) {
  *milliseconds = std::chrono::duration<float, std::milli>(static_cast<Event*>(second)->time -
                                                           static_cast<Event*>(first)->time)
                      .count();
  return success;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == out_of_memory ? "out of memory" : "unknown error";
  return success;
}

}  // extern "C"
