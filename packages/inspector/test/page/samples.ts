import type {
  About, CallDetail, CallItem, HealthView, PolicyView, ToolItem, ToolsView, TriedCall, WaitingApproval,
} from '../../src/protocol.ts'

export const ABOUT: About = {
  protocol: 1, version: '1.0.0', server: 's1', scope: 'host', decide: true, workspace: '/home/ada/shop',
  timeZone: 'UTC',
  now: 0, linkCommand: 'bulkhead inspect --link',
}

export const approval = (id: string, more: Partial<WaitingApproval> = {}): WaitingApproval => ({
  kind: 'approval', id, digest: `digest-${id}`, since: Date.now() - 40_000, session: 'S-7f31', call: id, host: 'h',
  chain: ['task', 'bash'],
  paused: false, tool: 'bash', label: 'Run commands', mode: 'local', origin: 'bundled bash 1.0.0', agent: 'builder',
  principal: 'ada', command: 'git push origin main --follow-tags',
  argumentsText: '{\n  "command": "git push origin main --follow-tags"\n}',
  arguments: { command: 'git push origin main --follow-tags' },
  reasons: ['the rule "ask bash git push *" in config.json:14'],
  touches: ['shell: git push origin main --follow-tags', 'net: github.com'],
  mayTouch: ['any command', 'files in the workspace'], leavesOut: [],
  notRecorded: 'it changes a server',
  answers: [
    { id: 'once', words: 'this call', lasts: 'call', limits: [] },
    { id: 'session', words: 'git push origin main for this task', lasts: 'session', limits: ['until', 'times'],
      rule: { permission: 'bash', pattern: 'git push origin main *', action: 'allow' },
    },
    {
      id: 'always', words: 'always', lasts: 'always', limits: [],
      rule: { permission: 'bash', pattern: 'git push origin main *', action: 'allow', file: '~/.bulkhead/config.json' },
      narrower: ['git push origin main'],
    },
  ],
  ...more,
})

export const call = (name: string, more: Partial<CallItem> = {}): CallItem => ({
  id: `S-7f31/${name}`, session: 'S-7f31', call: name, host: 'h', tool: 'read', origin: 'bundled read 1.0.0',
  state: 'succeeded',
  at: Date.now(), ms: 3, subject: 'src/app.ts', ...more,
})

export const detail = (item: CallItem): CallDetail => ({
  item,
  spans: [
    { kind: 'policy', depth: 0, words: 'rules, mode and guards', fromMs: 0, ms: 1.2 },
    { kind: 'person', depth: 0, words: 'waiting for a person', fromMs: 1.2, ms: 8_100 },
    { kind: 'start', depth: 0, words: 'start of a compartment', fromMs: 8_101.5, ms: 41 },
    { kind: 'run', depth: 0, words: 'attempt 1', fromMs: 8_143, ms: 320 },
    { kind: 'use', depth: 1, words: 'fs.read', capability: 'fs.read', subject: 'package.json',
      fromMs: 8_150, ms: 2, bytesRead: 1_840 },
    { kind: 'use', depth: 1, words: 'shell', capability: 'shell', subject: 'git push origin main',
      fromMs: 8_160, ms: 290, bytesRead: 220 },
    { kind: 'settle', depth: 0, words: 'settle', fromMs: 8_463, ms: 1 },
  ],
  story: ['ada was asked because of a rule, and allowed it after 8.1 s.', 'It ran in a new compartment.'],
  decided: [{ stage: 'approval', action: 'allow', source: 'ada', reason: 'this call' }],
  children: [], audit: { chain: 'main', position: 412, link: 'b1946ac92492d2347c6235b4d2611184' },
})

const tool = (name: string, more: Partial<ToolItem> = {}): ToolItem => ({
  name, label: 'Read a file', description: 'Reads a file.', layer: 'bundled', extension: name, version: '1.0.0',
  integrity: 'bundled', mode: 'read',
  gated: false, may: ['read files in the workspace'], adds: [], shadows: [], tokens: 210, state: 'active', on: true,
  use: { calls: 12, failed: 1, denied: 0, asked: 0, from: 'the audit' }, ...more,
})

