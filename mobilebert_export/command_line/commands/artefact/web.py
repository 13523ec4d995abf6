"""`mobilebert web`: artefacts as a static site that runs them in a browser."""

import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_runtime.errors import OptionError


def web(
    folders: Annotated[
        list[Path],
        opt.INPUT_FOLDER,
        Argument(help="Artefacts, of which the page opens the first; with --serve also one site."),
    ],
    out: Annotated[Path | None, opt.SITE_FOLDER, Option(help="Folder of the site.")] = None,
    serve: Annotated[
        bool, Option("--serve", help="Show it on this machine, with the headers that threads need.")
    ] = False,
    port: Annotated[int, opt.Number(0, 65_535), Option(help="Of --serve; 0: any that is free.")] = 8000,
    node_modules: Annotated[
        Path | None,
        opt.INPUT_FOLDER,
        Option(help="Holds the runtimes' npm packages; default: node_modules here, or web/node_modules."),
    ] = None,
    licence: Annotated[
        str | None, Option(help="Of the models, as the page shows it; default: a shipped model's own.")
    ] = None,
    force: opt.Force = False,  # noqa: ARG001 (the rule of --out reads it)
) -> None:
    """Write a static site that matches, searches an FAQ and measures in the visitor's browser, offline too.

    `mobilebert web artefacts/matcher-int8 --out site` writes a folder to put on any web server.
    `mobilebert web artefacts/matcher-int8 --serve` shows it here, and `mobilebert web site --serve` one made
    before.
    """
    from mobilebert_export.web_site import is_site, serve_site, write_site

    made = is_site(folders[0])
    if made and not (serve and out is None and len(folders) == 1):
        raise OptionError(f"{folders[0]}: is a site; give artefacts, or this folder alone with --serve")
    if not (out or serve):
        raise OptionError("--out is missing; give the site's folder, or --serve to show it here")
    with tempfile.TemporaryDirectory() as scratch:
        site = folders[0] if made else out or Path(scratch) / "site"
        if not made:
            write_site(folders, site, node_modules, licence)
        if out:
            sys.stdout.write(f"{out}\n")
        if serve:
            server = serve_site(site, port)
            sys.stdout.write(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)\n")
            sys.stdout.flush()
            with suppress(KeyboardInterrupt), server:
                server.serve_forever()
