"""Lets threadpoolctl read and set the number of threads of this package, as it does for BLAS and OpenMP.

>>> import einsum_dist, threadpoolctl
>>> with threadpoolctl.threadpool_limits(limits=1):
...     einsum_dist.get_num_threads()
1
"""

from ._einsum_dist import __version__, get_num_threads, set_num_threads


def register():
    """Registers this library with threadpoolctl (3.2 or later). Returns False if threadpoolctl is not installed."""
    try:
        from threadpoolctl import LibController
        from threadpoolctl import register as register_controller
    except ImportError:
        return False

    class EinsumDistController(LibController):
        user_api = "einsum_dist"
        internal_api = "einsum_dist"
        filename_prefixes = ("_einsum_dist",)
        check_symbols = ("PyInit__einsum_dist",)

        def get_num_threads(self):
            return get_num_threads()

        def set_num_threads(self, num_threads):
            set_num_threads(num_threads)

        def get_version(self):
            return __version__

        def set_additional_attributes(self):
            pass

    register_controller(EinsumDistController)
    return True
