#include "bench/gpu/device.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/text/text.h"

namespace toprun::gpu {
namespace {

namespace fs = std::filesystem;

void add(std::vector<std::string>& folders, std::string folder) {
  if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(std::move(folder));
}

// prefix/lib/python3.11/site-packages/below
// The folder may be absent: an error then names it as one that was searched.
void add_packages(std::vector<std::string>& folders, const fs::path& prefix,
                  std::string_view below) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const char* lib : {"lib", "lib64"}) {
    for (const auto& entry : fs::directory_iterator(prefix / lib, error)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        const fs::path folder = entry.path() / packages;
        if (fs::is_directory(folder, error)) found.push_back(folder / below);
      }
    }
  }
  std::ranges::sort(found);
  for (const fs::path& folder : found) add(folders, folder);
}

constexpr int success = 0;
constexpr int not_ready = 600;  // CUDA_ERROR_NOT_READY, hipErrorNotReady

}  // namespace

std::vector<std::string> folders_of(const Environment& environment, std::string_view below) {
  std::vector<std::string> folders;
  const std::string libraries = environment.non_empty("LD_LIBRARY_PATH").value_or("");
  for (const std::string_view folder : split(libraries, ':')) {
    if (!folder.empty()) add(folders, std::string(folder));
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto prefix = environment.non_empty(variable)) add_packages(folders, *prefix, below);
  }
  if (const auto python = environment.non_empty("PYTHON_EXEC")) {
    add_packages(folders, fs::path(*python).parent_path().parent_path(), below);
  }
  std::error_code error;
  const std::string programs = environment.non_empty("PATH").value_or("");
  for (const std::string_view folder : split(programs, ':')) {
    if (folder.empty() || !fs::exists(fs::path(folder) / "python3", error)) continue;
    add_packages(folders, fs::path(folder).parent_path(), below);
    break;
  }
  return folders;
}

Result<Library> Library::open(std::string_view file, const std::vector<std::string>& folders) {
  std::error_code error;
  std::string path(file);
  for (const std::string& folder : folders) {
    if (fs::exists(fs::path(folder) / file, error)) {
      path = fs::path(folder) / file;
      break;
    }
  }
  if (void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    return Library(handle, std::move(path));
  }
  const char* const reason = ::dlerror();
  const std::string looked = folders.empty() ? "" : join(folders, ", ") + " and ";
  const std::string none = folders.empty() ? " only, because LD_LIBRARY_PATH is empty and there is "
                                             "no Python environment with packages"
                                           : "";
  if (path != file) return fail("opening " + path, reason == nullptr ? "" : reason);
  return usage(fmt::format("{} was not found", file),
               fmt::format("looked for in {}the system's libraries{}", looked, none),
               "add the library's folder to LD_LIBRARY_PATH, or choose the Python environment that "
               "contains the library with --venv DIR");
}

void* Library::find(const char* name) const {
  return ::dlsym(handle_, name);
}

std::unexpected<Error> Library::missing(const char* name) const {
  return fail(path_, fmt::format("the library has no function {}", name),
              "perhaps the library is too old, or it is another library");
}

// Pointers to device memory are integers in CUDA's driver API and pointers in HIP: of one size, and
// passed alike.
struct Driver {
  Library library;
  int (*init)(unsigned flags) = nullptr;
  int (*device_count)(int* count) = nullptr;
  int (*device)(int* device, int number) = nullptr;
  int (*device_name)(char* name, int length, int device) = nullptr;
  int (*bus_id)(char* name, int length, int device) = nullptr;
  int (*retain_context)(void** context, int device) = nullptr;  // CUDA
  int (*use_context)(void* context) = nullptr;
  int (*use_device)(int device) = nullptr;  // HIP
  int (*memory_info)(std::size_t* free, std::size_t* all) = nullptr;
  int (*allocate)(void** start, std::size_t bytes) = nullptr;
  int (*release)(void* start) = nullptr;
  int (*write)(void* target, const void* source, std::size_t bytes) = nullptr;
  int (*read)(void* target, void* source, std::size_t bytes) = nullptr;
  int (*make_stream)(void** stream, unsigned flags) = nullptr;
  int (*end_stream)(void* stream) = nullptr;
  int (*make_event)(void** event, unsigned flags) = nullptr;
  int (*end_event)(void* event) = nullptr;
  int (*record)(void* event, void* stream) = nullptr;
  int (*query)(void* event) = nullptr;
  int (*elapsed)(float* milliseconds, void* first, void* second) = nullptr;
  int (*cuda_text)(int code, const char** text) = nullptr;
  const char* (*hip_text)(int code) = nullptr;

