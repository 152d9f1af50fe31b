"""A disk that is full, told by the system itself: a limit on the size of files."""

import contextlib
import signal


@contextlib.contextmanager
def no_file_above(n_bytes):
    """Let this process write no file larger than so many bytes, for a while."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
