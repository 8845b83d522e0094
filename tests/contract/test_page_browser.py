"""The page in a real browser, over a service at work."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from browser import CHROMIUM, Browser
from wire_client import Wire, pool_body

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"), reason="no chromium is installed"
)
CELLS = "[...document.querySelectorAll('.cell')]"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Browser]:
    """The browser, with a window of the usual size; nothing may have gone wrong in it."""
    browser.look()
    browser.requests.clear()
    browser.complaints.clear()
    yield browser
    assert browser.complaints == []


@pytest.fixture
def batch() -> Iterator[LocalBatch]:
    """A service of the test's own: what the page counts is all that there is."""
    with LocalBatch() as service:
        yield service


@pytest.fixture
def wire(batch: LocalBatch) -> Iterator[Wire]:
    made = Wire(batch)
    yield made
    made.connection.close()


def enter(page: Browser, wire: Wire) -> None:
    page.open("about:blank")
    page.open(wire.json("POST", "/_local/sessions")["url"])
    page.wait("document.querySelector('#live').innerText === 'live'")


def make_pool(wire: Wire, pool: str, nodes: int, **fields: Any) -> None:
    assert wire.ask("POST", "/pools", pool_body(pool, nodes, **fields))[0].status == 201


def tab(page: Browser, pool: str) -> str:
    """What a pool's tab says."""
    return " ".join(page.text(f'[role="tab"][data-key="{pool}"]').split())


def make_job(wire: Wire, job: str, pool: str, **commands: str) -> None:
    assert wire.ask("POST", "/jobs", {"id": job, "poolInfo": {"poolId": pool}})[0].status == 201
    tasks = [{"id": name, "commandLine": command} for name, command in commands.items()]
    for at in range(0, len(tasks), 100):
        body = {"value": tasks[at : at + 100]}
        assert wire.ask("POST", f"/jobs/{job}/addtaskcollection", body)[0].status == 200


def press(page: Browser, selector: str, text: str) -> None:
    """Click the one that begins with a text, once it is there."""
    found = f"[...document.querySelectorAll('{selector}')].find((one) => one.innerText.startsWith('{text}'))"
    page.wait(found)
    page.run(f"{found}.click()")


