"""Tests of the folders in which the guest's kernel and disk are cached."""
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from lab import kernel  # noqa: E402


class PreparedFolder(unittest.TestCase):
    def test_a_new_recipe_replaces_the_folder_of_its_kind_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as cache, unittest.mock.patch.dict(os.environ, LAB_CACHE=cache), \
                unittest.mock.patch.object(kernel, "ROOT", pathlib.Path(cache).resolve().parent):
            first = kernel.prepared_folder("kernel", b"one")
            (first / "vmlinuz").touch()
            self.assertEqual(kernel.prepared_folder("kernel", b"one"), first)
            self.assertTrue((first / "vmlinuz").exists())
            disk = kernel.prepared_folder("systemd", b"one")
            other = pathlib.Path(cache).resolve() / "kernel-headers"
            other.mkdir()
            second = kernel.prepared_folder("kernel", b"two")
            self.assertEqual(set(other.parent.iterdir()), {second, disk, other})

    def test_a_new_recipe_removes_nothing_in_a_cache_that_checkouts_may_share(self):
        with tempfile.TemporaryDirectory() as cache, unittest.mock.patch.dict(os.environ, LAB_CACHE=cache):
            first = kernel.prepared_folder("kernel", b"one")
            kernel.prepared_folder("kernel", b"two")
            self.assertTrue(first.exists())


if __name__ == "__main__":
    unittest.main()