  std::string text_of(int code) const {
    const char* text = nullptr;
    if (cuda_text != nullptr && cuda_text(code, &text) != success) text = nullptr;
    if (hip_text != nullptr) text = hip_text(code);
    return text == nullptr ? fmt::format("error {}", code) : fmt::format("{} ({})", text, code);
  }
};

namespace {

// The first name that is missing ends it.
class Loader {
 public:
  Loader(const Library& library, Vendor vendor) : library_(library), vendor_(vendor) {}

  template <class Function>
  Loader& of(Vendor vendor, Function*& function, const char* name) {
    if (vendor == vendor_ && loaded_) loaded_ = library_.load(function, name);
    return *this;
  }
  template <class Function>
  Loader& both(Function*& function, const char* cuda, const char* hip) {
    return of(Vendor::nvidia, function, cuda).of(Vendor::amd, function, hip);
  }
  Result<void> done() { return std::move(loaded_); }

 private:
  const Library& library_;
  Vendor vendor_;
  Result<void> loaded_;
};

Result<void> load(Driver& driver, Vendor vendor) {
  return Loader(driver.library, vendor)
      .both(driver.init, "cuInit", "hipInit")
      .both(driver.device_count, "cuDeviceGetCount", "hipGetDeviceCount")
      .both(driver.device, "cuDeviceGet", "hipDeviceGet")
      .both(driver.device_name, "cuDeviceGetName", "hipDeviceGetName")
      .both(driver.bus_id, "cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId")
      .of(Vendor::nvidia, driver.retain_context, "cuDevicePrimaryCtxRetain")
      .of(Vendor::nvidia, driver.use_context, "cuCtxSetCurrent")
      .of(Vendor::amd, driver.use_device, "hipSetDevice")
      .both(driver.memory_info, "cuMemGetInfo_v2", "hipMemGetInfo")
      .both(driver.allocate, "cuMemAlloc_v2", "hipMalloc")
      .both(driver.release, "cuMemFree_v2", "hipFree")
      .both(driver.write, "cuMemcpyHtoD_v2", "hipMemcpyHtoD")
      .both(driver.read, "cuMemcpyDtoH_v2", "hipMemcpyDtoH")
      .both(driver.make_stream, "cuStreamCreate", "hipStreamCreateWithFlags")
      .both(driver.end_stream, "cuStreamDestroy_v2", "hipStreamDestroy")
      .both(driver.make_event, "cuEventCreate", "hipEventCreateWithFlags")
      .both(driver.end_event, "cuEventDestroy_v2", "hipEventDestroy")
      .both(driver.record, "cuEventRecord", "hipEventRecord")
      .both(driver.query, "cuEventQuery", "hipEventQuery")
      .both(driver.elapsed, "cuEventElapsedTime", "hipEventElapsedTime")
      .of(Vendor::nvidia, driver.cuda_text, "cuGetErrorString")
      .of(Vendor::amd, driver.hip_text, "hipGetErrorString")
      .done();
}

Result<int> chosen(int count, std::size_t local_rank) {
  if (count == 1) return 0;  // CUDA_VISIBLE_DEVICES shows each rank its own
  if (local_rank < static_cast<std::size_t>(count)) return static_cast<int>(local_rank);
  return usage(fmt::format("local rank {} has no GPU", local_rank),
               fmt::format("this process sees {} GPUs", count),
               "--nproc-per-node gpu starts one rank on each GPU");
}

}  // namespace

