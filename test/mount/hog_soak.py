"""A memory limit that is too low now and then, for five minutes: the kernel kills workers, no reader notices."""
import os

import hog
import rig

SECONDS = int(os.environ.get("SOAK_SECONDS", 300))


class HogSoak(hog.HogTest):
    def test_no_reader_notices_that_the_kernel_kills_workers(self):
        self.assertGreater(self.starve_for(SECONDS, 2), SECONDS // 30)


if __name__ == "__main__":
    rig.main()
