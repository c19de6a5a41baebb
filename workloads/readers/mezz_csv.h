// SPDX-License-Identifier: Apache-2.0
// Our own CSV: all that a Request holds, one a line, under this header. op is a word of Operation, role one of
// BlockRole, recorded is hit, miss or unknown; the others are numbers.
#pragma once

#include <string_view>

namespace mezz {

inline constexpr std::string_view kMezzCsvHeader =
    "key,op,key_bytes,value_bytes,scan_length,batch_left,extent_bytes,time_us,role,client,column_family,level,recorded,"
    "no_insert";

}  // namespace mezz
