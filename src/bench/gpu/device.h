#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::gpu {

// A shared library opened at run time. The library stays open until the process ends, because
// NCCL's threads run code in it.
class Library {
 public:
  // Opens the file in the first of `folders` that contains it. If no folder contains the file, the
  // dynamic linker searches its usual folders. Error: not found (with the searched folders), or the
  // linker's message.
  static Result<Library> open(std::string_view file, const std::vector<std::string>& folders);

  const std::string& path() const { return path_; }

  // Sets a function pointer. Error: the library has no such function.
  template <class Function>
  Result<void> load(Function*& function, const char* name) const {
    void* const found = find(name);
    if (found == nullptr) return missing(name);
    function = reinterpret_cast<Function*>(found);
    return {};
  }
  // Sets a function pointer; null if the library lacks the function.
  template <class Function>
  void load_if_there(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(find(name));
  }

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* find(const char* name) const;
  std::unexpected<Error> missing(const char* name) const;

  void* handle_;
  std::string path_;
};

// Returns the folders that may contain a library from a Python package: those in LD_LIBRARY_PATH,
// then the folder `below` in the site-packages of the active environment (VIRTUAL_ENV,
// CONDA_PREFIX) and of the python3 in PATH.
std::vector<std::string> folders_of(const Environment& environment, std::string_view below);

enum class Vendor { nvidia, amd };

// The functions of the GPU driver that toprun calls. They are functions of CUDA's driver API, or
// HIP's functions with the same arguments.
struct Driver;

// One GPU.
class Device {
 public:
  // Opens this process's GPU. The GPU's number is `local_rank`, or 0 if the process sees only one
  // GPU.
  static Result<std::shared_ptr<Device>> open(Vendor vendor, std::size_t local_rank,
                                              const Environment& environment);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }      // "NVIDIA H100 80GB HBM3"
  const std::string& bus_id() const { return bus_id_; }  // "0000:1b:00.0"
  int number() const { return number_; }
  Result<std::uint64_t> free_bytes() const;
  // Prepares the calling thread to use the device. Every thread except the one that opened the
  // device has to call use_here() before the device's other functions.
  Result<void> use_here() const;

 private:
  friend class DeviceMemory;
  friend class Stream;
  Device() = default;
  Result<void> check(int code, std::string_view what) const;

  std::unique_ptr<const Driver> driver_;
  std::string name_;
  std::string bus_id_;
  int number_ = 0;
  void* context_ = nullptr;  // only for CUDA
};

// Memory of a GPU.
class DeviceMemory {
 public:
  static Result<DeviceMemory> of(const std::shared_ptr<Device>& device, std::size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory();

  std::byte* get() const { return start_; }
  // write() and read() copy bytes to and from the beginning of the memory. write() and read()
  // return when all bytes have arrived.
  Result<void> write(std::span<const std::byte> bytes) const;
  Result<void> read(std::span<std::byte> bytes) const;

 private:
  DeviceMemory(std::shared_ptr<Device> device, std::byte* start)
      : device_(std::move(device)), start_(start) {}
  std::shared_ptr<Device> device_;
  std::byte* start_;
};

// A queue of work that the GPU runs in order. The time between two marks in the stream can be
// measured.
class Stream {
 public:
  static Result<Stream> of(const std::shared_ptr<Device>& device);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&&) = delete;
  ~Stream();

  void* get() const { return stream_; }
  // Adds the mark `index` (0, 1 …) at the end of the queue. If the stream already has this mark,
  // its earlier time is lost.
  Result<void> mark(std::size_t index);
  // Whether all work before the mark has finished.
  Result<bool> reached(std::size_t index) const;
  Result<double> microseconds_between(std::size_t first, std::size_t second) const;

 private:
  Stream(std::shared_ptr<Device> device, void* stream)
      : device_(std::move(device)), stream_(stream) {}
  std::shared_ptr<Device> device_;
  void* stream_;
  std::vector<void*> marks_;
};

}  // namespace toprun::gpu
