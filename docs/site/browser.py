"""browser.py SITE CHROMIUM: visits every page of the site in a browser without a window.

It fails when a link leads nowhere (page, file or place in a page), when a page writes an error or a warning to the
console, when it asks another host for anything, and when the search finds nothing.
"""

from __future__ import annotations

import functools
import http.server
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urldefrag

from playwright.sync_api import ConsoleMessage, Page, Request, Response, sync_playwright

SEARCHED = "tl_mem_alloc"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line for each of them."""

    def log_message(self, *_: object) -> None:
        """Says nothing."""


class Visitor:
    """Visits pages, and collects what is wrong with them."""

    def __init__(self, page: Page, site: Path, address: str) -> None:
        self.page = page
        self.site = site
        self.address = address
        self.faults: list[str] = []
        self.places: dict[str, set[str]] = {}  # the ids in a page
        self.links: dict[str, set[str]] = {}  # the pages that have a link
        page.on("console", self.on_console)
        page.on("pageerror", lambda error: self.fault(f"a script fails: {error}"))
        page.on("requestfailed", self.on_failure)
        page.on("response", self.on_response)

    def fault(self, what: str) -> None:
        """Notes a fault of the page that is visited."""
        self.faults.append(f"{self.page.url.removeprefix(self.address)}: {what}")

    def on_failure(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # that is of the page before, which the browser has left
            self.fault(f"{request.url} cannot be had: {request.failure}")

    def on_console(self, message: ConsoleMessage) -> None:
        """Notes errors and warnings."""
        if message.type in ("error", "warning"):
            self.fault(f"the console says: {message.text}")

    def on_response(self, response: Response) -> None:
        """Notes what is missing, or comes from elsewhere."""
        if response.status >= 400 or not response.url.startswith((self.address, "data:")):
            self.fault(f"{response.url} answers {response.status}")

    def visit(self, name: str) -> None:
        """Loads a page and reads its links and places."""
        self.page.goto(self.address + name, wait_until="load")
        here = self.page.eval_on_selector_all("[id]", "all => all.map(each => each.id)")
        self.places[name] = {*here, ""}
        for link in self.page.eval_on_selector_all("a[href]", "all => all.map(each => each.href)"):
            if link.startswith(self.address):
                self.links.setdefault(unquote(link.removeprefix(self.address)), set()).add(name)

    def check_links(self) -> None:
        """Wants each link inside the site to lead to a place."""
        for link, pages in sorted(self.links.items()):
            target, place = urldefrag(link)
            target = target.split("?")[0] or "index.html"
            if not (self.site / target).exists() or place not in self.places.get(target, {place}):
                self.faults.append(f"{sorted(pages)[0]}: the link {link} leads nowhere")

    def check_search(self) -> None:
        """Wants the search to find a function."""
        self.page.goto(f"{self.address}search.html?q={SEARCHED}", wait_until="load")
        self.page.wait_for_selector("#search-results li a", timeout=20_000)


def main(site: Path, chromium: str) -> int:
    """Visits all pages; returns how many faults were found."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        address = f"http://127.0.0.1:{server.server_port}/"
        visitor = Visitor(browser.new_page(), site, address)
        for file in sorted(site.rglob("*.html")):
            visitor.visit(file.relative_to(site).as_posix())
        visitor.check_links()
        visitor.check_search()
        browser.close()
        server.shutdown()
    for fault in visitor.faults:
        print(fault)
    print(f"browser: {len(visitor.places)} pages, {len(visitor.links)} links, {len(visitor.faults)} faults")
    return min(len(visitor.faults), 1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2]))
