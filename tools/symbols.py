"""symbols: checks by their undefined symbols that the core libraries are pure.

    tools/symbols.py [--only MODULE,...] LIBRARY.a ...

Of the library after --only, just these modules are checked: the files of a layer that only work on
memory. They are named by their paths within the layer. A symbol that the libraries use but do not
define must be on the list below: memory, strings, formatting into memory, arithmetic. Clocks, files,
sockets, threads and the system's randomness are not on the list, so using them fails.
"""

import re
import subprocess
import sys

ALLOWED = re.compile(
    r"""^(
    malloc | calloc | realloc | reallocarray | free | aligned_alloc
  | madvise      # advice about our own memory
  | mmap(64)? | munmap    # zeroed memory of our own: base/mapping.c, which maps no file
  | mem(cpy|move|set|cmp|chr|rchr|mem) | bcmp
  | str(len|nlen|cmp|ncmp|casecmp|ncasecmp|chr|rchr|str|spn|cspn|pbrk|dup|ndup|cpy|ncpy|cat)
  | strto(d|l|ul|ll|ull)
  | strerrordesc_np    # returns one of a table of constants
  | qsort(_r)? | bsearch | abs | labs
  | v?(sn|as)printf
  | abort
  | (sqrt|cbrt|a?cosh|pow|atan2?|sincos|log|log2|log10|exp|exp2|sin|cos|fabs|floor|ceil|round|rint|fmin|fmax|fmod|hypot|lround|llround|lgamma|expm1|log1p)f?
  | __errno_location | __assert_fail | __stack_chk_fail | __stack_chk_guard | __ctype_b_loc
  | __(memcpy|memmove|memset|strcpy|strcat|strncpy|vsnprintf|snprintf|sprintf)_chk
  | __isoc23_strto(l|ul|ll|ull) | __isnan | __finite
  | __popcountdi2 | __(u?divti3|u?modti3|multi3|(un)?ord[sd]f2) | __float\w+ | __fix\w+ | __udivti3 | __umodti3
  | __aarch64_(cas|swp|ldadd|ldclr|ldeor|ldset)\d+_\w+    # atomic operations that are functions there
  | __cpu_model    # which instructions the processor has
  | _GLOBAL_OFFSET_TABLE_
  | XML_\w+      # expat parses memory
  | METIS_\w+    # partitions a graph in memory
  | SHA1_(Init|Update|Final)    # hashes memory
  | crypto_generichash\w* | sodium_(init|memcmp|memzero)    # hashes memory
  | __(asan|ubsan|sanitizer|gcov)\w* | _?_?llvm_\w+
    )$""",
    re.VERBOSE,
)


def symbols(library, modules, flag):
    """Yields the symbols of these modules of the library, or of all modules if none is named."""
    listing = subprocess.run(["nm", flag, library], capture_output=True, text=True, check=True)
    missing, wanted = set(modules), not modules
    for line in listing.stdout.splitlines():
        words = line.split()
        if not words:
            continue
        if words[-1].endswith(":"):
            module = words[-1].split("/")[-1].split(".")[0]
            wanted = not modules or module in modules
            missing.discard(module)
        elif wanted:
            yield words[-1]
    if missing:
        sys.exit(f"symbols: {library} has no {', '.join(sorted(missing))}")


def libraries_read(words):
    libraries, modules = [], []
    words = iter(words)
    for word in words:
        if word == "--only":
            modules = next(words, "").replace("/", "_").split(",")
        else:
            libraries.append((word, modules))
            modules = []
    return libraries


def main():
    libraries = libraries_read(sys.argv[1:])
    if not libraries:
        sys.exit(__doc__)
    defined = {name for library in libraries for name in symbols(*library, "--defined-only")}
    bad = 0
    for library, modules in libraries:
        for name in sorted(set(symbols(library, modules, "--undefined-only")) - defined):
            if not ALLOWED.match(name):
                print(f"{library}: uses {name}, which a pure library may not")
                bad += 1
    print(f"symbols: {len(libraries)} libraries, {len(defined)} defined symbols, {bad} findings")
    return 1 if bad or not defined else 0


sys.exit(main())
