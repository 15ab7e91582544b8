import type { Mutant } from '../mutant.ts'

export const MCP_SERVING: readonly Mutant[] = [
  {
    what: 'MAX_CHARS: message of progress for a client', file: 'packages/bridges/src/mcp/serving/call-reports.ts',
    from: 'cut(visibleText(shown), MAX_CHARS)', to: 'visibleText(shown)',
    test: 'packages/bridges/test/mcp/serving/call-reports.test.ts',
  },
  {
    what: 'MAX_LINE_CHARS: line of a log for a client', file: 'packages/bridges/src/mcp/serving/call-reports.ts',
    from: 'cut(visibleText(line.text, { keepLines: true }), MAX_LINE_CHARS)',
    to: 'visibleText(line.text, { keepLines: true })',
    test: 'packages/bridges/test/mcp/serving/call-reports.test.ts',
  },
  {
    what: 'MAX_WAITING: lines of a log that a client has not read',
    file: 'packages/bridges/src/mcp/serving/call-reports.ts', from: 'this.#waiting.length >= MAX_WAITING',
    to: 'false', test: 'packages/bridges/test/mcp/serving/call-reports.test.ts',
  },
  {
    what: 'MAX_NAME_CHARS: name of a client', file: 'packages/bridges/src/mcp/serving/client-request.ts',
    from: '.slice(0, MAX_NAME_CHARS)', to: '', test: 'packages/bridges/test/mcp/serving/served-bounds.test.ts',
  },
  {
    what: 'MAX_FAULT_CHARS: error of a source of content',
    file: 'packages/bridges/src/mcp/serving/content-source.ts', from: '.slice(0, MAX_FAULT_CHARS)', to: '',
    test: 'packages/bridges/test/mcp/serving/served-bounds.test.ts',
  },
  {
    what: 'MAX_LISTED: entries of a served list', file: 'packages/bridges/src/mcp/serving/content-source.ts',
    from: 'merged.size < MAX_LISTED && ', to: '', test: 'packages/bridges/test/mcp/serving/served-bounds.test.ts',
  },
  {
    what: 'MAX_UNREAD_BYTES: stream that a client does not read',
    file: 'packages/bridges/src/mcp/serving/http-exchange.ts',
    from: 'if (res.writableLength > MAX_UNREAD_BYTES) res.destroy()', to: '',
    test: 'packages/bridges/test/mcp/serving/http-exchange.test.ts',
  },
  {
    what: 'MAX_DROPPED_BYTES: rest of a refused body', file: 'packages/bridges/src/mcp/serving/http-exchange.ts',
    from: 'if (left < 0) end()', to: '', test: 'packages/bulkhead/test/mcp/http-limits.test.ts',
  },
  {
    what: 'bodyBytes: body with a length', file: 'packages/bridges/src/mcp/serving/http-exchange.ts',
    from: 'if (Number(req.headers[\'content-length\'] ?? 0) > bodyBytes) throw tooLong', to: '',
    test: 'packages/bridges/test/mcp/serving/http-exchange.test.ts',
  },
  {
    what: 'bodyBytes: body in chunks', file: 'packages/bridges/src/mcp/serving/http-exchange.ts',
    from: 'if (length > bodyBytes) throw tooLong', to: '', test: 'packages/bulkhead/test/mcp/http-limits.test.ts',
  },
  {
    what: 'MAX_VALUES: values of a completion', file: 'packages/bridges/src/mcp/serving/prompt-server.ts',
    from: '.slice(0, MAX_VALUES)', to: '', test: 'packages/bridges/test/mcp/serving/served-bounds.test.ts',
  },
  {
    what: 'MAX_URI_CHARS: address of a resource that is watched',
    file: 'packages/bridges/src/mcp/serving/resource-server.ts',
    from: 'if (uri.length > MAX_URI_CHARS) throw notFound(uri)', to: '',
    test: 'packages/bridges/test/mcp/serving/served-bounds.test.ts',
  },
  {
    what: 'MAX_URI_CHARS: address of a resource that is read',
    file: 'packages/bridges/src/mcp/serving/resource-server.ts',
    from: 'uri.length > MAX_URI_CHARS ? [] : this.#sources', to: 'this.#sources',
    test: 'packages/bridges/test/mcp/serving/served-bounds.test.ts',
  },
  {
    what: 'MAX_SUBSCRIPTIONS: resources that a client watches',
    file: 'packages/bridges/src/mcp/serving/resource-server.ts',
    from: 'this.#subscribed.size >= MAX_SUBSCRIPTIONS && ', to: 'false && ',
    test: 'packages/bridges/test/mcp/serving/served-bounds.test.ts',
  },
  {
    what: 'MAX_CHARS: resource that a client reads', file: 'packages/bridges/src/mcp/serving/resource-server.ts',
    from: 'if (length <= MAX_CHARS) return', to: 'if (length >= 0) return',
    test: 'packages/bridges/test/mcp/serving/served-bounds.test.ts',
  },
  {
    what: 'MAX_RESULTS: saved results that a client can read',
    file: 'packages/bridges/src/mcp/serving/session-resources.ts', from: 'if (this.#saved.size > MAX_RESULTS) this',
    to: 'if (this.#saved.size < 0) this', test: 'packages/bridges/test/mcp/serving/served-bounds.test.ts',
  },
  {
    what: 'PART_BYTES: part of a saved result', file: 'packages/bridges/src/mcp/serving/session-resources.ts',
    from: 'Math.min(PART_BYTES, size - from)', to: 'size - from',
    test: 'packages/bridges/test/mcp/serving/served-bounds.test.ts',
  },
  {
    what: 'MAX_TTL_MS: life of a task', file: 'packages/bridges/src/mcp/serving/tasks.ts',
    from: 'Math.min(Math.max(0, ttl), MAX_TTL_MS)', to: 'Math.max(0, ttl)',
    test: 'packages/bulkhead/test/mcp/tasks.test.ts',
  },
  {
    what: 'maxTasks: tasks of a client', file: 'packages/bridges/src/mcp/serving/task-book.ts',
    from: 'if (this.#tasks.size < this.#maxTasks) return true', to: 'if (this.#tasks.size >= 0) return true',
    test: 'packages/bulkhead/test/mcp/tasks.test.ts',
  },
  {
    what: 'maxOpen: open requests of a client', file: 'packages/bridges/src/mcp/serving/bounded-transport.ts',
    from: 'this.#open.size + this.#leaving >= maxOpen', to: 'false',
    test: 'packages/bridges/test/mcp/serving/bounded-transport.test.ts',
  },
  {
    what: 'maxOpen: refusals that a client does not read',
    file: 'packages/bridges/src/mcp/serving/bounded-transport.ts', from: '++this.#refusals > this.#bounds.maxOpen',
    to: 'false', test: 'packages/bridges/test/mcp/serving/bounded-transport.test.ts',
  },
  {
    what: 'eventsPerSession: events that a session keeps', file: 'packages/bridges/src/mcp/serving/kept-events.ts',
    from: 'while (isOver(this.#bounds, this.count, this.#bytes)) this.dropOldest()', to: '',
    test: 'packages/bridges/test/mcp/serving/kept-events.test.ts',
  },
  {
    what: 'eventBytesPerSession: bytes of events that a session keeps',
    file: 'packages/bridges/src/mcp/serving/kept-events.ts', from: ' || bytes > bounds.bytes', to: '',
    test: 'packages/bridges/test/mcp/serving/kept-events.test.ts',
  },
  {
    what: 'eventsPerToken: events that all sessions with one token keep',
    file: 'packages/bridges/src/mcp/serving/kept-events.ts', from: 'new SessionEvents(() => this.#trim(), bounds)',
    to: 'new SessionEvents(() => {}, bounds)', test: 'packages/bridges/test/mcp/serving/kept-events.test.ts',
  },
  {
    what: 'connectionsPerAddress: connections without a token from one address',
    file: 'packages/bridges/src/mcp/serving/http-connections.ts',
    from: 'if (near.length >= connectionsPerAddress) return', to: 'if (near.length < 0) return',
    test: 'packages/bulkhead/test/mcp/http-limits.test.ts',
  },
  {
    what: 'connectionsWithoutToken: connections without a token',
    file: 'packages/bridges/src/mcp/serving/http-connections.ts',
    from: 'if (strangers.length >= connectionsWithoutToken) return', to: 'if (strangers.length < 0) return',
    test: 'packages/bulkhead/test/mcp/http-limits.test.ts',
  },
  {
    what: 'connectionsPerToken: connections with one token',
    file: 'packages/bridges/src/mcp/serving/http-connections.ts', from: 'own.length >= connectionsPerToken && ',
    to: 'false && ', test: 'packages/bulkhead/test/mcp/http-limits.test.ts',
  },
  {
    what: 'connections: connections in all', file: 'packages/bridges/src/mcp/serving/http-connections.ts',
    from: 'return all.length < MOST || ', to: 'return true || ',
    test: 'packages/bulkhead/test/mcp/http-limits.test.ts',
  },
  {
    what: 'headersMs: time until the headers of a request have arrived',
    file: 'packages/bridges/src/mcp/serving/http-server.ts',
    from: 'const limits = { headersTimeout, requestTimeout,', to: 'const limits = { requestTimeout,',
    test: 'packages/bulkhead/test/mcp/http-limits.test.ts',
  },
  {
    what: 'sessionsPerToken: sessions with one token', file: 'packages/bridges/src/mcp/serving/http-clients.ts',
    from: 'const isFull = all.filter((one) => one.key === key).length >= maxSessions', to: 'const isFull = false',
    test: 'packages/bulkhead/test/mcp/http.test.ts',
  },
  {
    what: 'maxOpen: open requests of a session over HTTP', file: 'packages/bridges/src/mcp/serving/http-client.ts',
    from: 'if (this.#open >= this.#maxOpen)', to: 'if (this.#open < 0)',
    test: 'packages/bulkhead/test/mcp/http.test.ts',
  },
  {
    what: 'IDLE_MS: time that a session over HTTP is idle', file: 'packages/bridges/src/mcp/serving/http-client.ts',
    from: 'if (this.isIdle) void this.end()\n', to: 'if (false) void this.end()\n',
    test: 'packages/bulkhead/test/mcp/http.test.ts',
  },
  {
    what: 'ANSWER_WITHIN_MS: time to answer a question of a call',
    file: 'packages/bridges/src/mcp/serving/open-calls.ts', from: '}, this.#options.answerWithinMs)',
    to: '}, 2 ** 31 - 1)', test: 'packages/bulkhead/test/mcp/rounds.test.ts',
  },
  {
    what: 'answerWithinMs: time to answer a question of a task',
    file: 'packages/bridges/src/mcp/serving/task-extension.ts', from: '?.answer(undefined), answerWithinMs)',
    to: '?.answer(undefined), 2 ** 31 - 1)', test: 'packages/bulkhead/test/mcp/task-extension.test.ts',
  },
  {
    what: 'A request over HTTP without a valid token is refused',
    file: 'packages/bridges/src/mcp/serving/http-guard.ts', from: 'if (token === undefined) return undefined',
    to: 'if (token === undefined) return { key: \'x\', name: \'x\' }',
    test: 'packages/bulkhead/test/mcp/http.test.ts',
  },
  {
    what: 'A token is compared as a whole', file: 'packages/bridges/src/mcp/serving/http-guard.ts',
    from: 'timingSafeEqual(one, digest) ? index : found',
    to: 'timingSafeEqual(one.subarray(0, 0), digest.subarray(0, 0)) ? index : found',
    test: 'packages/bulkhead/test/mcp/http.test.ts',
  },
  {
    what: 'A request over HTTP needs the name of the server as its host',
    file: 'packages/bridges/src/mcp/serving/http-guard.ts', from: 'if (!named.ok) return', to: 'if (false) return',
    test: 'packages/bulkhead/test/mcp/http.test.ts',
  },
  {
    what: 'A web page of another origin is refused', file: 'packages/bridges/src/mcp/serving/http-guard.ts',
    from: 'return from.ok ? undefined', to: 'return true ? undefined',
    test: 'packages/bulkhead/test/mcp/http.test.ts',
  },
  {
    what: 'The events of a session are of no use in another',
    file: 'packages/bridges/src/mcp/serving/kept-events.ts', from: 'if (secret === this.#secret && ', to: 'if (',
    test: 'packages/bridges/test/mcp/serving/kept-events.test.ts',
  },
  {
    what: 'A client with a session of the older era is not replaced before its first call',
    file: 'packages/bridges/src/mcp/serving/http-client.ts',
    from: 'return this.isIdle && this.#served.calls.hasBegun', to: 'return this.isIdle',
    test: 'packages/bulkhead/test/mcp/http-limits.test.ts',
  },
  {
    what: 'A duplicate id of an open request is refused',
    file: 'packages/bridges/src/mcp/serving/bounded-transport.ts', from: 'if (this.#open.has(id)) {',
    to: 'if (false) {', test: 'packages/bulkhead/test/mcp/hostile-client.test.ts',
  },
  {
    what: 'A task is cancelled after its time', file: 'packages/bridges/src/mcp/serving/task-book.ts',
    from: '    task.cancel()\n', to: '', test: 'packages/bridges/test/mcp/serving/task-book.test.ts',
  },
  {
    what: 'A server does not see the lines of a log after its result',
    file: 'packages/bridges/src/mcp/serving/call-reports.ts',
    from: '  report(line: CallLog): void {\n    if (this.#hasEnded) return', to: '  report(line: CallLog): void {',
    test: 'packages/bridges/test/mcp/serving/call-reports.test.ts',
  },
  {
    what: 'A session is found by the token that opened it, in every replica',
    file: 'packages/bridges/src/mcp/serving/replicas.ts', from: 'known.client !== bindingOf(client)',
    to: 'known.client === \'\'',
    test: 'packages/bulkhead/test/replicas/mcp-replicas.test.ts',
  },
  {
    what: 'A call that was sent to a replica that ended is not made again',
    file: 'packages/bridges/src/mcp/serving/replicas.ts',
    from: 'if (!thrown.wasSent || isRepeatable(body)) return undefined',
    to: 'return undefined', test: 'packages/bridges/test/mcp/serving/replicas.test.ts',
  },
  {
    what: 'A forwarded request is not forwarded again', file: 'packages/bridges/src/mcp/serving/replicas.ts',
    from: 'if (isForwarded(request)) throw', to: 'if (request === undefined) throw',
    test: 'packages/bridges/test/mcp/serving/replicas.test.ts',
  },
]
