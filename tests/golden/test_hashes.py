"""What is hashed and stored stays what it was, whatever is built anew behind it."""

import json

from golden.figures import flat
from golden.hashes import KEPT, hashes
from golden.inputs import write_inputs


def test_every_hash_is_what_it_was(tmp_path):
    inputs, folder = tmp_path / "inputs", tmp_path / "folder"
    inputs.mkdir()
    folder.mkdir()

    found = flat(json.loads(json.dumps(hashes(folder, write_inputs(inputs)))))

    golden = flat(json.loads(KEPT.read_text(encoding="utf-8")))
    told = [
        name for name in (*golden, *found) if golden.get(name, "none") != found.get(name, "none")
    ]
    assert not told, f"{len(told)} differ:\n" + "\n".join(told[:40])
