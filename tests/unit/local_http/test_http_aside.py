"""Work on many files goes on beside the event loop."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading

import pytest

from azbatch_core.local.errors import BatchError
from azbatch_core.local.http import files
from azbatch_core.local.http.aside import Aside
from azbatch_core.local.http.response import Response


def test_the_loop_goes_on_while_a_work_lasts():
    async def both():
        aside, begun, go = Aside(), threading.Event(), threading.Event()

        def work():
            begun.set()
            return Response(200 if go.wait(60) else 500)

        task = asyncio.ensure_future(aside.do(work))
        await asyncio.to_thread(begun.wait, 60)
        go.set()
        return (await task).status

    assert asyncio.run(both()) == 200


def test_what_goes_wrong_is_handed_on():
    def work():
        raise BatchError("IOError")

    with pytest.raises(BatchError):
        asyncio.run(Aside().do(work))


def test_works_beyond_a_few_wait_for_their_turn_and_all_are_done():
    async def many():
        aside, running, most = Aside(), [], []

        def work():
            running.append(1)
            most.append(len(running))
            running.pop()
            return Response(200)

        answers = await asyncio.gather(*(aside.do(work) for _ in range(50)))
        return len(answers), max(most)

    done, most = asyncio.run(many())
    assert done == 50
    assert most <= 4


def test_a_service_that_ends_waits_for_no_work():
    begun, go = threading.Event(), threading.Event()

    def work():
        begun.set()
        go.wait(60)
        return Response(200)

    async def cut_off():
        task = asyncio.ensure_future(Aside().do(work))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()

    asyncio.run(cut_off())
    assert not go.is_set()
    go.set()


@pytest.fixture
def engine(engine, tmp_path):
    root = tmp_path / "task"
    for number in range(5):
        (root / "wd" / f"d{number}").mkdir(parents=True)
        (root / "wd" / f"d{number}" / "f").write_text("x")
    engine.root, engine.trash = root, tmp_path / "trash"
    engine.tasks.directory = lambda *_: root
    return engine


FILES = "/jobs/j/tasks/t/files"


def test_folders_are_listed_in_another_thread(ask, monkeypatch):
    looked, real = [], os.scandir

    def scandir(path):
        looked.append(threading.current_thread())
        return real(path)

    monkeypatch.setattr(files.os, "scandir", scandir)
    answer = ask("GET", f"{FILES}?recursive=true&$filter=startswith(name,'wd/d1')")
    assert [item["name"] for item in answer.json["value"]] == ["wd/d1", "wd/d1/f"]
    assert len(looked) == 7
    assert threading.main_thread() not in looked


def test_folders_are_deleted_in_another_thread_but_gone_from_their_place_before(ask, engine, monkeypatch):
    deleted, real = [], shutil.rmtree

    def rmtree(path, **options):
        (engine.root / "wd").mkdir()  # a task that begins again now makes its own
        deleted.append(threading.current_thread())
        real(path, **options)

    monkeypatch.setattr(files.shutil, "rmtree", rmtree)
    assert ask("DELETE", f"{FILES}/wd?recursive=true").status == 200
    assert threading.main_thread() not in deleted
    assert len(deleted) == 1
    assert list((engine.root / "wd").iterdir()) == []
    assert list(engine.trash.iterdir()) == []


def test_a_page_of_many_files_goes_on_where_it_ended(ask):
    names, target = [], f"{FILES}?recursive=true&maxresults=4"
    while target:
        found = ask("GET", target).json
        names += [item["name"] for item in found["value"]]
        target = found.get("odata.nextLink", "").removeprefix("http://127.0.0.1:1")
    assert names == ["wd", *(f"wd/d{n}" for n in range(5)), *(f"wd/d{n}/f" for n in range(5))]


def test_refusals_come_from_either_half(ask):
    assert ask("DELETE", f"{FILES}/wd").code == "InvalidQueryParameterValue"
    assert ask("DELETE", f"{FILES}/none").code == "FileNotFound"
    assert ask("GET", f"{FILES}?$filter=x").code == "InvalidQueryParameterValue"
