// SPDX-License-Identifier: Apache-2.0
// The reports of the caches, and of the log's file systems, that the preloaded libraries make: when one goes, at the
// process's end, on demand.
//
// MEZZANINE_REPORT=stderr|PATH says where to (a file is appended to), MEZZANINE_REPORT_SIGNAL=USR1 which signal asks
// for one at once (to stderr if MEZZANINE_REPORT is unset). With neither, nothing here does anything.
//
// The process's end is exit() or the return from main, quick_exit(), and SIGTERM, SIGINT or SIGHUP where the program
// left the default in force when its cache opened: then a handler of ours wakes a thread, which writes the reports and
// lets the signal have its default effect. Handlers run no more than that. A second signal, or five seconds, end the
// process without a report. A program's own handler stays as it is, and its exit() is seen as any other.
//
// Children of fork() report nothing that their parent made, and signals have their default effect there.
//
//   no reporter --first use: CAS--> one of this process --fork, first use in the child: CAS--> one of the child
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "integration/hybrid_cache.h"

namespace mezz {

// From now on MEZZANINE_REPORT_SIGNAL is heard. Before the first cache of ours is ready, so that an early signal does
// not end the process.
void HearReportSignal();

// From now on what `report` gives of `who` is told at the process's end and on demand, until ReportAtEnd. It is called
// by any thread. Thread-safe, as all here. Without the memory for it a report is left out, and nothing throws.
void KeepReported(const void* who, std::function<std::string()> report);
inline void KeepReported(const HybridStats& stats) {
  KeepReported(&stats, [&stats] { return stats.Report(); });
}

// `who`, "the cache", goes: reports it, unless the process's end has, and forgets it. Before its destruction begins.
// Nothing happens if it was not kept.
void ReportAtEnd(const void* who, std::string_view what);
inline void ReportAtEnd(const HybridStats& stats) { ReportAtEnd(&stats, "the cache"); }

}  // namespace mezz
