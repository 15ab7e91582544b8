export const wholeConfig = {
  $schema: './config.schema.json',
  mode: 'allowlist', allowlist: ['read', 'bash:git status'], rules: [{ permission: 'bash', action: 'ask' }],
  roles: { allow_bash: false, allow_bash_reviewer: true }, toolsEnabled: true,
  tools: { bash: { enabled: true, timeoutMs: 5000, shell: 'zsh' } },
  extensions: {
    weather: {
      enabled: true, isolation: 'process', activation: 'eager', config: { unit: 'C', deep: [{ a: null }] },
      limits: { heapMb: 64 }, compartments: 4, runsOn: { labels: ['gpu', 'region=eu'], workspace: 'shop' },
    },
  },
  packages: ['@acme/tools'], isolation: { bundled: 'inline', global: 'thread', project: 'process' },
  policy: {
    integrity: { global: 'require', project: 'warn' }, signature: { bundled: 'off' },
    identities: { weather: { issuer: 'https://x.test', repository: 'a/b' } },
    update: { widening: 'consent' }, ceiling: { fs: { read: ['**'] } },
    conformance: {
      require: true,
      signers: [{ key: '-----BEGIN PUBLIC KEY-----\nMCow' }, { issuer: 'https://x.test', repository: 'a/b' }],
    },
  },
  mcp: {
    files: {
      type: 'local', command: ['node', 'server.js'], env: ['TOKEN'], enabled: false, timeoutMs: 1,
      requires: {
        fs: { read: ['{workspace}', '/srv/data/**'], write: ['{user-data}/x'] }, net: { hosts: ['api.test'] },
      },
      jail: true,
    },
    web: { type: 'remote', url: 'https://mcp.test/x', headers: { Authorization: { secret: 'MCP_TOKEN' } } },
  },
  openapi: {
    shop: {
      document: './shop.json', baseUrl: 'http://localhost:3000', prefix: 'shop', operations: ['a'], tags: ['b'],
      paths: ['/c'], auth: { type: 'apiKey', header: 'X-Key', secret: 'KEY' },
    },
  },
  lsp: {
    rust: {
      command: ['rust-analyzer'], suffixes: ['.rs'], env: ['RUSTUP_HOME'], enabled: true, jail: false,
      requires: { fs: { read: ['{workspace}'] } },
    },
  },
  search: {
    providers: [
      { type: 'searxng', url: 'https://search.test', secret: 'KEY', resultsPath: '/results' },
      { type: 'brave', secret: 'KEY' }, { type: 'tavily', secret: 'KEY' }, { type: 'exa', secret: 'KEY' },
      { type: 'google-cse', secret: 'KEY', engine: '0175:a_b' },
      {
        type: 'json', url: 'https://search.test/{query}?n={max_results}', method: 'POST', maxResults: 10,
        headers: { 'X-Key': 'k {secret}' }, query: { q: '{query}', k: '{secret}' },
        body: { q: ['{query}'], n: '{max_results}', x: '{}' }, secret: 'KEY', resultsPath: '/data', titlePath: '/t',
        urlPath: '/u', snippetPath: '',
      },
    ],
    callsPerSession: 25, timeoutMs: 15_000,
  },
  skills: { paths: ['./skills'], enabled: true }, limits: { memoryMb: 256 },
  sandbox: { idleMs: 60_000, spares: { process: 2, thread: 0 }, most: { hulls: 8, threads: 16 }, os: 'require' },
  commands: {
    read: ['~/.pyenv', '~', '/srv/data'], env: { pass: ['JAVA_HOME'], set: { HTTPS_PROXY: 'http://proxy.test' } },
  },
  budget: { tokens: 8000, calls: 20 },
  audit: { enabled: true, arguments: false },
  record: true,
  store: { url: 'postgres://bulkhead@db.test/agents?sslmode=verify-full', retention: { changesDays: 7 } },
}

export const validConfigs: readonly (readonly [string, unknown])[] = [
  ['nothing', {}],
  ['everything', wholeConfig],
]

