#include "bench/gpu/nccl.h"

#include <fmt/format.h>

namespace toprun::gpu {
namespace {

constexpr int oldest_version = 21000;  // the first with ncclAvg
constexpr int oldest_with_config = 21801;

}  // namespace

Result<Nccl> Nccl::open(Vendor vendor, const Environment& environment) {
  const bool is_nvidia = vendor == Vendor::nvidia;
  auto library =
      TRY(Library::open(is_nvidia ? "libnccl.so.2" : "librccl.so.1",
                        folders_of(environment, is_nvidia ? "nvidia/nccl/lib" : "torch/lib")));
  Nccl made(std::move(library));
  Result<void> loaded;
  const auto load = [&](auto*& function, const char* name) {
    if (loaded) loaded = made.library_.load(function, name);
  };
  load(made.get_version, "ncclGetVersion");
  load(made.get_id, "ncclGetUniqueId");
  load(made.init_rank, "ncclCommInitRank");
  load(made.async_error, "ncclCommGetAsyncError");
  load(made.abort, "ncclCommAbort");
  load(made.group_start, "ncclGroupStart");
  load(made.group_end, "ncclGroupEnd");
  load(made.all_reduce, "ncclAllReduce");
  load(made.all_gather, "ncclAllGather");
  load(made.reduce_scatter, "ncclReduceScatter");
  load(made.broadcast, "ncclBroadcast");
  load(made.reduce, "ncclReduce");
  load(made.send, "ncclSend");
  load(made.receive, "ncclRecv");
  load(made.error_text_, "ncclGetErrorString");
  if (!loaded) return std::unexpected(loaded.error());
  made.library_.load_if_there(made.last_error_, "ncclGetLastError");
  made.library_.load_if_there(made.init_rank_with, "ncclCommInitRankConfig");
  TRY(made.check(made.get_version(&made.version_), "asking for the version"));
  if (made.version_ < oldest_with_config) made.init_rank_with = nullptr;
  if (made.version_ < oldest_version) {
    return fail(made.path(), fmt::format("it is NCCL {}", made.version_text()),
                "2.10 or later is needed");
  }
  return made;
}

// Until 2.8 the version was 1000 · major + 100 · minor + patch: 2804.
std::string Nccl::version_text() const {
  constexpr int first_of_new_form = 10000;
  const int major = version_ < first_of_new_form ? 1000 : 10000;
  return fmt::format("{}.{}.{}", version_ / major, version_ % major / 100, version_ % 100);
}

Result<void> Nccl::check(int code, std::string_view what, Comm comm) const {
  if (code == 0) return {};
  const char* const text = error_text_(code);
  const char* const last = last_error_ == nullptr ? nullptr : last_error_(comm);
  std::string why = fmt::format("{} ({})", text == nullptr ? "unknown error" : text, code);
  if (last != nullptr && *last != 0) why += fmt::format(": {}", last);
  return fail(std::string(what), why, "set NCCL_DEBUG=INFO for more details from NCCL");
}

}  // namespace toprun::gpu
