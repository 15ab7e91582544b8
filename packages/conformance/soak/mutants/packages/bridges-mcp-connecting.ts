import type { Mutant } from '../mutant.ts'

export const MCP_CONNECTING: readonly Mutant[] = [
  {
    what: 'NAME_CHARS: name of a tool of an MCP server',
    file: 'packages/bridges/src/mcp/connecting/catalog/catalog.ts',
    from: ' && (value as { name: string }).name.length <= NAME_CHARS', to: '',
    test: 'packages/bridges/test/mcp/connecting/catalog.test.ts',
  },
  {
    what: 'DEFINITION: definition of a tool of an MCP server',
    file: 'packages/bridges/src/mcp/connecting/catalog/catalog.ts', from: 'findJsonFault(one, DEFINITION)',
    to: 'findJsonFault(one, { maxDepth: 1e4, maxNodes: 1e9, maxChars: 1e9 })',
    test: 'packages/bridges/test/mcp/connecting/catalog.test.ts',
  },
  {
    what: 'MAX_TOOLS: tools of an MCP server', file: 'packages/bridges/src/mcp/connecting/catalog/catalog.ts',
    from: 'tools.size >= MAX_TOOLS', to: 'false', test: 'packages/bridges/test/mcp/connecting/catalog.test.ts',
  },
  {
    what: 'MAX_FAULTS: faults that are reported of one MCP server',
    file: 'packages/bridges/src/mcp/connecting/catalog/catalog.ts', from: '.slice(0, MAX_FAULTS)', to: '',
    test: 'packages/bridges/test/mcp/connecting/catalog.test.ts',
  },
  {
    what: 'MAX_ITEMS: resources and prompts of an MCP server',
    file: 'packages/bridges/src/mcp/connecting/catalog/server-content.ts', from: '.slice(0, MAX_ITEMS)', to: '',
    test: 'packages/bridges/test/mcp/connecting/server-content.test.ts',
  },
  {
    what: 'URI_CHARS: address of a resource', file: 'packages/bridges/src/mcp/connecting/catalog/server-content.ts',
    from: '!isName(uri, URI_CHARS)', to: '!isName(uri, Infinity)',
    test: 'packages/bridges/test/mcp/connecting/server-content.test.ts',
  },
  {
    what: 'TEXT_CHARS: description of a resource',
    file: 'packages/bridges/src/mcp/connecting/catalog/server-content.ts',
    from: 'cut(visibleText(text), TEXT_CHARS)', to: 'visibleText(text)',
    test: 'packages/bridges/test/mcp/connecting/server-content.test.ts',
  },
  {
    what: 'MAX_ARGUMENTS: arguments of a prompt',
    file: 'packages/bridges/src/mcp/connecting/catalog/server-content.ts', from: '.slice(0, MAX_ARGUMENTS)', to: '',
    test: 'packages/bridges/test/mcp/connecting/server-content.test.ts',
  },
  {
    what: 'MOST_FIELDS: fields of a form', file: 'packages/bridges/src/mcp/connecting/elicitation.ts',
    from: ' || Object.keys(properties).length > MOST_FIELDS', to: '',
    test: 'packages/bridges/test/mcp/connecting/elicitation.test.ts',
  },
  {
    what: 'MOST_ATTEMPTS: invalid answers to a field', file: 'packages/bridges/src/mcp/connecting/elicitation.ts',
    from: 'attempt < MOST_ATTEMPTS', to: 'attempt < 100',
    test: 'packages/bridges/test/mcp/connecting/elicitation.test.ts',
  },
  {
    what: 'LIMITS: schema of a field of a form', file: 'packages/bridges/src/mcp/connecting/elicitation.ts',
    from: 'readSchema(schema, { limits: LIMITS })', to: 'readSchema(schema)',
    test: 'packages/bridges/test/mcp/connecting/elicitation.test.ts',
  },
  {
    what: 'MOST_CHARS: error message of an MCP server',
    file: 'packages/bridges/src/mcp/connecting/server-messages.ts', from: '.slice(0, MOST_CHARS)', to: '',
    test: 'packages/bridges/test/mcp/connecting/connection-faults.test.ts',
  },
  {
    what: 'MOST_DUMP_CHARS: error of an invalid response',
    file: 'packages/bridges/src/mcp/connecting/server-messages.ts', from: '\' \').slice(0, MOST_DUMP_CHARS)',
    to: '\' \')', test: 'packages/bridges/test/mcp/connecting/connection-faults.test.ts',
  },
  {
    what: 'MOST_CAUSES: causes of a failed request', file: 'packages/bridges/src/mcp/connecting/server-messages.ts',
    from: ' && chain.length < MOST_CAUSES', to: '',
    test: 'packages/bridges/test/mcp/connecting/connection-faults.test.ts',
  },
  {
    what: 'REQUEST: sampling request of an MCP server',
    file: 'packages/bridges/src/mcp/connecting/server-requests.ts', from: 'if (findJsonFault(params, REQUEST))',
    to: 'if (false)', test: 'packages/bridges/test/mcp/connecting/server-content.test.ts',
  },
  {
    what: 'MAX_TOKENS: tokens that an MCP server may ask a model for',
    file: 'packages/bridges/src/mcp/connecting/server-requests.ts', from: 'Math.min(maxTokens, MAX_TOKENS)',
    to: 'maxTokens', test: 'packages/bridges/test/mcp/connecting/server-content.test.ts',
  },
  {
    what: 'MAX_AT_ONCE: open sampling requests', file: 'packages/bridges/src/mcp/connecting/server-requests.ts',
    from: 'this.#running >= MAX_AT_ONCE', to: 'false',
    test: 'packages/bridges/test/mcp/connecting/server-content.test.ts',
  },
  {
    what: 'MAX_PER_CALL: sampling requests of one call',
    file: 'packages/bridges/src/mcp/connecting/server-requests.ts', from: 'this.#sinceIdle >= MAX_PER_CALL',
    to: 'false', test: 'packages/bridges/test/mcp/connecting/server-content.test.ts',
  },
  {
    what: 'MESSAGE_CHARS: reason of a failed sign-in',
    file: 'packages/bridges/src/mcp/connecting/sign-in/account.ts',
    from: 'return cut(visibleText(redactorOf(this.#known)(text)), MESSAGE_CHARS)',
    to: 'return visibleText(redactorOf(this.#known)(text))',
    test: 'packages/bridges/test/mcp/connecting/sign-in/account.test.ts',
  },
  {
    what: 'MOST_SECRETS: secrets of a sign-in that are kept for redaction',
    file: 'packages/bridges/src/mcp/connecting/sign-in/account.ts', from: 'this.#secrets.slice(1 - MOST_SECRETS)',
    to: 'this.#secrets', test: 'packages/bridges/test/mcp/connecting/sign-in/account.test.ts',
  },
  {
    what: 'MAX_BYTES: response of an authorization server',
    file: 'packages/bridges/src/mcp/connecting/sign-in/guarded-fetch.ts', from: 'incoming, MAX_BYTES,',
    to: 'incoming, Infinity,', test: 'packages/bridges/test/mcp/connecting/sign-in/guarded-fetch.test.ts',
  },
  {
    what: 'CONNECT_MS: time for the handshake with an MCP server',
    file: 'packages/bridges/src/mcp/connecting/connection.ts', from: 'AbortSignal.timeout(connectMs)',
    to: 'AbortSignal.timeout(2 ** 31 - 1)', test: 'packages/bridges/test/mcp/connecting/faulty-servers.test.ts',
  },
  {
    what: 'MAX_PAGES: pages of a list of an MCP server',
    file: 'packages/bridges/src/mcp/connecting/transport/lists.ts', from: 'pages < MAX_PAGES', to: 'true',
    test: 'packages/bridges/test/mcp/connecting/process-transport.test.ts',
  },
  {
    what: 'MAX_LISTED: tools that are read from the pages of an MCP server',
    file: 'packages/bridges/src/mcp/connecting/transport/lists.ts', from: ' || all.length > most', to: '',
    test: 'packages/bridges/test/mcp/connecting/lists.test.ts',
  },
  {
    what: 'MAX_MESSAGE_BYTES: message of a local MCP server',
    file: 'packages/bridges/src/mcp/connecting/transport/client.ts', from: 'maxMessageBytes: MAX_MESSAGE_BYTES',
    to: 'maxMessageBytes: 2 ** 40', test: 'packages/bridges/test/mcp/connecting/faulty-servers.test.ts',
  },
  {
    what: 'MAX_MESSAGE_BYTES: response of a remote MCP server',
    file: 'packages/bridges/src/mcp/connecting/transport/client.ts', from: 'boundedFetch(MAX_MESSAGE_BYTES)',
    to: 'boundedFetch(2 ** 40)', test: 'packages/bridges/test/mcp/connecting/remote.test.ts',
  },
  {
    what: 'TYPE_CHARS: type of an unsupported block',
    file: 'packages/bridges/src/mcp/connecting/transport/readable-result.ts', from: 'cut(type, TYPE_CHARS)',
    to: 'type', test: 'packages/bridges/test/mcp/connecting/readable-result.test.ts',
  },
  {
    what: 'A tool whose definition changed is not called', file: 'packages/bridges/src/mcp/connecting/connection.ts',
    from: 'if (now?.digest === digest) return', to: 'if (now) return',
    test: 'packages/bridges/test/mcp/connecting/servers.test.ts',
  },
  {
    what: 'A sampling request outside of a call is refused',
    file: 'packages/bridges/src/mcp/connecting/server-requests.ts',
    from: 'if (!this.#isCalling()) throw refused(\'no call is running\')', to: '',
    test: 'packages/bridges/test/mcp/connecting/server-content.test.ts',
  },
  {
    what: 'Output of a server has no invisible characters and no secrets',
    file: 'packages/bridges/src/mcp/connecting/connection.ts',
    from: 'new ServerLog((line) => visibleText(this.#redact(line)))', to: 'new ServerLog((line) => line)',
    test: 'packages/bridges/test/mcp/connecting/servers.test.ts',
  },
  {
    what: 'The page that a sign-in ends with must know its state',
    file: 'packages/bridges/src/mcp/connecting/sign-in/redirect-listener.ts',
    from: 'const accepted = isOurs && equal(asked.searchParams.get(\'state\') ?? \'\', this.state)',
    to: 'const accepted = isOurs', test: 'packages/bridges/test/mcp/connecting/sign-in/sign-in.test.ts',
  },
  {
    what: 'An authorization server in another network is not asked',
    file: 'packages/bridges/src/mcp/connecting/sign-in/guarded-fetch.ts', from: 'if (!allowed.has(kind)) throw',
    to: 'if (false) throw', test: 'packages/bridges/test/mcp/connecting/sign-in/guarded-fetch.test.ts',
  },
  {
    what: 'An authorization server is reached over https',
    file: 'packages/bridges/src/mcp/connecting/sign-in/guarded-fetch.ts',
    from: 'return isThisMachine(url) && isThisMachine(server) ? undefined : \'does not use https\'',
    to: 'return undefined', test: 'packages/bridges/test/mcp/connecting/sign-in/guarded-fetch.test.ts',
  },
  {
    what: 'Two processes spend a refresh token once',
    file: 'packages/bridges/src/mcp/connecting/sign-in/credentials.ts',
    from: 'return await withFileLock(this.#lock, alone, { waitMs: LOCK_WAIT_MS })', to: 'return await alone()',
    test: 'packages/bridges/test/mcp/connecting/sign-in/two-processes.test.ts',
  },
  {
    what: 'Tokens of one server are not used for another address',
    file: 'packages/bridges/src/mcp/connecting/sign-in/credentials.ts',
    from: 'found?.success && found.data.url === this.#url ? found.data', to: 'found?.success ? found.data',
    test: 'packages/bridges/test/mcp/connecting/sign-in/credentials.test.ts',
  },
  {
    what: 'A tool that runs only as a task is left out',
    file: 'packages/bridges/src/mcp/connecting/catalog/catalog.ts',
    from: 'isJsonObject(execution) && execution[\'taskSupport\'] === \'required\'',
    to: 'false && isJsonObject(execution)', test: 'packages/bridges/test/mcp/connecting/catalog.test.ts',
  },
  {
    what: 'Of two tools with one name the first is used',
    file: 'packages/bridges/src/mcp/connecting/catalog/catalog.ts',
    from: 'else if (tools.has(name)) faults.push(`"${name}" is listed twice; the first one is used`)', to: '',
    test: 'packages/bridges/test/mcp/connecting/catalog.test.ts',
  },
]
