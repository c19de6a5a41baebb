// SPDX-License-Identifier: Apache-2.0
// The native half of org.mezzanine.MezzanineCache. It is linked without RocksDB: what it calls is the RocksDB inside of
// the rocksdbjni that the JVM has loaded (NativeLibrary.java says how it gets there).
//
// A cache is to RocksJava a pointer to a std::shared_ptr<Cache>. When it is closed the pointer is emptied and its 16
// bytes are kept for good: RocksJava reads them unasked when a closed cache is given to it, and then finds none.
//
// Text crosses as bytes of UTF-8, not as Java's strings, whose modified UTF-8 RocksDB does not know. A sentence that is
// returned is an error; nothing throws through the JVM.
#include <jni.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "integration/c/open_cache.h"
#include "integration/hybrid_cache.h"
#include "integration/jvm/judge.h"
#include "integration/operator_io.h"
#include "integration/use_hybrid_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace mezz {

namespace {

using CachePtr = std::shared_ptr<rocksdb::Cache>;

CachePtr& CacheOf(jlong handle) { return *reinterpret_cast<CachePtr*>(handle); }
HybridStats& StatsOf(jlong handle) { return *GetHybridStats(CacheOf(handle).get()); }

jbyteArray Bytes(JNIEnv* env, std::string_view text) {
  const auto size = static_cast<jsize>(text.size());
  jbyteArray const bytes = env->NewByteArray(size);
  if (bytes != nullptr) env->SetByteArrayRegion(bytes, 0, size, reinterpret_cast<const jbyte*>(text.data()));
  return bytes;  // null: an OutOfMemoryError is pending
}

std::string Text(JNIEnv* env, jbyteArray bytes) {
  std::string text(static_cast<size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(text.size()), reinterpret_cast<jbyte*>(text.data()));
  return text;
}

// Null, or the sentence of what `work` returns or throws.
template <typename Work>
jbyteArray Answer(JNIEnv* env, const Work& work) {
  try {
    const Status status = NoThrow(work);
    return status.ok() ? nullptr : Bytes(env, status.message());
  } catch (...) {  // no memory for the sentence
    return Bytes(env, "no memory");
  }
}

// Null: an OutOfMemoryError is pending.
template <typename Make>
jbyteArray TextFrom(JNIEnv* env, const Make& make) {
  try {
    return Bytes(env, make());
  } catch (...) {
    if (jclass const error = env->FindClass("java/lang/OutOfMemoryError")) env->ThrowNew(error, "the cache's text");
    return nullptr;
  }
}

// `families` are the native ColumnFamilyOptions of a database to be opened with `db`.
Status UseFor(const CachePtr& cache, rocksdb::DBOptions* db,
              const std::vector<rocksdb::ColumnFamilyOptions*>& families) {
  std::vector<rocksdb::ColumnFamilyDescriptor> described;
  for (const auto* family : families) described.emplace_back("", *family);
  MEZZ_RETURN_IF_ERROR(UseHybridCache(cache, db, &described));
  for (size_t i = 0; i < families.size(); ++i) families[i]->table_factory = described[i].options.table_factory;
  return Status::Ok();
}

}  // namespace

}  // namespace mezz

#define MEZZ_JNI(type, name) extern "C" JNIEXPORT type JNICALL Java_org_mezzanine_Native_##name

// handle[0] becomes what RocksJava takes.
MEZZ_JNI(jbyteArray, open)(JNIEnv* env, jclass, jbyteArray uri, jlongArray handle) {
  return mezz::Answer(env, [&] {
    auto cache = std::make_unique<mezz::CachePtr>();
    std::string sentence;
    if (!mezz::OpenCache(mezz::Text(env, uri), cache.get(), &sentence, mezz::JudgeForTheJvm)) {
      return mezz::Status::InvalidArgument(sentence);
    }
    const auto opened = reinterpret_cast<jlong>(cache.release());
    env->SetLongArrayRegion(handle, 0, 1, &opened);
    return mezz::Status::Ok();
  });
}

MEZZ_JNI(void, close)(JNIEnv*, jclass, jlong handle) { mezz::CacheOf(handle).reset(); }

MEZZ_JNI(jbyteArray, use)(JNIEnv* env, jclass, jlong handle, jlong options) {
  return mezz::Answer(
      env, [&] { return mezz::UseHybridCache(mezz::CacheOf(handle), reinterpret_cast<rocksdb::Options*>(options)); });
}

MEZZ_JNI(jbyteArray, useFor)(JNIEnv* env, jclass, jlong handle, jlong db, jlongArray families) {
  return mezz::Answer(env, [&] {
    std::vector<jlong> handles(static_cast<size_t>(env->GetArrayLength(families)));
    env->GetLongArrayRegion(families, 0, static_cast<jsize>(handles.size()), handles.data());
    std::vector<rocksdb::ColumnFamilyOptions*> options;
    for (const jlong family : handles) options.push_back(reinterpret_cast<rocksdb::ColumnFamilyOptions*>(family));
    return mezz::UseFor(mezz::CacheOf(handle), reinterpret_cast<rocksdb::DBOptions*>(db), options);
  });
}

MEZZ_JNI(jbyteArray, report)(JNIEnv* env, jclass, jlong handle) {
  return mezz::TextFrom(env, [&] { return mezz::StatsOf(handle).Report(); });
}

MEZZ_JNI(jbyteArray, statistics)(JNIEnv* env, jclass, jlong handle) {
  return mezz::TextFrom(env, [&] { return mezz::StatisticsText(mezz::StatsOf(handle)); });
}

MEZZ_JNI(jlong, usage)(JNIEnv*, jclass, jlong handle) { return static_cast<jlong>(mezz::CacheOf(handle)->GetUsage()); }

MEZZ_JNI(jlong, pinnedUsage)(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(mezz::CacheOf(handle)->GetPinnedUsage());
}

MEZZ_JNI(jlong, dramBytes)(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(mezz::CacheOf(handle)->GetCapacity());
}

MEZZ_JNI(jbyteArray, setDramBytes)(JNIEnv* env, jclass, jlong handle, jlong bytes) {
  return mezz::Answer(env, [&] {
    mezz::CacheOf(handle)->SetCapacity(static_cast<size_t>(bytes));
    return mezz::Status::Ok();
  });
}

MEZZ_JNI(jlong, scmBytes)(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(mezz::StatsOf(handle).scm().figures().capacity_bytes());
}

MEZZ_JNI(jbyteArray, setScmBytes)(JNIEnv* env, jclass, jlong handle, jlong bytes) {
  return mezz::Answer(env, [&] { return mezz::StatsOf(handle).SetScmCapacity(static_cast<uint64_t>(bytes)); });
}

MEZZ_JNI(jbyteArray, policy)(JNIEnv* env, jclass, jlong handle) {
  return mezz::TextFrom(env, [&] { return mezz::StatsOf(handle).PolicyName(); });
}

MEZZ_JNI(jbyteArray, setPolicy)(JNIEnv* env, jclass, jlong handle, jbyteArray name) {
  return mezz::Answer(env, [&] { return mezz::StatsOf(handle).SetPolicy(mezz::Text(env, name)); });
}
