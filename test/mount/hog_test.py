"""A memory limit that is too low now and then. The long form is hog_soak.py."""
import hog
import rig


class HogShortTest(hog.HogTest):
    def test_no_reader_notices_that_the_kernel_kills_workers(self):
        self.assertGreater(self.starve_for(10, 0.7), 0)


if __name__ == "__main__":
    rig.main()
