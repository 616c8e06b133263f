# SPDX-License-Identifier: Apache-2.0
"""
Grafana's published schema of dashboards: the types of @grafana/schema, by the compiler of TypeScript. BRICK_GRAFANA is a folder
node_modules that holds @grafana/schema and typescript; without it nothing is checked.
"""
import json
import os
import re
import shutil
import subprocess

from libcli import TMP, expect

MODULES = os.environ.get("BRICK_GRAFANA")


def united(text):
    """Enumerations as unions of their values, which JSON has."""
    return re.sub(r"export declare enum (\w+) \{(.*?)\n\}",
                  lambda m: f"export type {m[1]} = {' | '.join(re.findall(r'= (.*?),?$', m[2], re.M)) or 'never'};", text, flags=re.S)


def check_schema(board):
    """Dashboard, panels, and each panel's options have no member that the schema lacks, and all that it wants."""
    if not MODULES:
        return
    place = os.path.join(TMP, "grafana")
    shutil.copytree(os.path.join(MODULES, "@grafana", "schema", "dist", "types"), os.path.join(place, "types"))
    for at, _, names in os.walk(place):
        for name in names:
            with open(os.path.join(at, name), "r+", encoding="utf-8") as file:
                text = united(file.read()).replace("'@grafana/schema'", "'" + os.path.relpath(os.path.join(place, "types", "index"), at) + "'")
                file.seek(0)
                file.truncate()
                file.write(text)
    lines = ["import * as raw from './types/raw/dashboard/x/types.gen';", "type Some<T> = T extends (infer U)[] ? Some<U>[] : "
             "T extends object ? {[K in keyof T]?: Some<T[K]>} : T;"]
    lines += [f"import * as {kind} from './types/raw/composable/{kind}/panelcfg/x/types.gen';"
              for kind in {panel["type"] for panel in board["panels"]} - {"row"}]
    values = [("raw.Dashboard", {key: value for key, value in board.items() if key != "panels"})]
    for panel in board["panels"]:
        values.append(("raw.RowPanel" if panel["type"] == "row" else "raw.Panel", panel))
        if panel["type"] != "row":
            values.append((f"Some<{panel['type']}.Options>", panel.get("options", {})))
            values.append((f"Some<{panel['type']}.FieldConfig>", panel["fieldConfig"]["defaults"].get("custom", {})))
    lines += [f"const v{i}: {kind} = {json.dumps(value)};" for i, (kind, value) in enumerate(values)] + ["export {};"]
    with open(os.path.join(place, "board.ts"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    done = subprocess.run([os.path.join(MODULES, ".bin", "tsc"), "--noEmit", "--strict", "--skipLibCheck", "--moduleResolution", "node",
                           os.path.join(place, "board.ts")], capture_output=True, text=True, timeout=600, check=False)
    expect(f"the dashboard has Grafana's schema: {done.stdout[-3000:]}", done.returncode, 0)
