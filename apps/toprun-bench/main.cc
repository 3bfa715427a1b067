#include <unistd.h>

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/os/uncaught.h"
#include "bench/gpu/nccl_backend.h"
#include "bench/measure/backend.h"
#include "cli/benchmark/worker.h"

// A rank of `toprun bench` that uses the GPU's libraries.
int main(int argc, char** argv) {
  using namespace toprun;
  explain_uncaught_exceptions();
  const std::vector<std::string> words(argv, argv + argc);
  const auto nccl = [](gpu::Vendor vendor) {
    return [vendor](measure::Group& group, const Environment& environment) {
      return gpu::open_nccl(vendor, group, environment);
    };
  };
  const measure::NamedBackend backends[] = {
      {"tcp", measure::open_tcp},
      {"nccl", nccl(gpu::Vendor::nvidia)},
      {"rccl", nccl(gpu::Vendor::amd)},
  };
  const int code = benchmark::run_worker(words, Environment::from(environ), backends);
  // The libraries' threads may still run; their destructors must not.
  ::_exit(code);
}
