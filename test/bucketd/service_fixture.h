#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/bucketd/content.h"
#include "test/bucketd/running_service.h"
#include "test/bucketd/synthetic_bucket.h"
#include "test/bucketd/text.h"
#include "test/bucketd/xml.h"
#include "test/support/temp_dir.h"

namespace bucketvol::bucketd {

inline constexpr char kSpec[] = "syn:keys=3000,per-dir=100,size=1000B";

/// A header that makes a request one of OSS.
inline const HeaderList& Oss() {
  static const HeaderList headers = {{"x-oss-meta-oss", "1"}};
  return headers;
}

inline HeaderList With(HeaderList headers, const HeaderList& more) {
  headers.insert(headers.end(), more.begin(), more.end());
  return headers;
}

/// "404 NoSuchKey"
inline std::string CodeOf(const HttpAnswer& answer) {
  const std::optional<XmlNode> root = ParseXml(answer.body);
  return absl::StrCat(answer.status, " ", root.has_value() ? root->ChildText("Code") : "");
}

/// The service with a synthetic bucket `syn` and a writable one `bucket`, on one thread.
class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() : service_({temp_.path(), {kSpec}, "", 1}) {
    EXPECT_TRUE(service_.service().buckets().Create("bucket").ok());
  }

  static std::string Key(uint64_t index = 5) { return KeyFormula(*ParseSyntheticSpec(kSpec)).At(index); }
  static std::string Expected(const std::string& key) {
    const SyntheticObject object = DescribeSynthetic(*ParseSyntheticSpec(kSpec), key);
    std::string bytes(object.size, '\0');
    FillContent(object.seed, 0, bytes.data(), bytes.size());
    return bytes;
  }
  HttpAnswer Get(const HeaderList& headers = {}) { return service_.Get("/syn/" + Key(), headers); }
  HttpAnswer Put(const std::string& key, const std::string& body, const HeaderList& headers = {}) {
    return service_.Do("PUT", "/bucket/" + PercentEncode(key, "/"), headers, body);
  }
  std::string Read(const std::string& key) { return service_.Get("/bucket/" + PercentEncode(key, "/")).body; }

  bucketvol::testing::TempDir temp_;
  RunningService service_;
};

}  // namespace bucketvol::bucketd