export const TOOLS: ToolsView = {
  tools: [tool('read'), tool('fetch_issue', {
    layer: 'global', extension: 'acme', integrity: 'signed', signer: 'acme', adds: ['net: api.acme.test'] })],
  reach: [
    { kind: 'fs.read', words: 'files in the workspace', tools: ['read'] },
    { kind: 'net', words: 'api.acme.test', tools: ['fetch_issue'] },
  ],
  tokens: 420, diagnostics: [],
}

export const POLICY: PolicyView = {
  mode: 'ask',
  headline: { calls: 1_204, questions: 38, questionsPer100: 3.2, waitedMinutes: 12.5, span: 'the last 30 days' },
  rules: [
    { id: 'r1', permission: 'bash', pattern: 'git push *', action: 'ask', author: 'user',
      file: 'config.json', line: 14, hits: 12 },
    { id: 'r2', permission: 'bash', pattern: 'git *', action: 'allow', author: 'project',
      hits: 0, cannotWin: 'r1 is stricter' },
  ],
  findings: [{ kind: 'cannot win', words: 'allow bash git * never decides', file: 'config.json', line: 15 }],
  questions: [{
    tool: 'bash', subject: 'npm test', times: 9, waitedMs: 340_000, rejected: 0,
    rule: { permission: 'bash', pattern: 'npm test', action: 'allow' },
    alsoAllows: ['scripts of package.json that npm test runs'],
    others: { asked: 0, denied: 0, examples: [], byKey: 0 },
    wider: {
      rule: { permission: 'bash', pattern: 'npm *', action: 'allow' }, times: 12, alsoAllows: ['every command of npm'],
      others: { asked: 3, denied: 1, examples: ['npm publish', 'npm run build'], byKey: 4 },
    },
  }],
  approvals: [],
}

export const TRIED: TriedCall = {
  decision: 'ask',
  chain: [{ stage: 'rules', action: 'ask', source: 'config.json:14', reason: 'ask bash git push *' }],
  remedies: ['Allow it by a rule.'],
}

export const HEALTH = (): HealthView => ({
  at: Date.now(),
  hosts: [{
    id: 'h', machine: 'dev-1', pid: 4_711, version: '1.0.0', workspace: '/home/ada/shop', state: 'live',
    since: Date.now() - 600_000, silentMs: 0,
    sessions: 2, questions: 1, calls: 3, here: true, rules: 'r', rulesDiffer: false, memoryBytes: 91_000_000,
    cpuShare: 0.04,
  }],
  processes: [{
    extension: 'acme', version: '1.0.0', layer: 'global', placement: 'process', state: 'idle', calls: 0, restarts: 1,
    pid: 4_720,
    memoryBytes: 42_000_000, cpuShare: 0, walls: ['bubblewrap', 'limits'],
  }],
  servers: [{
    name: 'github', address: 'npx github', state: 'connected', restarts: 0, walls: ['jail'], frames: true,
  }],
  walls: [{ name: 'bubblewrap', around: 'process', stands: true, cost: '', cure: '' }], wallLine: 'All walls stand.',
  audit: {
    status: 'on', words: 'Every decision is recorded.',
    chains: [{ name: 'main', first: 1, last: 412, link: 'b1946ac9' }],
  },
  series: {
    pointMs: 60_000, from: Date.now() - 1_800_000, calls: Array.from({ length: 30 }, (_, at) => (at * 7) % 11),
    failed: Array.from({ length: 30 }, (_, at) => at % 9 === 0 ? 1 : 0),
    p50Ms: Array.from({ length: 30 }, (_, at) => at % 8 === 0 ? null : 4 + at % 5),
    p95Ms: Array.from({ length: 30 }, (_, at) => at % 8 === 0 ? null : 18 + (at * 3) % 17),
  },
  problems: [],
})
