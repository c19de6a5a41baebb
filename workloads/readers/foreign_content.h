// SPDX-License-Identifier: Apache-2.0
// Files that are no traces, or no traces that are read here, by their first bytes: archives, other compressions,
// spreadsheets, columns of other tools. Their bytes would be taken for keys wherever a name asks for raw keys.
#pragma once

#include <string>
#include <string_view>

namespace mezz {

struct ContentOrigin {
  bool unpacked = false;  // the bytes come out of a compressed stream already
  bool text = false;      // they are to be read as text, or nobody has said what they are
  bool guessed = false;   // nobody has named the format, so that marks of two or three bytes count, too
};

// What `head` (the first kHeadBytes of the content) is and what to do with it, such as "a tar archive; unpack it
// first"; empty: nothing that is known to be foreign.
std::string ForeignContent(std::string_view head, const ContentOrigin& origin);

// The same, of what only a name tells: compressions that have no mark of their own.
std::string ForeignName(std::string_view path);

}  // namespace mezz
