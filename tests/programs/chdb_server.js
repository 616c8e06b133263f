// SPDX-License-Identifier: Apache-2.0
// A ClickHouse of today behind the HTTP interface that a server has, by chdb (npm install chdb): for trying the history
// with a server newer than Debian's. Usage: node chdb_server.js PORT FOLDER; NODE_PATH says where chdb is.
"use strict";
const http = require("http");
const { Session } = require("chdb");
const session = new Session(process.argv[3]);
session.query("SET output_format_json_quote_64bit_integers = 0");

function answer(request, body, response) {
	const database = new URL(request.url, "http://localhost").searchParams.get("database");
	try {
		if (database)
			session.query("USE " + database);
		response.end(session.query(body.toString(), "TabSeparated"));
	} catch (error) {
		response.statusCode = 500;
		response.end(String(error));
	}
}

http.createServer((request, response) => {
	const pieces = [];
	request.on("data", (piece) => pieces.push(piece));
	request.on("end", () => answer(request, Buffer.concat(pieces), response));
}).listen(Number(process.argv[2]), "127.0.0.1");
