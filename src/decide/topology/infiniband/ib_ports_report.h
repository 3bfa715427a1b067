#pragma once

#include <string>
#include <string_view>

#include "decide/topology/infiniband/ib_records.h"

namespace toprun::topology {

// Parses the output of `ibnetdiscover -p`, one line per port (dump_ports_report() in
// infiniband-diags):
//
// clang-format off
//   SW    73  1 0x2c5eab0300b87b40 4x NDR - CA   647  1 0xe09d7303007a4bd8 ( 'MF0;leaf' - 'n0 mlx5_5' )
//   CA   647  1 0xe09d7303007a4bd8 4x NDR - SW    73  1 0x2c5eab0300b87b40 ( 'n0 mlx5_5' - 'MF0;leaf' )
//   SW    73  2 0x2c5eab0300b87b40 4x SDR 'MF0;leaf'
// clang-format on
//
// The columns are type, LID, port and GUID, width and speed, the same for the other end, and both
// descriptions. A switch has one GUID, an adapter one per port. Each cable is listed at both ends;
// a port without a cable has no other end. Other lines are skipped. Error (file:line): a line that
// begins like the lines above, but continues in another form.
Result<IbRecords> parse_ports_report(std::string_view text, const std::string& file);

// Whether the line has the form that parse_ports_report() parses.
bool is_ports_report_line(std::string_view line);

}  // namespace toprun::topology
