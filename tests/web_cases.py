"""What the tests of a job's page share: a server with a picture, and a browser."""

import shutil
import tempfile

import browser
import support
import web_pictures

SHOWN = ("typeof model !== 'undefined' && model.ranks > 0 && model.figures.ranks.state && picture.drawMs > 0"
         " && !picture.isAsked")


class Case(support.TestCase):
    def player(self, picture=None):
        player = web_pictures.Player()
        self.addCleanup(player.close)
        if picture:
            player.show_all(picture)
        return player


class Windows(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.mkdtemp(prefix="toprun-test-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.browser = browser.Browser(folder)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.browser.close_pages)

    def opened(self, player, **size):
        page = self.browser.page(**size)
        page.open(player.url)
        page.until(SHOWN)
        return page

    def assert_clean(self, page, player):
        self.assertEqual(page.complaints(), [])
        elsewhere = [url for url in page.requests() if not url.startswith((player.address, "data:", "about:"))]
        self.assertEqual(elsewhere, [])