def test_a_job_at_work_from_the_overview_to_its_log(
    page: Browser, wire: Wire, batch: LocalBatch, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    make_pool(wire, "good", 3)
    make_job(
        wire,
        "study",
        "good",
        fine="/bin/true",
        bad="/bin/sh -c 'exit 3'",
        slow=f"/bin/sh -c 'echo first line; until [ -e {go} ]; do sleep 0.05; done; echo second line'",
    )
    enter(page, wire)
    page.wait("document.querySelector('.job .sums')?.innerText === '2 of 3 done, 1 failed'")
    page.wait(f"{CELLS}.filter((cell) => cell.className === 'cell is-running').length === 1")
    assert page.run(f"{CELLS}.map((cell) => cell.innerText).sort()") == ["▶", "○", "○"]
    assert page.text(".grid-part .legend").split() == ["▶", "1", "running", "○", "2", "idle"]
    assert page.run("document.querySelector('.job .progress').getAttribute('aria-valuenow')") == "66"
    page.wait("document.querySelectorAll('.gantt .bar-success').length === 2")  # one bar, one of the legend
    assert page.run(
        "[...document.querySelectorAll('.gantt rect.bar')].map((bar) => bar.classList[1]).sort()"
    ) == [
        "bar-failure",
        "bar-running",
        "bar-success",
    ]
    assert "1 running tasks" in " ".join(page.text(".chart .legend").split())

    press(page, ".job", "study")
    press(page, ".choice button", "✕ failed 1")
    page.wait("document.querySelectorAll('tbody tr').length === 1")
    assert " ".join(page.text("tbody").split()).startswith("bad ✕ failed exit code 3 tvmps_")

    press(page, ".choice button", "▶ running 1")
    press(page, "tbody a", "slow")
    page.wait("document.querySelector('.log')?.innerText === 'first line\\n'")
    assert page.text(".command").startswith("/bin/sh -c 'echo first line")
    assert "stderr.txt" in page.text(".files")
    go.touch()
    page.wait("document.querySelector('.log').innerText === 'first line\\nsecond line\\n'")
    page.wait("document.querySelector('.badge').innerText === '✓ succeeded'")

    assert {url.split("/")[2] for url in page.requests if url != "about:blank"} == {
        batch.endpoint.split("/")[2]
    }
    assert not [url for url in page.requests if "code=" in url.partition("#")[0]]


def test_an_empty_service_tells_the_next_step(page: Browser, wire: Wire) -> None:
    enter(page, wire)
    page.wait("document.querySelectorAll('.empty').length === 2")
    assert "azbatch run -- echo hello" in page.text(".empty")


def test_without_a_session_the_page_tells_the_command(page: Browser, wire: Wire) -> None:
    page.open(f"{wire.batch.endpoint}/_page/")
    page.wait("document.querySelector('#live').innerText === 'no session'")
    assert "azbatch local open" in page.text("main")
    # The same tab takes an address with a code.
    page.open(wire.json("POST", "/_local/sessions")["url"])
    page.wait("document.querySelector('#live').innerText === 'live'")
    assert page.run("location.hash") == "#/"


def test_nodes_that_are_broken_say_why_and_are_reached_by_keys(page: Browser, wire: Wire) -> None:
    start = {"commandLine": "/bin/sh -c 'exit 7'", "waitForSuccess": True}
    make_pool(wire, "broken", 2, startTask=start)
    enter(page, wire)
    page.wait(f"{CELLS}.filter((cell) => cell.className === 'cell is-bad').length === 2")
    assert page.run(f"{CELLS}.map((cell) => cell.tabIndex)") == [0, -1]
    page.run(f"{CELLS}[0].focus()")
    page.key("ArrowRight")
    assert page.run(f"{CELLS}.indexOf(document.activeElement)") == 1
    page.run("document.activeElement.click()")
    page.wait("document.querySelector('.detail').innerText.includes('The start task failed (exit code 7).')")


def test_pools_in_trouble_do_not_look_like_the_others(page: Browser, wire: Wire) -> None:
    assert wire.ask("POST", "/_local/faults", {"kind": "quota", "cores": 10})[0].status == 200
    slow = {"kind": "slow-delete", "pool": "going", "seconds": 3600}
    assert wire.ask("POST", "/_local/faults", slow)[0].status == 200
    make_pool(wire, "fine", 1)
    make_pool(wire, "broken", 2, startTask={"commandLine": "/bin/sh -c 'exit 7'", "waitForSuccess": True})
    make_pool(wire, "short", 9)
    make_pool(wire, "going", 0)
    assert wire.ask("DELETE", "/pools/going")[0].status == 202
    enter(page, wire)
    page.wait("document.querySelectorAll('.tabs .is-bad').length === 2")
    assert tab(page, "fine") == "fine · 1"
    assert tab(page, "broken") == "broken · 2 ✕ 2 broken"
    assert tab(page, "short") == "short · 2 ✕ quota reached"
    assert tab(page, "going") == "going · 0 ↓ deleting"
    page.click('[role="tab"][data-key="short"]')
    page.wait("document.querySelector('.trouble')?.innerText.startsWith('AccountCoreQuotaReached')")
    assert "Reason: 6 of 10 cores are in use" in page.text(".trouble")
    assert page.run("location.hash") == "#/pools/short"


def test_an_address_shows_its_pool_or_says_that_there_is_none(page: Browser, wire: Wire) -> None:
    make_pool(wire, "one", 1)
    make_pool(wire, "two", 0)
    enter(page, wire)
    chosen = "document.querySelector('[aria-selected=true]')?.dataset.key"
    page.wait(f"{chosen} === 'one'")
    page.run("location.hash = '#/pools/TWO'")
    page.wait(f"{chosen} === 'two'")
    page.run("location.hash = '#/pools/three'")
    page.wait("document.querySelector('.empty')?.innerText.includes('There is no pool three.')")
    assert page.run(chosen) is None
    assert page.run("document.querySelector('[role=tabpanel]').hidden")
    page.run("location.hash = '#/pool/%zz'")
    page.wait("document.querySelector('main').innerText.includes('There is no such page.')")
    page.run("location.hash = '#/'")
    page.wait(f"{chosen} !== undefined")


def test_what_never_runs_is_blocked_and_says_by_whom(page: Browser, wire: Wire) -> None:
    make_pool(wire, "good", 1)
    job = {"id": "chain", "poolInfo": {"poolId": "good"}, "usesTaskDependencies": True}
    assert wire.ask("POST", "/jobs", job)[0].status == 201
    fails = {"id": "a", "commandLine": "/bin/false"}
    by_it = {"id": "b", "commandLine": "/bin/true", "dependsOn": {"taskIds": ["a"]}}
    by_way = {"id": "c", "commandLine": "/bin/true", "dependsOn": {"taskIds": ["b"]}}
    late = {"id": "d", "commandLine": "/bin/true", "dependsOn": {"taskIds": ["not yet"]}}
    assert (
        wire.ask("POST", "/jobs/chain/addtaskcollection", {"value": [fails, by_it, by_way, late]})[0].status
        == 200
    )
    enter(page, wire)
    press(page, ".job", "chain")
    page.wait("document.querySelectorAll('.badge.is-blocked').length === 2")
    for task, said in (
        ("b", "⊘ blocked never runs: a failed"),
        ("c", "⊘ blocked never runs: a failed"),
        ("d", "○ waiting"),
    ):
        assert " ".join(page.text(f'tr[data-key="{task}"]').split()) == f"{task} {said}"
    assert page.text(".sums").endswith("1 failed, 2 never run: what they depend on failed")
    press(page, "tbody a", "c")
    page.wait("document.querySelector('.trouble')")
    assert "It never runs: it depends on a, which failed." in page.text(".trouble")
    page.wait("document.querySelector('main').innerText.includes('No files yet')")
    page.complaints.clear()  # the browser notes that a task which has not run has no files


def test_tasks_come_in_pages(page: Browser, wire: Wire) -> None:
    make_pool(wire, "none", 0)
    make_job(wire, "wide", "none", **{f"t{number:03}": "true" for number in range(120)})
    enter(page, wire)
    press(page, ".job", "wide")
    page.wait("document.querySelectorAll('tbody tr').length === 50")
    for first, last, rows in (("t050", "51 to 100", 50), ("t100", "101 to 120", 20)):
        press(page, ".pager button", "Next")
        page.wait(f"document.querySelector('tbody th').innerText === '{first}'")
        assert (page.text(".pager span"), page.run("document.querySelectorAll('tbody tr').length")) == (
            last,
            rows,
        )
    press(page, ".pager button", "← Previous")
    page.wait("document.querySelector('tbody th').innerText === 't050'")


def test_a_hidden_tab_asks_nothing(page: Browser, wire: Wire) -> None:
    enter(page, wire)
    page.run(
        "window.armed = []; window.realTimeout = window.setTimeout;"
        "window.setTimeout = (action, ms) => { armed.push(ms); return realTimeout(action, ms); }"
    )
    page.hide(hidden=True)
    page.wait("document.querySelector('#live').innerText === 'paused while hidden'")
    page.run("armed.length = 0")
    asked = len(page.requests)
    assert page.run("armed.filter((ms) => ms >= 1000).length") == 0
    assert len(page.requests) == asked
    page.hide(hidden=False)
    page.wait("armed.some((ms) => ms >= 1000)")
    assert len(page.requests) > asked


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_telephone_in_light_and_dark(page: Browser, wire: Wire, *, dark: bool) -> None:
    make_pool(wire, "good", 70)
    make_job(wire, "a-job-with-a-rather-long-name-" + "x" * 30, "good", one="/bin/true")
    page.look(width=390, height=844, dark=dark)
    enter(page, wire)
    page.wait("document.querySelectorAll('.gantt rect.bar').length === 1")
    assert page.run("document.documentElement.scrollWidth") == 390
    ground = page.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (max(ground) < 60) is dark


def test_a_service_that_was_restarted_asks_for_a_new_session(page: Browser, wire: Wire) -> None:
    enter(page, wire)
    wire.connection.close()
    wire.batch.restart()
    page.wait("document.querySelector('#live').innerText === 'no session'")
    assert "azbatch local open" in page.text("main")
    page.complaints.clear()  # the browser notes the requests that failed
