# SPDX-License-Identifier: Apache-2.0
"""Functions that have the names of an engine's, and are none: called with arguments that lead nowhere, they get what
they were called with and return what they return, however they are linked. The same where a real interface refuses
such arguments: OpenCL's, and NVTX, which looks at nothing as long as no tool is there."""
import glob
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from librecord import *

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# As the engine declares them, and many times for each node: how many arguments, and whether there is a result.
TYPED = {"ggml_cpu_extra_compute_forward": (2, True), "ggml_barrier": (1, False), "ggml_is_empty": (1, True),
         "ggml_compute_forward": (2, False), "ggml_compute_forward_rms_norm_mul_fused": (3, False),
         "ggml_graph_compute": (2, True), "ggml_backend_sched_set_eval_callback": (3, False)}
NOWHERE = [", ".join([n] * 6) for n in ("0", "1", "-1ul", "0xabcdefabcdefabcdul")]


def table(path, pattern):
    with open(os.path.join(SOURCE, "src", "attach", path)) as file:
        return re.findall(pattern, file.read().replace("\\\n", " "))


def engine_names():
    names = ["".join(re.findall('"(.*?)"', parts))
             for parts in table("rules/ggml_symbols.h", r'X\(\w+, \w+,\s*((?:"\w*"\s*)+),')]
    check(len(names) > 70, "functions in the table:", len(names))
    return names


def compiled(scratch, name, *arguments, **files):
    for file, text in files.items():
        with open(scratch.file(file + ".c"), "w") as out:
            out.write(text)
    run = subprocess.run(["cc", "-O1", *arguments, "-o", scratch.file(name)], cwd=scratch.path, capture_output=True)
    same(run.returncode, 0, f"{name}: {run.stderr.decode()}")
    return scratch.file(name)


def unharmed(scratch, name, program, **environment):
    env = dict(os.environ, **environment)
    run = record(scratch.file("namesakes.pftrace"), program, env=env)
    plain = subprocess.run([program], capture_output=True, timeout=600)
    same((run.returncode, run.stdout), (plain.returncode, plain.stdout), f"{name}, {environment}: {run.stderr}")
    same(plain.returncode, 0, f"{name}, without Brick")
    print(name, *environment.values())


def engines(scratch):
    """Those with mangled names are an engine's, or do not exist; but they may be given nothing."""
    library, calls, declared = [], [], []
    for i, name in enumerate(engine_names()):
        count, has_result = TYPED.get(name, (6, True))
        uses = " + ".join(f"{2 * k + 1} * {'abcdef'[k]}" for k in range(count))
        declared.append(f'word f{i}(word, word, word, word, word, word) __asm__("{name}");')
        library.append(f"API word f{i}(word a, word b, word c, word d, word e, word f)\n{{ word sum = seen += {uses};"
                       f" seen ^= {i}; return sum & 1; }}")
        calls += [f"sum = sum * 3 + (f{i}({arguments}) & {int(has_result)});" for arguments in NOWHERE[:1 if name[0] == "_" else None]]
    head = "\n".join(["#include <stdio.h>", "#define API __attribute__((noinline, visibility(\"default\")))",
                      "typedef unsigned long word;", "word all(void);", *declared, ""])
    library = head + "static volatile word seen;\nword all(void) { return seen; }\n" \
        "const char mine[] = \"ggml\"; const char *who(void); const char *who(void) { return mine; }\n" + "\n".join(library)
    main = head + "int main(void) { word sum = 0;\n" + "\n".join(calls) + 'printf("%lx %lx\\n", sum, all()); return 0; }\n'
    compiled(scratch, "libmine.so", "-fPIC", "-shared", "library.c", library=library)
    linked = compiled(scratch, "linked", "main.c", "-L.", "-lmine", "-Wl,-rpath," + scratch.path, main=main)
    whole = compiled(scratch, "whole", "main.c", "library.c")
    exported = compiled(scratch, "exported", "main.c", "library.c", "-rdynamic")
    for name, program in ("linked", linked), ("whole", whole), ("exported", exported):
        for way in "auto", "callback", "graph":
            unharmed(scratch, "engine's names, " + name, program, BRICK_ATTACH=way)
        unharmed(scratch, "engine's names, " + name, program, BRICK_CAPTURE="graph,digest-all,experts")