export const invalidConfigs: readonly (readonly [string, unknown, string])[] = [
  ['a store with a password in its URL', { store: { url: 'postgres://me:secret@db.test/agents' } }, 'store/url'],
  ['a store with a slash in its password', { store: { url: 'postgres://me:12/secret@db.test/agents' } }, 'store/url'],
  ['a store with a mark in its password', { store: { url: 'postgres://me:12?secret=1@db.test/a' } }, 'store/url'],
  ['a store with a password after its URL', { store: { url: 'postgres://db.test/a?password=x' } }, 'store/url'],
  ['a package with a name that is too long', { packages: ['x'.repeat(215)] }, 'packages/0'],
  [
    'a search service of an unknown type',
    { search: { providers: [{ type: 'bing', secret: 'KEY' }] } },
    'search/providers/0/type',
  ],
  ['a search service without its secret', { search: { providers: [{ type: 'brave' }] } }, 'search/providers/0/secret'],
  [
    'a search service with an address',
    { search: { providers: [{ type: 'exa', secret: 'KEY', url: 'https://evil.test' }] } },
    'search/providers/0',
  ],
  [
    'a search engine with spaces',
    { search: { providers: [{ type: 'google-cse', secret: 'KEY', engine: 'a b' }] } },
    'search/providers/0/engine',
  ],
  [
    'an unknown variable in a query',
    { search: { providers: [{ type: 'json', url: 'https://a.test', query: { q: '{qurey}' } }] } },
    'search/providers/0/query/q',
  ],
  [
    'a query in a header',
    { search: { providers: [{ type: 'json', url: 'https://a.test', headers: { q: '{query}' } }] } },
    'search/providers/0/headers/q',
  ],
  [
    'a secret in a URL',
    { search: { providers: [{ type: 'json', url: 'https://a.test/{secret}', secret: 'KEY' }] } },
    'search/providers/0/url',
  ],
  [
    'a variable in a host',
    { search: { providers: [{ type: 'json', url: 'https://{query}.test/' }] } },
    'search/providers/0/url',
  ],
  [
    'a path that is no JSON Pointer',
    { search: { providers: [{ type: 'json', url: 'https://a.test', titlePath: 'title' }] } },
    'search/providers/0/titlePath',
  ],
  ['a string', 'ask', ''],
  ['an unknown key', { modes: 'ask' }, ''],
  ['an unknown mode', { mode: 'trust' }, 'mode'],
  ['an empty entry of the allowlist', { allowlist: [''] }, 'allowlist/0'],
  ['a rule with an unknown action', { rules: [{ permission: 'bash', action: 'maybe' }] }, 'rules/0/action'],
  ['a rule with an unknown key', { rules: [{ permission: 'bash', action: 'deny', when: 'now' }] }, 'rules/0'],
  ['a flag of another form', { roles: { bash: true } }, 'roles/bash'],
  ['a flag that is a string', { roles: { allow_bash: 'no' } }, 'roles/allow_bash'],
  ['a label with a space', { extensions: { a: { runsOn: { labels: ['big gpu'] } } } }, 'extensions/a/runsOn/labels/0'],
  ['a worker without a label', { extensions: { a: { runsOn: { labels: [] } } } }, 'extensions/a/runsOn/labels'],
  ['an invalid tool name', { tools: { 'a.b': {} } }, 'tools/a.b'],
  ['a deadline of zero', { tools: { bash: { timeoutMs: 0 } } }, 'tools/bash/timeoutMs'],
  ['a deadline of years', { tools: { bash: { timeoutMs: 1e12 } } }, 'tools/bash/timeoutMs'],
  [
    'a deadline of years for a local server', { mcp: { a: { type: 'local', command: ['x'], timeoutMs: 1e12 } } },
    'mcp/a/timeoutMs',
  ],
  [
    'a deadline of years for a remote server',
    { mcp: { a: { type: 'remote', url: 'https://x.test', timeoutMs: 3_600_001 } } }, 'mcp/a/timeoutMs',
  ],
  ['a deadline of years for a document', { openapi: { a: { document: 'x', timeoutMs: 1e12 } } }, 'openapi/a/timeoutMs'],
  ['a pause longer than any timer', { sandbox: { idleMs: 1e12 } }, 'sandbox/idleMs'],
  ['a thousand million spare processes', { sandbox: { spares: { process: 1e9 } } }, 'sandbox/spares/process'],
  ['a thousand million spare threads', { sandbox: { spares: { thread: 1e9 } } }, 'sandbox/spares/thread'],
  ['a thousand million processes', { sandbox: { most: { hulls: 1e9 } } }, 'sandbox/most/hulls'],
  ['a thousand million threads', { sandbox: { most: { threads: 1e9 } } }, 'sandbox/most/threads'],
  ['a limit longer than any timer', { limits: { phaseMs: 1e12 } }, 'limits/phaseMs'],
  ['a budget below zero', { budget: { calls: -1 } }, 'budget/calls'],
  ['a budget that is a number', { budget: -1 }, 'budget'],
  ['a budget beyond whole numbers', { budget: { tokens: 1e300 } }, 'budget/tokens'],
  ['approvals for thousands of years', { approvals: { projectDays: 1e9 } }, 'approvals/projectDays'],
  [
    'a thousand million compartments', { extensions: { weather: { compartments: 1e9 } } },
    'extensions/weather/compartments',
  ],
  [
    'a third-party extension inline', { extensions: { weather: { isolation: 'inline' } } },
    'extensions/weather/isolation',
  ],
  ['a third-party layer inline', { isolation: { project: 'inline' } }, 'isolation/project'],
  ['an unknown layer', { isolation: { user: 'thread' } }, 'isolation'],
  ['an unknown limit', { limits: { forks: 1 } }, 'limits'],
  ['a negative limit', { limits: { heapMb: -1 } }, 'limits/heapMb'],
  ['zero compartments', { extensions: { weather: { compartments: 0 } } }, 'extensions/weather/compartments'],
  ['zero hulls', { sandbox: { most: { hulls: 0 } } }, 'sandbox/most/hulls'],
  ['a folder for commands with wildcards', { commands: { read: ['~/*'] } }, 'commands/read/0'],
  ['the root folder for commands', { commands: { read: ['/'] } }, 'commands/read/0'],
  ['a folder for commands that leads up', { commands: { read: ['/usr/..'] } }, 'commands/read/0'],
  ['a relative folder for commands', { commands: { read: ['src'] } }, 'commands/read/0'],
  ['a variable that loads code', { commands: { env: { pass: ['LD_PRELOAD'] } } }, 'commands/env/pass/0'],
  [
    'a value of a variable that loads code', { commands: { env: { set: { NODE_OPTIONS: '-r x' } } } },
    'commands/env/set/NODE_OPTIONS',
  ],
  ['a value with NUL', { commands: { env: { set: { A: 'a\0b' } } } }, 'commands/env/set/A'],
  ['isolation turned off', { sandbox: { os: 'off' } }, 'sandbox/os'],
  ['an unknown policy', { policy: { integrity: { global: 'maybe' } } }, 'policy/integrity/global'],
  ['a ceiling with an unknown power', { policy: { ceiling: { gpu: true } } }, 'policy/ceiling'],
  [
    'a signer of attestations without a key and an identity', { policy: { conformance: { signers: [{}] } } },
    'policy/conformance/signers/0',
  ],
  [
    'a signer with a private key', { policy: { conformance: { signers: [{ key: '-----BEGIN PRIVATE KEY-----\n' }] } } },
    'policy/conformance/signers/0/key',
  ],
  ['a local server without a command', { mcp: { a: { type: 'local' } } }, 'mcp/a/command'],
  [
    'a grant of a server with wildcards',
    { mcp: { a: { type: 'local', command: ['x'], requires: { fs: { read: ['src/*.ts'] } } } } },
    'mcp/a/requires/fs/read/0',
  ],
  [
    'a grant of the root folder', { mcp: { a: { type: 'local', command: ['x'], requires: { fs: { write: ['/'] } } } } },
    'mcp/a/requires/fs/write/0',
  ],
  [
    'commands in the grant of a server', { mcp: { a: { type: 'local', command: ['x'], requires: { shell: [] } } } },
    'mcp/a/requires',
  ],
  ['a language server without a command', { lsp: { a: {} } }, 'lsp/a/command'],
  ['a language server with a pattern', { lsp: { a: { command: ['x'], suffixes: ['*.ts'] } } }, 'lsp/a/suffixes/0'],
  ['a local server with a URL', { mcp: { a: { type: 'local', command: ['x'], url: 'https://x.test' } } }, 'mcp/a'],
  ['a remote server without a URL', { mcp: { a: { type: 'remote' } } }, 'mcp/a/url'],
  ['a URL of another scheme', { mcp: { a: { type: 'remote', url: 'file:///etc/passwd' } } }, 'mcp/a/url'],
  [
    'a header with a colon in its name',
    { mcp: { a: { type: 'remote', url: 'https://x.test', headers: { 'Authorization:': { secret: 'T' } } } } },
    'mcp/a/headers/Authorization:',
  ],
  [
    'a secret in plain text',
    { mcp: { a: { type: 'remote', url: 'https://x.test', headers: { Authorization: 'Bearer x' } } } },
    'mcp/a/headers/Authorization',
  ],
  [
    'an invalid secret name', { openapi: { a: { document: 'x', auth: { type: 'bearer', secret: 'sk-live 123' } } } },
    'openapi/a/auth/secret',
  ],
  [
    'a key without a header', { openapi: { a: { document: 'x', auth: { type: 'apiKey', secret: 'KEY' } } } },
    'openapi/a/auth/header',
  ],
  [
    'a header name with a colon',
    { openapi: { a: { document: 'x', auth: { type: 'apiKey', header: 'a: b', secret: 'KEY' } } } },
    'openapi/a/auth/header',
  ],
  ['a document URL', { openapi: { a: { document: 'https://x.test/openapi.json' } } }, 'openapi/a/document'],
  ['an invalid path filter', { openapi: { a: { document: 'x', paths: ['pets'] } } }, 'openapi/a/paths/0'],
]
