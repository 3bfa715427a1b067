#include "node/prepare/probes/network_proof.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/os/fd.h"
#include "machine/fabric/pci.h"

namespace toprun::probes {
namespace {

constexpr std::array<const char*, 3> debug_variables = {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS",
                                                        "NCCL_DEBUG_FILE"};

bool has_gpus() {
  const fabric::Sysfs sysfs;
  return sysfs.exists("dev/nvidiactl") || sysfs.exists("dev/kfd");
}

}  // namespace

NetworkWatch::NetworkWatch(const std::vector<std::string>& logs, fabric::FastPath path)
    : path_(path) {
  for (const std::string& path : logs) logs_.push_back({path, 0, {}});
}

std::optional<std::string> NetworkWatch::look() {
  for (Log& log : logs_) {
    log.read_bytes += read_nccl_log(log.path, log.read_bytes, log.reader);
    const fabric::NcclLog& seen = log.reader.log();
    if (!fabric::uses_plain_sockets(seen)) continue;
    std::string why = "NCCL communicates with other nodes over plain sockets";
    if (const std::string said = fabric::why_not(path_, seen); !said.empty()) {
      why += "; it said: " + said;
    }
    return why;
  }
  return std::nullopt;
}

bool NetworkWatch::is_settled() const {
  return std::ranges::all_of(logs_, [](const Log& log) {
    return log.read_bytes >= max_log_bytes || log.reader.log().leaves_the_node();
  });
}

bool takes_proof(const plan::Job& job, const Environment& workers) {
  const plan::FabricProof requested =
      job.options.require_rdma.value ? plan::FabricProof::on : job.options.fabric_proof;
  if (!job.several_processes() || requested == plan::FabricProof::off) return false;
  const bool is_free =
      std::ranges::none_of(debug_variables, [&](const char* name) { return workers.has(name); });
  return is_free && (requested == plan::FabricProof::on || has_gpus());
}

void let_nccl_write(Environment& worker, const std::string& file) {
  worker.set("NCCL_DEBUG", "INFO");
  worker.set("NCCL_DEBUG_SUBSYS", "INIT,NET");
  worker.set("NCCL_DEBUG_FILE", file);
}

Error no_rdma(const std::string& why) {
  return {"--require-rdma", why, "for more, run `toprun net show` and `toprun doctor` on that node",
          exit_failure};
}

std::size_t read_nccl_log(const std::string& path, std::size_t offset,
                          fabric::NcclLogReader& reader) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return 0;
  std::array<char, 65'536> bytes;
  std::size_t done = 0;
  while (offset + done < max_log_bytes) {
    const ssize_t n =
        ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset + done));
    if (n <= 0) break;
    reader.read({bytes.data(), static_cast<std::size_t>(n)});
    done += static_cast<std::size_t>(n);
  }
  return done;
}

fabric::NetworkUse network_use(const NetworkProof& proof, const fabric::NodeFabric& node) {
  std::vector<fabric::NcclLog> logs;
  for (const std::string& path : proof.nccl_logs) {
    fabric::NcclLogReader reader;
    read_nccl_log(path, 0, reader);
    logs.push_back(reader.log());
  }
  const auto growth = fabric::growth(proof.counters, fabric::read_counters(fabric::Sysfs()));
  return fabric::judge(logs, growth, node);
}

}  // namespace toprun::probes
