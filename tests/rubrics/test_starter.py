"""What `voirdire rubric new` begins with."""

import pytest

from voirdire.cli import app
from voirdire.rubrics import rubric_from_text

KINDS = ("boolean", "choice", "multilabel", "pairwise", "scale", "text")


@pytest.fixture
def starter(tmp_path):
    """Give the text that a new rubric begins with."""

    def made(kind="boolean"):
        path = tmp_path / "mine.yaml"
        app(["rubric", "new", str(path), "--kind", kind], result_action="return_value")
        return path.read_text(encoding="utf-8")

    return made


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_every_starter_is_a_rubric_with_comments(starter, kind):
    text = starter(kind)

    rubric = rubric_from_text(text)

    assert rubric.name == "mine"
    assert {row.kind for row in rubric.questions} == {kind}
    assert bool(rubric.behaviors) == (kind == "boolean")
    assert text.count("# ") >= 4
    assert max(map(len, text.splitlines())) <= 100


def test_what_the_comments_offer_can_be_used(starter):
    text = starter()
    condition = text.replace("# unacceptable_when", "unacceptable_when")
    classes = text.replace("# classes", "classes").replace("#   bad", "  bad")
    classes = classes.replace("#   good", "  good")

    widened, own = rubric_from_text(condition), rubric_from_text(classes)

    assert "careful_answer and insults_user" in widened.behavior("answer").classes[2].when
    assert [row.name for row in own.behavior("answer").classes] == ["bad", "good"]
    languages = 'text: {en: "Does the response ...?", zh: 回复是否……？}'
    [*_, example] = [row for row in text.splitlines() if row.startswith("#   text:")]
    assert example.removeprefix("#   ") == languages
