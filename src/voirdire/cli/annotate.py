"""`voirdire annotate` with `change` and `export`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from voirdire._types import Language
from voirdire.annotation.coordinator import read_judges, watch_study
from voirdire.annotation.platforms import argilla_dataset, label_studio_project
from voirdire.annotation.study import StudySettings, open_study, start_study
from voirdire.cli import options as typed
from voirdire.cli.calls import UsageError, is_source, require, say
from voirdire.cli.printing import print_text, progress, say_drops, start_reading
from voirdire.cli.written_files import check_written, write_bytes, write_text
from voirdire.store import open_annotations
from voirdire.studies import stop_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from voirdire.records import Item
    from voirdire.rubrics import Rubric

_STORE = "voirdire-annotations.sqlite"
_Place = Annotated[str, Parameter(name="--store", metavar="FILE|URL")]
_Names = Annotated[list[str], Parameter(metavar="NAMES")]
_Study = Annotated[str | None, Parameter(name="--study", metavar="NAME")]
_Files = Annotated[list[str], Parameter(validator=is_source, metavar="FILE")]


@typed.group_of("The study", 2)
class StudyOptions(StudySettings):
    """How a study is set up; it stays so."""

    epsilon: float


def annotate_command(
    items: typed.OptionalItems = None,
    /,
    *,
    rubric: Annotated[str | None, Parameter(metavar="NAME|FILE")] = None,
    annotators: _Names = [],
    judges: _Files = [],
    store: _Place = _STORE,
    labels: _Files = [],
    guidelines: Annotated[Path | None, Parameter(validator=is_source)] = None,
    settings: StudyOptions = StudyOptions(),
    columns: typed.Columns = None,
    format: typed.Format = None,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65_535))] = 8765,
    public_url: Annotated[str | None, Parameter(metavar="URL")] = None,
) -> None:
    """Let people label items on a page, each by a link of his own.

    Prints a link a person, and one for the coordinator; whoever has a link is that person. Called
    again it goes on; further items and annotators join the study. Without items it serves the
    latest study of the store.

    Parameters
    ----------
    items
        Prompts with responses, as `voirdire judge` reads them. Those with `practice` (questions
        with right answers) come first and count for nothing; `sensitive` shows a notice before.
    rubric
        What is asked: a built-in rubric, or a YAML file. Another text of it is another study.
    annotators
        Who labels, as ana,ben,chi.
    judges
        Verdicts of judges to watch: the coordinator's page says when you can stop. Repeatable.
    store
        Where the study and every answer is kept: a file, or postgresql://...
    labels
        Labels that exist already, by annotators with their names; corrected ones count from the
        next start. Repeatable.
    guidelines
        A page for the annotators, as plain text.
    columns
        Your name for a column of the items, as OURS=YOURS; repeatable.
    host
        Where to listen. Any but this machine's own needs --public-url.
    port
        Where to listen; 0 takes any that is free.
    public_url
        The https address of the proxy that stands before the server.
    """
    start_reading()
    require(rubric or items is None, "`--rubric` is missing: what people are asked.")
    require(items or not (rubric or annotators), "the items are missing. Name their file.")
    try:
        text = "" if guidelines is None else guidelines.read_text("utf-8")
    except UnicodeDecodeError:
        raise UsageError("`--guidelines` must be text in UTF-8. Save it so.") from None
    with open_annotations(store, makes=items is not None) as opened:
        if items is None:
            study, links = open_study(opened), dict[str, str]()
        else:
            from voirdire.rubrics import load_rubric

            loaded = load_rubric(str(rubric))
            with progress("reading items"):
                read = _read_items(items, loaded, columns=columns, format=format)
            study, links = start_study(
                opened,
                rubric=loaded,
                items=read,
                annotators=_split(annotators),
                settings=settings,
                guidelines=text,
            )

        def tell(address: str) -> None:
            people = [seat for seat in study.seats if seat.role == "annotator" and seat.digest]
            say(f"{study.key}: {len(study.order):,} items, {len(people)} annotators, at {address}")
            if len(links) <= len(people):
                way = "`voirdire annotate change --new-link NAME` makes another"
                say(f"Links that were printed before still hold; {way}.")
            _print_links(address, links)
            links.clear()

        from voirdire.annotation.app import serve_study

        try:
            if labels:
                n, dropped = study.take_labels(labels)
                say(f"labels taken in, new or corrected: {n:,}")
                say_drops(dropped)
            serve_study(
                opened,
                study,
                judges=judges,
                host=host,
                port=port,
                public_url=public_url,
                started=tell,
            )
        finally:  # the study is there, and its links are printed once
            _print_links((public_url or f"http://{host}:{port}").rstrip("/"), links)


def change_command(
    *,
    store: _Place = _STORE,
    study: _Study = None,
    add: _Names = [],
    items: typed.Source = None,
    revoke: _Names = [],
    new_link: _Names = [],
    address: Annotated[str, Parameter(metavar="URL")] = "http://127.0.0.1:8765",
    columns: typed.Columns = None,
    format: typed.Format = None,
) -> None:
    """Add people or items to a study, take links away or make new ones; it may be running.

    Parameters
    ----------
    store
        Where the study is kept.
    study
        How its name begins. Default: the one that was started last.
    add
        Further annotators, as dan,eve.
    items
        Further items; those that are there already are left out.
    revoke
        Who leaves: the link ends, answers stay, and no item waits for them any more.
    new_link
        Who gets another link; the one before ends. `coordinator` is one, too.
    address
        How links begin.
    columns
        Your name for a column of the items, as OURS=YOURS; repeatable.
    """
    start_reading()
    with open_annotations(store, makes=False) as opened:
        found = open_study(opened, study)
        if items is not None:
            read = _read_items(items, found.rubric, columns=columns, format=format)
            say(f"items added: {found.add_items(read):,}")
        for name in _split(revoke):
            n_short = found.revoke(name)
            if n_short and found.settings.per_item is not None:
                say(f"{name} leaves {n_short:,} items that nobody gets in that place: they will "
                    "have a label less.")  # fmt: skip
        links: dict[str, str] = {}
        try:
            for name in _split(add):
                links[name] = found.add_person(name)
                if not found.tasks(found.seat_named(name).number):
                    say(f"{name} gets no items: all of them are given out. Add items.")
            for name in _split(new_link):
                links[name] = found.renew_link("" if name == "coordinator" else name)
        finally:  # those that were made are printed once
            _print_links(address, links)


def export_command(
    *,
    output: typed.Target,
    store: _Place = _STORE,
    study: _Study = None,
    gold: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    judges: _Files = [],
    stop: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    codes: bool = False,
) -> None:
    """Write people's labels as the table that `voirdire examine` reads.

    Parameters
    ----------
    output
        A file: CSV, JSONL or Parquet, by its ending.
    store
        Where the study is kept.
    study
        How its name begins. Default: the one that was started last.
    gold
        A file for the coordinator's labels, for `examine --gold`.
    judges
        Verdicts of judges that were watched; repeatable.
    stop
        A JSON file for the certificate of the stop, for `examine --stop`; with --judges.
    codes
        Write P1, P2 instead of names, and leave notes out.
    """
    check_written({"output": output, "gold": gold, "stop": stop})
    require(bool(judges) == (stop is not None), "`--judges` and `--stop` must be given together.")
    with open_annotations(store, makes=False) as opened:
        found = open_study(opened, study)
        _write_table(output, found.labels(codes=codes))
        if gold is not None:
            _write_table(gold, found.gold())
        asked = [row.id for row in found.questions]
        if stop is not None:
            results = watch_study(found, read_judges(found, judges), codes=codes)
            asked = [each.question for each in results]
            record = json.dumps(stop_record(results), indent=1, ensure_ascii=False)
            write_text(stop, f"{record}\n")
        # questions of several kinds, or some of them, are examined one by one
        rows = [row for row in found.questions if row.id in asked]
        is_each = len({row.kind for row in rows}) > 1 or len(rows) < len(found.questions)
        files = " ".join(f"--judges {file}" for file in judges) or "--judges VERDICTS"
        mode = found.settings.epsilon_mode
        stopped = f" --epsilon {found.settings.epsilon:g}" if stop else ""
        stopped += f" --epsilon-mode {mode}" if stop and mode != "additive" else ""
        stopped += f" --stop {stop}" if stop else ""
        for row in rows if is_each else rows[:1]:
            question = f" --question {row.id}" if is_each or len(rows) == 1 else ""
            say(f"Next: voirdire examine --humans {output} {files} --kind {row.kind}"
                f"{question}{stopped}")  # fmt: skip


def elsewhere_command(
    items: str,
    /,
    *,
    rubric: Annotated[str, Parameter(metavar="NAME|FILE")],
    on: Literal["label-studio", "argilla"],
    output: Annotated[Path, Parameter(name=("--output", "-o"), metavar="FOLDER")],
    per_item: Annotated[int, Parameter(validator=Number(gte=1))] = 3,
    language: Language = "en",
    columns: typed.Columns = None,
    format: typed.Format = None,
) -> None:
    """Write items and a rubric for people who label on Label Studio or Argilla.

    Their exports are read by `voirdire examine`.

    Parameters
    ----------
    items
        Prompts with responses, as `voirdire judge` reads them.
    rubric
        What is asked: a built-in rubric, or a YAML file.
    on
        Where: Label Studio gets config.xml and tasks.json, Argilla the folder of a data set.
    output
        A folder for the files.
    per_item
        How many people label each item on Argilla; on Label Studio its settings say so.
    language
        Of the questions.
    columns
        Your name for a column of the items, as OURS=YOURS; repeatable.
    """
    start_reading()
    from voirdire.rubrics import load_rubric

    loaded = load_rubric(rubric)
    with progress("reading items"):
        read = _read_items(items, loaded, columns=columns, format=format)
    if on == "label-studio":
        config, tasks = label_studio_project(loaded, read, language=language)
        files: dict[str, Any] = {"config.xml": config, "tasks.json": tasks}
    else:
        about: Any = {"name": loaded.name, "per_item": per_item, "language": language}
        files = argilla_dataset(loaded, read, **about)
    for name, content in files.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        is_text = isinstance(content, str)
        write_text(path, content if is_text else json.dumps(content, ensure_ascii=False) + "\n")
        say(f"{path}")


def _split(names: Sequence[str]) -> list[str]:
    return [name.strip() for each in names for name in each.split(",") if name.strip()]


def _read_items(source: str, rubric: Rubric, **reading: Any) -> Sequence[Item]:
    from voirdire.io import read_items

    pairs = all(row.kind == "pairwise" for row in rubric.questions)
    table = read_items(source, images=True, pairs=pairs, criteria=rubric.of_item, **reading)
    say_drops(table.dropped)
    return table.items


def _print_links(address: str, links: Mapping[str, str]) -> None:
    width = max(map(len, [*links, "coordinator"]))
    for name, secret in links.items():
        print_text(f"{name or 'coordinator':{width}}  {address}/#{secret}\n")


def _write_table(path: Path, frame: pl.DataFrame) -> None:
    from voirdire.io.files import write_csv
    from voirdire.io.verdict_files import encode_part, verdict_format

    kind = verdict_format(path)
    write_bytes(path, write_csv(frame).encode() if kind == "csv" else encode_part(frame, kind))
