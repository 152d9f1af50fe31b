import subprocess
import sys

import pytest

import voirdire.io


def test_importing_the_package_loads_no_polars():
    code = "import sys, voirdire.io; print('polars' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


def test_every_promised_name_is_there():
    assert all(hasattr(voirdire.io, name) for name in voirdire.io.__all__)
    assert set(voirdire.io.__all__) <= set(dir(voirdire.io))


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'read_lables'"):
        voirdire.io.read_lables  # noqa: B018
