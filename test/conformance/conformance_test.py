"""Tests of the judge itself: a suite that cannot fail proves nothing. Needs no client and no server."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import answer
import compare
import trees
from compare import ABSENT, Is

LISTING = b"""<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
<Name>b</Name><Prefix>a%20b</Prefix><EncodingType>url</EncodingType><NextContinuationToken>x9</NextContinuationToken>
<Contents><Key>a%20b/1%2B</Key><LastModified>2024-01-02T03:04:05.000Z</LastModified><Size>5</Size></Contents>
<Contents><Key>a%20b/2</Key><LastModified>2024-01-02T03:04:05Z</LastModified><Size>6</Size></Contents>
<CommonPrefixes><Prefix>a%20b/c/</Prefix></CommonPrefixes></ListBucketResult>"""


class Answers(unittest.TestCase):
    def test_object(self):
        made = answer.from_http("GET", 206, {"ETag": '"e"', "Content-Range": "bytes 0-4/9", "Content-Length": "5",
                                             "Last-Modified": "Tue, 02 Jan 2024 03:04:05 GMT", "Server": "x"}, b"hello")
        self.assertEqual(made, {"status": 206, "etag": '"e"', "content-range": "bytes 0-4/9", "content-length": 5,
                                "last-modified": "http-date", "body": "hello"})

    def test_date_in_a_wrong_form_is_shown(self):
        made = answer.from_http("GET", 200, {"Last-Modified": "2024-01-02"}, b"")
        self.assertEqual(made["last-modified"], "2024-01-02")

    def test_listing(self):
        made = answer.from_http("GET", 200, {"Content-Type": "application/xml"}, LISTING)
        self.assertEqual(made["Contents.Key"], ["a b/1+", "a b/2"])
        self.assertEqual(made["Contents.LastModified"], ["iso-millis", "iso-seconds"])
        self.assertEqual(made["CommonPrefixes.Prefix"], ["a b/c/"])
        self.assertEqual((made["Prefix"], made["NextContinuationToken"]), ("a b", "(NextContinuationToken)"))
        self.assertEqual(made.text("NextContinuationToken"), "x9")

    def test_error(self):
        made = answer.from_http("GET", 404, {"ETag": "x"}, b"<Error><Code>NoSuchKey</Code></Error>")
        self.assertEqual(made, {"status": 404, "code": "NoSuchKey"})

    def test_long_bodies_differ_by_digest(self):
        self.assertNotEqual(answer.describe(b"a" * 100), answer.describe(b"a" * 99 + b"b"))


class Comparison(unittest.TestCase):
    def test_expectation(self):
        self.assertEqual(compare.against_expectation({"status": 200}, {"status": 200, "code": ABSENT}), [])
        self.assertEqual(len(compare.against_expectation({"status": 404}, {"status": 200})), 1)
        self.assertEqual(len(compare.against_expectation({"code": "x"}, {"code": ABSENT})), 1)
        self.assertEqual(len(compare.against_expectation({}, {"code": "x"})), 1)

    def test_predicate_never_holds_for_an_absent_field(self):
        self.assertEqual(len(compare.against_expectation({}, {"date": Is("anything", lambda value: True)})), 1)

    def test_waived_fields(self):
        self.assertEqual(compare.against_expectation({"status": 404}, {"status": 200}, {"status": "why"}), [])
        self.assertEqual(compare.against_expectation({"status": 404}, {"status": 200}, {"*": "why"}), [])

    def test_ours_must_follow_what_all_references_agree_on(self):
        references = {"one": {"status": 200, "etag": "a"}, "two": {"status": 200, "etag": "b"}}
        self.assertEqual(compare.against_references({"status": 200}, references, {}), [])
        self.assertEqual(len(compare.against_references({"status": 404}, references, {})), 1)
        self.assertEqual(len(compare.against_references({"status": 200, "extra": 1}, references, {})), 1)
        self.assertEqual(compare.against_references({"status": 404}, references, {"status": "why"}), [])

    def test_disagreement_must_be_decided(self):
        references = {"one": {"etag": "a"}, "two": {}}
        self.assertEqual(len(compare.undecided(references, {}, {})), 1)
        self.assertEqual(compare.undecided(references, {"etag": "a"}, {}), [])
        self.assertEqual(compare.undecided(references, {}, {"etag": "why"}), [])

    def test_fields_of_several_answers(self):
        self.assertEqual(compare.flatten([{"status": 200}, {"status": 404}]), {"0.status": 200, "1.status": 404})


class Trees(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.point, self.tree = directory.name, {"a": b"one", "d/b": b"two"}
        os.mkdir(os.path.join(self.point, "d"))
        for name, body in self.tree.items():
            self.write(name, body)

    def write(self, name, body):
        with open(os.path.join(self.point, name), "wb") as file:
            file.write(body)

    def test_same(self):
        self.assertEqual(trees.compare(self.point, self.tree), [])

    def test_other_bytes(self):
        self.write("d/b", b"twO")
        self.assertEqual(trees.compare(self.point, self.tree), ["other bytes in ['d/b'] (1 files)"])

    def test_missing_and_unexpected(self):
        os.rename(os.path.join(self.point, "a"), os.path.join(self.point, "x"))
        self.assertEqual(trees.compare(self.point, self.tree), ["missing ['a'], unexpected ['x']"])


if __name__ == "__main__":
    unittest.main()
