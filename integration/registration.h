// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rocksdb {
class ObjectLibrary;
}

namespace mezz {

// Teaches a library of RocksDB's object registry the two URIs of options.h, that of the log on SCM, and the listener of
// companions/companions.h, so that whatever makes these from strings can name ours. Returns how many factories the
// library then has. REQUIRES: the RocksDB of this process is the one that this was built for.
int RegisterWith(rocksdb::ObjectLibrary* library);

}  // namespace mezz
