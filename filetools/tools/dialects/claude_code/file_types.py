"""Types of files by the names that ripgrep made known, as globs."""

from __future__ import annotations

from typing import Final

from filetools.errors import InvalidArgumentError
from filetools.tools.arguments import nearest_name

FILE_TYPES: Final = {
    "c": "*.{c,h,H,cats}", "clojure": "*.{clj,cljc,cljs,cljx}", "config": "*.{cfg,conf,config,ini}",
    "cpp": "*.{C,H,cc,cpp,cxx,hh,hpp,hxx,inl}", "cs": "*.cs", "css": "*.{css,scss}", "csv": "*.csv", "cuda": "*.{cu,cuh}",
    "dart": "*.dart", "docker": "*Dockerfile*", "elixir": "*.{ex,eex,exs,heex,leex,livemd}", "elm": "*.elm",
    "erlang": "*.{erl,hrl}", "fsharp": "*.{fs,fsi,fsx}", "go": "*.go", "graphql": "*.{graphql,graphqls}",
    "groovy": "*.{gradle,groovy}", "haskell": "*.{hs,lhs,c2hs,cpphs}", "html": "*.{ejs,htm,html}",
    "java": "*.{java,jsp,jspx,properties}", "js": "*.{cjs,js,jsx,mjs,vue}", "json": "{*.json,composer.lock,*.sarif}",
    "julia": "*.jl", "jupyter": "*.{ipynb,jpynb}", "kotlin": "*.{kt,kts}", "less": "*.less", "log": "*.log", "lua": "*.lua",
    "make": "{[Mm]akefile,[Mm]akefile.*,*.mak,*.mk,GNUmakefile}", "markdown": "*.{markdown,md,mdown,mdwn,mdx,mkd,mkdn}",
    "md": "*.{markdown,md,mdown,mdwn,mdx,mkd,mkdn}", "nix": "*.nix", "objc": "*.{h,m}", "ocaml": "*.{ml,mli,mll,mly}",
    "perl": "*.{PL,perl,pl,plh,plx,pm,t}", "php": "*.{php,php3,php4,php5,php7,php8,pht,phtml}", "protobuf": "*.proto",
    "ps": "*.{cdxml,ps1,ps1xml,psd1,psm1}", "py": "*.{py,pyi}", "python": "*.{py,pyi}", "r": "*.{R,Rmd,Rnw,r}",
    "rst": "*.rst", "ruby": "{*.gemspec,*.rb,*.rbw,Gemfile,Rakefile,config.ru}", "rust": "*.rs", "sass": "*.{sass,scss}",
    "scala": "*.{sbt,scala}", "sh": "*.{bash,bashrc,csh,cshrc,ksh,sh,tcsh,zsh}", "sql": "*.{psql,sql}",
    "svelte": "{*.svelte,*.svelte.ts}", "svg": "*.svg", "swift": "*.swift", "terraform": "*.{tf,tfvars}",
    "tex": "*.{bib,cls,dtx,ins,ltx,sty,tex}", "toml": "{*.toml,Cargo.lock}", "ts": "*.{cts,mts,ts,tsx}",
    "txt": "*.txt", "typescript": "*.{cts,mts,ts,tsx}", "vue": "*.vue", "xml": "*.{dtd,rng,sch,svg,xhtml,xjb,xml,xsd,xsl,xslt}",
    "yaml": "*.{yaml,yml}", "zig": "*.zig",
}  # fmt: skip


def globs_of_type(name: str) -> str:
    """Return the glob of a type of files.

    Raises:
        InvalidArgumentError: There is none of that name; names the nearest.
    """
    found = FILE_TYPES.get(name)
    if found is None:
        nearest = nearest_name(name, list(FILE_TYPES))
        hint = f"did you mean {nearest!r}?" if nearest else "use glob instead, such as *.ext"
        raise InvalidArgumentError(f"There is no type of files named {name[:40]!r}; {hint}")
    return found
