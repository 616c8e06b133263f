// SPDX-License-Identifier: Apache-2.0
// Bundles the page: js/ and the modules that it imports into one HTML document without numbers.
//
//   node bundle.mjs ROOM OUTPUT      ROOM: the folder with node_modules
//
// The document allows itself no other script than its own, by its hash.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [room, output] = process.argv.slice(2);
if (!output) {
	console.error("usage: node bundle.mjs ROOM OUTPUT");
	process.exit(2);
}
const source = join(dirname(fileURLToPath(import.meta.url)), "js");
const { build, transform } = createRequire(resolve(room, "package.json"))("esbuild");

const bundled = await build({
	entryPoints: [join(source, "main.js")], bundle: true, write: false, minify: true, charset: "ascii",
	format: "iife", target: ["es2022"], legalComments: "inline", nodePaths: [join(resolve(room), "node_modules")],
	absWorkingDir: source,
});
// In a script element nothing ends a script but its end tag, and "<!--" begins a comment.
const script = bundled.outputFiles[0].text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--").trim();
const style = (await transform(await readFile(join(source, "style.css"), "utf8"), { loader: "css", minify: true })).code.trim();
const hash = createHash("sha256").update(script).digest("base64");
const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'`;

const parts = { CSP: policy, STYLE: style, SCRIPT: script };
const page = (await readFile(join(source, "page.html"), "utf8")).replace(/@(CSP|STYLE|SCRIPT)@/g, (_, name) => parts[name]);
await writeFile(output, page);