OPENCL = """
#include <dlfcn.h>
#include <stdio.h>
typedef unsigned long word;
typedef word (*call)(word, word, word, word, word, word, word, word, word, word, word, word, word, word);
int main(void)
{
	const char *const names[] = {NAMES};
	word region[3] = {4, 4, 4}, at = (word)region;
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
	for (unsigned i = 0; library && i < sizeof(names) / sizeof(*names); i++) {
		call f = (call)dlsym(library, names[i]);
		if (!f)
			continue;
		printf("%s %d", names[i], (int)f(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
		/* a queue that is none, refused before anything else is looked at */
		if (names[i][2] == 'E')
			printf(" %d", (int)f(0, 8, 8, 8, at, at, at, at, at, at, 0, 0, 0, 0));
		printf("\\n");
	}
	return 0;
}
"""


def opencl(scratch):
    names = re.findall(r"cl\w+", " ".join(table("opencl/opencl_driver.h", r"#define DRIVER_HOOKED\(X\)(.*)")))
    check(len(names) > 40, "functions of OpenCL:", names)
    text = OPENCL.replace("NAMES", ", ".join(f'"{name}"' for name in names))
    unharmed(scratch, "OpenCL", compiled(scratch, "opencl", "opencl.c", "-ldl", opencl=text))


NVTX = """
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#define NOWHERE(type) ((type)(void *)0xabcdef8)
int main(void)
{
	nvtxEventAttributes_t event = {0};
	nvtxDomainHandle_t domain = nvtxDomainCreateA("a domain");
	nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, "a string");
	const nvtxStringHandle_t strings[] = {0, string, NOWHERE(nvtxStringHandle_t)};
	const nvtxDomainHandle_t domains[] = {0, domain, NOWHERE(nvtxDomainHandle_t)};
	event.version = NVTX_VERSION;
	event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	for (int i = 0; i < 9; i++) {
		nvtxDomainHandle_t d = domains[i / 3];
		event.message.registered = strings[i % 3];
		nvtxDomainMarkEx(d, &event);
		nvtxDomainMarkEx(d, NULL);
		nvtxDomainRangePushEx(d, &event);
		nvtxDomainRangePushEx(d, NULL);
		nvtxDomainRangePop(d);
		nvtxDomainRangePop(d);
		nvtxDomainRangePop(d);
		nvtxDomainRangeEnd(d, nvtxDomainRangeStartEx(d, &event));
		nvtxDomainRangeEnd(d, ~0ull);
		nvtxDomainRangeStartEx(d, NULL);
		nvtxDomainNameCategoryA(d, 1, NULL);
		nvtxDomainRegisterStringA(d, NULL);
		nvtxDomainRegisterStringW(d, NULL);
	}
	nvtxDomainCreateA(NULL);
	nvtxDomainCreateW(NULL);
	nvtxMarkEx(NULL);
	nvtxMarkA(NULL);
	nvtxRangePushEx(NULL);
	nvtxRangePushA(NULL);
	nvtxRangePushW(NULL);
	nvtxRangeStartA(NULL);
	nvtxNameOsThreadA(0, NULL);
#ifdef NVTX_REAL
	nvtxDomainNameCategoryW(domain, 2, NULL);
	nvtxMarkW(NULL);
	nvtxRangeStartW(NULL);
	nvtxRangeEnd(nvtxRangeStartEx(NULL));
	nvtxNameOsThreadW(0, NULL);
	nvtxNameCategoryA(0, NULL);
	nvtxNameCategoryW(3, NULL);
#endif
	printf("done\\n");
	return 0;
}
"""


def nvtx(scratch):
    kinds = [("its double", [os.path.join(SOURCE, place) for place in ("tests/doubles/nvtx", "src", "include")], [])]
    real = [path for path in ["/usr/include", *glob.glob("/usr/local/cuda*/include")]
            if os.path.exists(os.path.join(path, "nvtx3", "nvToolsExt.h"))]
    kinds += [("its own headers", real[:1], ["-DNVTX_REAL"])] if real else []
    for name, places, options in kinds:
        unharmed(scratch, "NVTX, " + name,
                 compiled(scratch, "nvtx", "nvtx.c", "-w", *options, *["-I" + place for place in places], "-ldl", nvtx=NVTX))


if not shutil.which("cc"):
    print("nothing can compile here")
    sys.exit(0)
for test in engines, opencl, nvtx:
    with Scratch() as scratch:
        test(scratch)
same(sessions(), set(), "session directories left")
