"""What libraries ask of files, replayed on a mount: how many requests and bytes that costs."""
import mmap
import multiprocessing
import os
import random
import threading

import rig

MIB = 1 << 20
JPEG = 100_556
MODEL = 96 * MIB
PIECE = 3 * MIB
PART = 8 * MIB  # The longest request.
# Where several readers share an object a little is fetched twice: what was read once makes room soon, and the window of the reader
# before may reach into it. In an object of this size that is some hundredths; readers for themselves would cost twice and more.
SHARED = 1.25
FILES = "images:keys=60,per-dir=20,size=100556,name-bytes=12,seed=8"
MODELS = "models:keys=2,per-dir=2,size=100663296,name-bytes=12,seed=9"


def pil(path):
    """Pillow: the format's first bytes, then on through a buffer of 64 KiB."""
    file = os.open(path, os.O_RDONLY)
    os.fstat(file)
    os.lseek(file, 0, os.SEEK_CUR)
    os.lseek(file, 0, os.SEEK_SET)
    os.read(file, 4096)
    os.lseek(file, 4096, os.SEEK_SET)
    for length in (61_440, 65_536, 65_536):
        os.read(file, length)
    os.close(file)


def cv2(path):
    """OpenCV opens a file for its format, closes it, and reads it through stdio."""
    file = os.open(path, os.O_RDONLY)
    os.read(file, 4096)
    os.close(file)
    file = os.open(path, os.O_RDONLY)
    os.fstat(file)
    while os.read(file, 4096):
        pass
    os.close(file)


def pieces(seed):
    """The parts of a model in an order of its own."""
    offsets = list(range(0, MODEL, PIECE))
    random.Random(seed).shuffle(offsets)
    return offsets


