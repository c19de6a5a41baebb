// SPDX-License-Identifier: Apache-2.0
// The reports of the caches and of the log's file systems that the preloaded libraries make. They are written when a
// cache is destroyed, at the process's end, and on demand.
//
// MEZZANINE_REPORT=stderr|PATH says where they go; a file is appended to. MEZZANINE_REPORT_SIGNAL=USR1 says which
// signal asks for a report at once, which goes to stderr if MEZZANINE_REPORT is unset. With neither, nothing here does
// anything.
//
// The process's end is exit(), the return from main, or quick_exit(). SIGTERM, SIGINT and SIGHUP end it too, if the
// program had no handler for them when its cache opened. Then a handler of ours wakes a thread, which writes the
// reports and lets the signal have its default effect; the handler does nothing else. A second signal, or five seconds,
// end the process without a report. A program's own handler stays as it is, and an exit() in it is an exit() like any
// other.
//
// Children of fork() report nothing that their parent made, and signals have their default effect in them.
//
//   no reporter --first use: CAS--> one of this process --fork, first use in the child: CAS--> one of the child
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "integration/hybrid_cache.h"

namespace mezz {

// Installs the handler of MEZZANINE_REPORT_SIGNAL. Call it before our first cache is ready, so that an early signal
// does not end the process.
void HearReportSignal();

// From now on the text of `report` is written for `who` at the process's end and on demand, until ReportAtEnd. `report`
// is called by any thread. All functions here are thread-safe and throw nothing; a report is left out if there is no
// memory for it.
void KeepReported(const void* who, std::function<std::string()> report);
inline void KeepReported(const HybridStats& stats) {
  KeepReported(&stats, [&stats] { return stats.Report(); });
}

// Writes the report of `who`, unless the process's end has written it, and forgets `who`. `what` names it, as "the
// cache". Call it before the destruction of `who` begins. Does nothing if `who` was not kept.
void ReportAtEnd(const void* who, std::string_view what);
inline void ReportAtEnd(const HybridStats& stats) { ReportAtEnd(&stats, "the cache"); }

}  // namespace mezz