Result<std::shared_ptr<Device>> Device::open(Vendor vendor, std::size_t local_rank,
                                             const Environment& environment) {
  auto library = TRY(Library::open(vendor == Vendor::nvidia ? "libcuda.so.1" : "libamdhip64.so",
                                   folders_of(environment, "torch/lib")));
  std::shared_ptr<Device> made(new Device);
  auto driver = std::make_unique<Driver>(Driver{.library = std::move(library)});
  TRY(load(*driver, vendor));
  made->driver_ = std::move(driver);
  const Driver& call = *made->driver_;
  int count = 0;
  TRY(made->check(call.init(0), "starting the GPU's driver"));
  TRY(made->check(call.device_count(&count), "counting the GPUs"));
  if (count == 0) return fail("no GPU", "the driver shows no GPU to this process");
  const auto number = TRY(chosen(count, local_rank));
  made->number_ = number;
  int device = 0;
  std::array<char, 256> name{};
  std::array<char, 64> bus{};
  const std::string what = fmt::format("opening GPU {}", number);
  TRY(made->check(call.device(&device, number), what));
  if (vendor == Vendor::nvidia) {
    TRY(made->check(call.retain_context(&made->context_, device), what));
  }
  TRY(made->use_here());
  TRY(made->check(call.device_name(name.data(), name.size() - 1, device), what));
  TRY(made->check(call.bus_id(bus.data(), bus.size() - 1, device), what));
  made->name_ = name.data();
  made->bus_id_ = bus.data();
  return made;
}

Device::~Device() = default;

Result<void> Device::use_here() const {
  const int code =
      context_ != nullptr ? driver_->use_context(context_) : driver_->use_device(number_);
  return check(code, fmt::format("using GPU {}", number_));
}

Result<void> Device::check(int code, std::string_view what) const {
  if (code == success) return {};
  return fail(std::string(what), driver_->text_of(code));
}

Result<std::uint64_t> Device::free_bytes() const {
  std::size_t free = 0;
  std::size_t all = 0;
  TRY(check(driver_->memory_info(&free, &all), "asking for the GPU's free memory"));
  return free;
}

Result<DeviceMemory> DeviceMemory::of(const std::shared_ptr<Device>& device, std::size_t bytes) {
  void* start = nullptr;
  if (bytes > 0) {
    TRY(device->check(device->driver_->allocate(&start, bytes),
                      fmt::format("{} bytes of the GPU's memory", bytes)));
  }
  return DeviceMemory(device, static_cast<std::byte*>(start));
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : device_(std::move(other.device_)), start_(std::exchange(other.start_, nullptr)) {}

DeviceMemory::~DeviceMemory() {
  if (start_ != nullptr) device_->driver_->release(start_);
}

Result<void> DeviceMemory::write(std::span<const std::byte> bytes) const {
  if (bytes.empty()) return {};
  return device_->check(device_->driver_->write(start_, bytes.data(), bytes.size()),
                        "writing the GPU's memory");
}

Result<void> DeviceMemory::read(std::span<std::byte> bytes) const {
  if (bytes.empty()) return {};
  return device_->check(device_->driver_->read(bytes.data(), start_, bytes.size()),
                        "reading the GPU's memory");
}

Result<Stream> Stream::of(const std::shared_ptr<Device>& device) {
  // It waits for the default stream, in which a copy may return before its last bytes have arrived.
  constexpr unsigned after_copies = 0;
  void* stream = nullptr;
  TRY(device->check(device->driver_->make_stream(&stream, after_copies), "making a stream"));
  return Stream(device, stream);
}

Stream::Stream(Stream&& other) noexcept
    : device_(std::move(other.device_)),
      stream_(std::exchange(other.stream_, nullptr)),
      marks_(std::exchange(other.marks_, {})) {}

Stream::~Stream() {
  for (void* mark : marks_) device_->driver_->end_event(mark);
  if (stream_ != nullptr) device_->driver_->end_stream(stream_);
}

Result<void> Stream::mark(std::size_t index) {
  while (marks_.size() <= index) {
    void* event = nullptr;
    TRY(device_->check(device_->driver_->make_event(&event, 0), "making an event"));
    marks_.push_back(event);
  }
  return device_->check(device_->driver_->record(marks_[index], stream_), "recording an event");
}

Result<bool> Stream::reached(std::size_t index) const {
  const int code = device_->driver_->query(marks_.at(index));
  if (code == not_ready) return false;
  TRY(device_->check(code, "waiting for the GPU"));
  return true;
}

Result<double> Stream::microseconds_between(std::size_t first, std::size_t second) const {
  float milliseconds = 0;
  TRY(device_->check(device_->driver_->elapsed(&milliseconds, marks_.at(first), marks_.at(second)),
                     "asking for a time"));
  return static_cast<double>(milliseconds) * 1e3;
}

}  // namespace toprun::gpu