def map_in_order_of(seed, path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        for offset in pieces(seed):
            for page in range(offset, min(offset + PIECE, MODEL), 4096):
                mapped[page]  # pylint: disable=pointless-statement


class TracesTest(rig.MountTest):
    def mount_cold(self, spec, source, *options):
        self.server = self.serve("--synthetic", spec)
        self.mount(source, *options)
        self.names = sorted(os.fsdecode(name) for name in self.tree())
        self.server.reset()

    def in_threads(self, count, work):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(rig.LIMIT)

    def sent(self):
        """Bytes that the server has sent, when nothing is under way any more."""
        rig.await_true(lambda: self.server.stats()["in_flight"] <= 1, "all requests to end")
        return self.server.stats()["bytes_out"]

    def hedged(self):
        """Requests that were sent twice: on a busy machine some look slow."""
        return self.status()["store"]["hedged"]

    def assertFetchedOnce(self, most=1.02):
        self.assertGreaterEqual(self.sent(), MODEL)
        self.assertLessEqual(self.sent(), most * MODEL + self.hedged() * PART)
        self.umount()

    # Images.

    def assertOneRequestEach(self, library, *options):
        self.mount_cold(FILES, "oss://images", *options)
        random.Random(3).shuffle(self.names)
        for name in self.names[:20]:
            library(self.path(name))
        self.assertEqual(self.server.requests("GET") - self.hedged(), 20)
        self.umount()

    def test_pillow(self):
        self.assertOneRequestEach(pil, "directMode=true")

    def test_opencv(self):
        self.assertOneRequestEach(cv2, "directMode=true")

    def test_both_in_the_order_of_the_folder(self):
        """Whatever is fetched ahead, no file is asked for twice."""
        self.mount_cold(FILES, "oss://images")
        for name in self.names:
            pil(self.path(name))
            cv2(self.path(name))
        self.assertEqual(self.server.requests("GET") - self.hedged(), len(self.names))
        self.umount()

    def test_a_folder_is_listed_without_a_request(self):
        """torchvision's ImageFolder: the classes, then each class, sorted."""
        self.mount_cold(FILES, "oss://images")
        found = []
        for entry in sorted(os.scandir(self.mountpoint), key=lambda entry: entry.name):
            self.assertTrue(entry.is_dir(follow_symlinks=False))
            for directory, _, names in sorted(os.walk(entry.path)):
                found += [os.path.join(directory, name) for name in sorted(names)]
        self.assertEqual(len(found), 60)
        self.assertEqual(sum(self.server.stats()["requests"].values()), 0)
        self.umount()

    # Models.

    def test_in_order(self):
        self.mount_cold(MODELS, "oss://models")
        with open(self.path(self.names[0]), "rb", buffering=0) as file:
            while file.read(MIB):
                pass
        self.assertEqual(self.status()["read"]["streams"], 1)
        self.assertFetchedOnce()

    def test_eight_regions_of_one_descriptor(self):
        self.mount_cold(MODELS, "oss://models")
        file = os.open(self.path(self.names[0]), os.O_RDONLY)
        part = MODEL // 8

        def work(i):
            for at in range(i * part, (i + 1) * part, 2 * MIB):
                os.pread(file, 2 * MIB, at)
        self.in_threads(8, work)
        os.close(file)
        self.assertLessEqual(self.status()["read"]["streams"], 32, "a reader each, and some that were taken for others, of 384 reads")
        self.assertFetchedOnce(most=SHARED)

    def test_sixteen_slices(self):
        """Run:ai's streamer: a descriptor and a slice for each thread."""
        self.mount_cold(MODELS, "oss://models")
        part = MODEL // 16

        def work(i):
            file = os.open(self.path(self.names[0]), os.O_RDONLY)
            os.lseek(file, i * part, os.SEEK_SET)
            for _ in range(part // (2 * MIB)):
                os.read(file, 2 * MIB)
            os.close(file)
        self.in_threads(16, work)
        self.assertFetchedOnce(most=SHARED)

    def test_direct_ranges(self):
        self.mount_cold(MODELS, "oss://models")
        part = 16 * MIB

        def work(i):
            file = os.open(self.path(self.names[0]), os.O_RDONLY | os.O_DIRECT)
            with mmap.mmap(-1, part) as buffer:
                os.preadv(file, [buffer], i * part)
            os.close(file)
        self.in_threads(MODEL // part, work)
        self.assertFetchedOnce()

    def test_pieces_in_any_order(self):
        self.mount_cold(MODELS, "oss://models")
        map_in_order_of(1, self.path(self.names[0]))
        self.assertFetchedOnce(most=SHARED)

    def test_eight_ranks(self):
        """Processes that map the same model and take its pieces in the same order."""
        self.mount_cold(MODELS, "oss://models")
        ranks = [multiprocessing.Process(target=map_in_order_of, args=(1, self.path(self.names[0]))) for _ in range(8)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join(rig.LIMIT)
            self.assertEqual(rank.exitcode, 0)
        self.assertFetchedOnce(most=SHARED)

    def test_a_reader_that_skips(self):
        """256 KiB, 17 MiB on, again: what lies between is not fetched."""
        self.mount_cold(MODELS, "oss://models")
        with open(self.path(self.names[0]), "rb", buffering=0) as file:
            for at in range(MIB, MODEL, 17 * MIB):
                file.seek(at)
                file.read(256 << 10)
        self.assertLessEqual(self.sent(), 16 * MIB + self.hedged() * PART)
        self.umount()

    def test_small_blocks_of_many_files(self):
        """sysbench fileio: blocks of 16 KiB, in order by two threads, then anywhere."""
        self.mount_cold("io:keys=16,per-dir=16,size=8388608,name-bytes=8,seed=2", "oss://io")
        whole = len(self.names) * 8 * MIB

        def in_order(i):
            for name in self.names[i::2]:
                with open(self.path(name), "rb", buffering=0) as file:
                    while file.read(16 << 10):
                        pass
        self.in_threads(2, in_order)
        sent = self.sent()
        self.assertGreaterEqual(sent, whole)
        self.assertLessEqual(sent, 1.1 * whole + self.hedged() * PART)
        rng = random.Random(4)
        for _ in range(500):
            with open(self.path(rng.choice(self.names)), "rb", buffering=0) as file:
                file.seek(rng.randrange(8 * MIB) // 16384 * 16384)
                self.assertEqual(len(file.read(16 << 10)), 16 << 10)
        self.assertEqual(self.sent(), sent, "the kernel has it all")
        self.umount()


if __name__ == "__main__":
    rig.main()
