// SPDX-License-Identifier: Apache-2.0
// A new format is a file beside this one, a maker declared here, and a line in the table of open_trace.cc. Where the
// first kHeadBytes of the content tell the format, its file says how.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "workloads/readers/csv_spec.h"
#include "workloads/requests/request.h"

namespace mezz {

std::unique_ptr<RequestSource> MakeBigEndian64(std::string path);
std::unique_ptr<RequestSource> MakeBigEndian32(std::string path);
std::unique_ptr<RequestSource> MakeLittleEndian64(std::string path);
std::unique_ptr<RequestSource> MakeLittleEndian32(std::string path);
std::unique_ptr<RequestSource> MakeTextKeys(std::string path);
std::unique_ptr<RequestSource> MakeLirs(std::string path);
std::unique_ptr<RequestSource> MakeArc(std::string path);
std::unique_ptr<RequestSource> MakeArcPages(std::string path);
std::unique_ptr<RequestSource> MakeCloudPhysicsCsv(std::string path);
std::unique_ptr<RequestSource> MakeTwitterCsv(std::string path);
std::unique_ptr<RequestSource> MakeMetaKvCsv(std::string path);
std::unique_ptr<RequestSource> MakeMetaBlockCsv(std::string path);
std::unique_ptr<RequestSource> MakeOracleGeneral(std::string path);
std::unique_ptr<RequestSource> MakeVscsi1(std::string path);
std::unique_ptr<RequestSource> MakeVscsi2(std::string path);
std::unique_ptr<RequestSource> MakeMqsim(std::string path);
std::unique_ptr<RequestSource> MakeSpc(std::string path);
std::unique_ptr<RequestSource> MakeRocksdbBlockCsv(std::string path);
std::unique_ptr<RequestSource> MakeMezzCsv(std::string path);
std::unique_ptr<RequestSource> MakeLineageCsv(std::string path);
std::unique_ptr<RequestSource> MakeLcs(std::string path);
// CSV with the columns that its header names, or that `spec` says.
std::unique_ptr<RequestSource> MakeCsv(std::string path);
std::unique_ptr<RequestSource> MakeCsvOf(std::string path, CsvSpec spec);
std::unique_ptr<RequestSource> MakeMsr(std::string path);
std::unique_ptr<RequestSource> MakeAlibabaBlock(std::string path);
std::unique_ptr<RequestSource> MakeTencentCbs(std::string path);
std::unique_ptr<RequestSource> MakeFiu(std::string path);
std::unique_ptr<RequestSource> MakeSystor17(std::string path);
std::unique_ptr<RequestSource> MakeWikiCdn(std::string path);
std::unique_ptr<RequestSource> MakeWikiCdnText(std::string path);
std::unique_ptr<RequestSource> MakeMetaCdn(std::string path);

bool LooksLikeArc(std::string_view head);
bool LooksLikeCloudPhysicsCsv(std::string_view head);
bool LooksLikeTwitterCsv(std::string_view head);
bool LooksLikeMetaKvCsv(std::string_view head);
bool LooksLikeMetaBlockCsv(std::string_view head);
bool LooksLikeOracleGeneral(std::string_view head);
bool MayBeOracleGeneral(std::string_view head);
bool LooksLikeVscsi1(std::string_view head);
bool LooksLikeVscsi2(std::string_view head);
bool LooksLikeMqsim(std::string_view head);
bool LooksLikeSpc(std::string_view head);
bool LooksLikeRocksdbBlockCsv(std::string_view head);
bool LooksLikeMezzCsv(std::string_view head);
bool LooksLikeLineageCsv(std::string_view head);
bool LooksLikeLcs(std::string_view head);
bool LooksLikeCsv(std::string_view head);
bool LooksLikeMsr(std::string_view head);
bool LooksLikeAlibabaBlock(std::string_view head);
bool LooksLikeTencentCbs(std::string_view head);
bool MayBeTencentCbs(std::string_view head);
bool LooksLikeFiu(std::string_view head);
bool LooksLikeSystor17(std::string_view head);
bool LooksLikeWikiCdn(std::string_view head);
bool LooksLikeWikiCdnText(std::string_view head);
bool LooksLikeMetaCdn(std::string_view head);
std::unique_ptr<RequestSource> MakeRocksdbBlockTrace(std::string path);
std::unique_ptr<RequestSource> MakeRocksdbQueryTrace(std::string path);

bool LooksLikeRocksdbBlockTrace(std::string_view head);
bool LooksLikeRocksdbQueryTrace(std::string_view head);

}  // namespace mezz
