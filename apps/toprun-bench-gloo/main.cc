#include <unistd.h>

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/os/uncaught.h"
#include "bench/gloo/gloo_backend.h"
#include "bench/measure/backend.h"
#include "cli/benchmark/worker.h"

// A rank of `toprun bench` that uses Gloo.
int main(int argc, char** argv) {
  using namespace toprun;
  explain_uncaught_exceptions();
  const std::vector<std::string> words(argv, argv + argc);
  const measure::NamedBackend backends[] = {
      {"tcp", measure::open_tcp},
      {"gloo", libgloo::open_gloo},
  };
  return benchmark::run_worker(words, Environment::from(environ), backends);
}
