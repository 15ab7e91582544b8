export const wholeConfig = {
  $schema: './config.schema.json',
  mode: 'allowlist', allowlist: ['read', 'bash:git status'], rules: [{ permission: 'bash', action: 'ask' }],
  roles: { allow_bash: false, allow_bash_reviewer: true }, toolsEnabled: true,
  tools: { bash: { enabled: true, timeoutMs: 5000, shell: 'zsh' } },
  extensions: { weather: { enabled: true, isolation: 'process', activation: 'eager', config: { unit: 'C', deep: [{ a: null }] }, limits: { heapMb: 64 } } },
  packages: ['@acme/tools'], isolation: { bundled: 'inline', global: 'thread', project: 'process' },
  policy: {
    integrity: { global: 'require', project: 'warn' }, signature: { bundled: 'off' }, identities: { weather: { issuer: 'https://x.test', repository: 'a/b' } },
    update: { widening: 'consent' }, ceiling: { fs: { read: ['**'] } },
  },
  mcp: {
    files: { type: 'local', command: ['node', 'server.js'], env: ['TOKEN'], enabled: false, timeoutMs: 1 },
    web: { type: 'remote', url: 'https://mcp.test/x', headers: { Authorization: { secret: 'MCP_TOKEN' } } },
  },
  openapi: { shop: { document: './shop.json', baseUrl: 'http://localhost:3000', prefix: 'shop', operations: ['a'], tags: ['b'], auth: { type: 'apiKey', header: 'X-Key', secret: 'KEY' } } },
  search: { providers: [{ type: 'searxng', url: 'https://search.test', secret: 'KEY', resultsPath: '/results' }], callsPerSession: 25, timeoutMs: 15_000 },
  skills: { paths: ['./skills'], enabled: true }, limits: { memoryMb: 256 }, budget: { tokens: 8000, calls: 20 }, audit: { enabled: true, arguments: false },
}

export const validConfigs: readonly (readonly [string, unknown])[] = [
  ['nothing', {}],
  ['everything', wholeConfig],
]

export const invalidConfigs: readonly (readonly [string, unknown, string])[] = [
  ['no object', 'ask', ''],
  ['an unknown key', { modes: 'ask' }, ''],
  ['an unknown mode', { mode: 'trust' }, 'mode'],
  ['an empty entry of the allowlist', { allowlist: [''] }, 'allowlist/0'],
  ['a rule with an unknown action', { rules: [{ permission: 'bash', action: 'maybe' }] }, 'rules/0/action'],
  ['a rule with an unknown key', { rules: [{ permission: 'bash', action: 'deny', when: 'now' }] }, 'rules/0'],
  ['a flag of another form', { roles: { bash: true } }, 'roles/bash'],
  ['a flag that is a text', { roles: { allow_bash: 'no' } }, 'roles/allow_bash'],
  ['a tool of a bad name', { tools: { 'a.b': {} } }, 'tools/a.b'],
  ['a deadline of zero', { tools: { bash: { timeoutMs: 0 } } }, 'tools/bash/timeoutMs'],
  ['a stranger in the host’s own thread', { extensions: { weather: { isolation: 'inline' } } }, 'extensions/weather/isolation'],
  ['a layer of strangers in the host’s own thread', { isolation: { project: 'inline' } }, 'isolation/project'],
  ['an unknown layer', { isolation: { user: 'thread' } }, 'isolation'],
  ['an unknown limit', { limits: { forks: 1 } }, 'limits'],
  ['a negative limit', { limits: { heapMb: -1 } }, 'limits/heapMb'],
  ['an unknown policy', { policy: { integrity: { global: 'maybe' } } }, 'policy/integrity/global'],
  ['a ceiling with an unknown power', { policy: { ceiling: { gpu: true } } }, 'policy/ceiling'],
  ['a local server without a command', { mcp: { a: { type: 'local' } } }, 'mcp/a/command'],
  ['a local server with a URL', { mcp: { a: { type: 'local', command: ['x'], url: 'https://x.test' } } }, 'mcp/a'],
  ['a remote server without a URL', { mcp: { a: { type: 'remote' } } }, 'mcp/a/url'],
  ['a URL of another scheme', { mcp: { a: { type: 'remote', url: 'file:///etc/passwd' } } }, 'mcp/a/url'],
  ['a secret that is written out', { mcp: { a: { type: 'remote', url: 'https://x.test', headers: { Authorization: 'Bearer x' } } } }, 'mcp/a/headers/Authorization'],
  ['a secret that is no name', { openapi: { a: { document: 'x', auth: { type: 'bearer', secret: 'sk-live 123' } } } }, 'openapi/a/auth/secret'],
]
