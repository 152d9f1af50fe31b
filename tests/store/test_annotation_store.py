"""The store of annotations in SQLite and PostgreSQL: one contract."""

import asyncio
import os
import stat

import pytest

from annotation.studies_made import make_items, start
from voirdire.annotation import open_study
from voirdire.errors import InputError
from voirdire.store import Answer, open_annotations, open_store


def check_contract(place):
    with open_annotations(place) as store:
        study, links = start(store)
        rows = [
            Answer(uuid=f"u{k}", seat=k % 3, item=f"item-{k}", question="polite", value="true")
            for k in range(30)
        ]

        async def put_twice():
            puts = [store.commit((study.key, row)) for row in [*rows, *rows]]
            await asyncio.gather(*puts)

        asyncio.run(put_twice())
        study.revoke("chi")
        study.add_items(make_items(44)[40:])
    with open_annotations(place, makes=False) as store:
        again = open_study(store)
        assert [row.uuid for row in store.answers(study.key)] == [row.uuid for row in rows]
        assert all(row.at > 0 for row in store.answers(study.key))
        assert len(again.order) == 44
        assert again.find_seat(links["ana"]).name == "ana"
        assert again.find_seat(links["chi"]) is None
        assert len(again.labels()) == 30


def test_sqlite_keeps_every_answer_once_in_a_file_of_its_owner(tmp_path):
    path = tmp_path / "study.db"

    check_contract(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600 or os.name == "nt"


@pytest.mark.ci
def test_postgresql_keeps_every_answer_once(postgres_place):
    check_contract(postgres_place)


def test_a_store_of_replies_is_none_of_annotations_and_the_other_way_round(tmp_path):
    open_store(tmp_path / "replies.db").close()
    open_annotations(tmp_path / "study.db").close()

    with pytest.raises(InputError, match="must be a store of annotations, got a database of"):
        open_annotations(tmp_path / "replies.db")
    with pytest.raises(InputError, match="must be a store of replies, got a database of"):
        open_store(tmp_path / "study.db")
    with pytest.raises(InputError, match="must be a store of annotations, got no file"):
        open_annotations(tmp_path / "none.db", makes=False)


def test_one_server_at_a_time_writes_answers(tmp_path):
    with (
        open_annotations(tmp_path / "study.db") as store,
        open_annotations(tmp_path / "study.db") as other,
        store.lock("annotate", taken="Taken."),
        pytest.raises(InputError, match="Taken"),
        other.lock("annotate", taken="Taken."),
    ):
        pass
