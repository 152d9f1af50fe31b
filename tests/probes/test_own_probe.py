"""Probes of a user's own function."""

import msgspec
import pytest

from voirdire.errors import InputError
from voirdire.probes import Probe, own_probe
from voirdire.records import Item

ITEM = Item(id="a", response="Yes.", group="g")


def shout(item):
    """The response is written in capitals.

    And so on.
    """
    return msgspec.structs.replace(item, response=item.response.upper())


def test_a_probe_is_named_after_its_function():
    probe = own_probe(shout)

    assert isinstance(probe, Probe)
    assert (probe.id, probe.family) == ("own/shout", "own")
    assert probe.summary == "The response is written in capitals"
    assert probe.control is None
    assert probe.touches == frozenset()


def test_names_become_ids():
    def LoudÜber2(item):  # noqa: N802, PLC2401 - a name that is no id
        return None

    assert own_probe(LoudÜber2).id == "own/loud_ber2"
    assert own_probe(lambda item: None).id == "own/lambda"
    assert own_probe(lambda item: None).summary == "lambda"


def test_ids_and_summaries_can_be_given():
    probe = own_probe(shout, id="style/capitals", summary="it is in capitals")

    assert (probe.id, probe.family, probe.summary) == (
        "style/capitals",
        "style",
        "it is in capitals",
    )


@pytest.mark.parametrize("name", ["capitals", "Own/x", "own/x y", "own/", ""])
def test_an_id_of_another_form_is_refused(name):
    with pytest.raises(InputError, match="`id` must be a family and a name in small letters"):
        own_probe(shout, id=name)


def test_ids_and_clusters_are_set_on_what_comes_back():
    probe = own_probe(shout, control=lambda item: item)

    changed, control = probe.change(ITEM), probe.control(ITEM)

    assert changed == Item(id="a+own/shout", response="YES.", group="g", cluster="a")
    assert control == Item(id="a+own/shout/control", response="Yes.", group="g", cluster="a")
    assert probe.change(msgspec.structs.replace(ITEM, cluster="c")).cluster == "c"


def test_an_item_that_stays_as_it_is_was_not_changed():
    assert own_probe(shout).change(Item(id="a", response="YES.")) is None
    assert own_probe(lambda item: None, control=lambda item: None).change(ITEM) is None


def test_what_is_no_item_is_refused():
    probe = own_probe(lambda item: item.response.upper())

    with pytest.raises(InputError, match="`own/lambda` must return an `Item` or None, got str"):
        probe.change(ITEM)
