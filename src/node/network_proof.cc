#include "node/network_proof.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/fd.h"
#include "fabric/pci.h"

namespace toprun::node {
namespace {

constexpr std::array<const char*, 3> debug_variables = {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS",
                                                        "NCCL_DEBUG_FILE"};

bool has_gpus() {
  const fabric::Sysfs sysfs;
  return sysfs.exists("dev/nvidiactl") || sysfs.exists("dev/kfd");
}

fabric::NcclLog read_log(const std::string& path) {
  fabric::NcclLogReader reader;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::array<char, 65'536> bytes;
  for (std::size_t done = 0; file && done < max_log_bytes;) {
    const ssize_t n = ::read(file.get(), bytes.data(), bytes.size());
    if (n <= 0) break;
    reader.read({bytes.data(), static_cast<std::size_t>(n)});
    done += static_cast<std::size_t>(n);
  }
  return reader.log();
}

}  // namespace

bool takes_proof(const plan::Job& job, const Environment& workers) {
  if (!job.several_processes() || job.options.fabric_proof == plan::FabricProof::off) return false;
  const bool is_free =
      std::ranges::none_of(debug_variables, [&](const char* name) { return workers.has(name); });
  return is_free && (job.options.fabric_proof == plan::FabricProof::on || has_gpus());
}

void let_nccl_write(Environment& worker, const std::string& file) {
  worker.set("NCCL_DEBUG", "INFO");
  worker.set("NCCL_DEBUG_SUBSYS", "INIT,NET");
  worker.set("NCCL_DEBUG_FILE", file);
}

fabric::NetworkUse network_use(const NetworkProof& proof, const fabric::NodeFabric& node) {
  std::vector<fabric::NcclLog> logs;
  for (const std::string& path : proof.nccl_logs) logs.push_back(read_log(path));
  const auto growth = fabric::growth(proof.counters, fabric::read_counters(fabric::Sysfs()));
  return fabric::judge(logs, growth, node);
}

}  // namespace toprun::node
