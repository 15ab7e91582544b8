import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHost, type AgentInput, type Host } from '../../src/index.ts'
import { CACHE } from '../cache.ts'

/** The agents of the documentation as they were written before agents had `ceiling`. */
const AGENTS: Readonly<Record<string, AgentInput>> = {
  'review.ts': {
    name: 'reviewer', prompt: 'Review the sources. Report problems; change nothing.',
    tools: ['read', 'glob', 'grep', 'bash'],
    requires: { fs: { read: ['{workspace}/**'] }, shell: [{ cmd: 'git', args: [{ rest: true }] }] },
    rules: [{ permission: 'fs.read', pattern: 'secrets/**', action: 'deny' }],
    budget: { calls: 50 },
  },
  'agents/reviewer.json': {
    name: 'reviewer', prompt: 'Review the sources. Report problems; change nothing.',
    tools: ['read', 'glob', 'grep'],
    requires: { fs: { read: ['{workspace}/**'] } },
    rules: [{ permission: 'fs.read', pattern: 'secrets/**', action: 'deny' }],
  },
  'every tool': { name: 'reviewer', requires: { fs: { read: ['{workspace}/**'] } } },
  'no requires': { name: 'scout' },
}

const CALLS: Readonly<Record<string, readonly [name: string, args: JsonObject]>> = {
  'read': ['read', { path: 'README.md' }], 'read a secret': ['read', { path: 'secrets/key' }],
  'read outside': ['read', { path: '/etc/hostname' }], 'glob': ['glob', { pattern: '*' }],
  'grep': ['grep', { pattern: 'x', path: 'docs' }], 'list': ['list', {}],
  'write': ['write', { path: 'a', content: '' }],
  'edit': ['edit', { path: 'README.md', old_string: 'a', new_string: 'b' }], 'git': ['bash', { command: 'git status' }],
  'npm': ['bash', { command: 'npm test' }], 'echo': ['bash', { command: 'echo x > a' }],
  'fetch': ['web_fetch', { url: 'https://example.com/' }], 'todo': ['todo', { todos: [] }],
  'question': ['question', { questions: [{ question: 'Why?' }] }], 'plan': ['plan', { enter: true }],
}

/** What its tools and its `requires` refused then, whatever mode and rules say. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  'review.ts': ['read outside', 'list', 'write', 'edit', 'npm', 'echo', 'fetch', 'todo', 'question', 'plan'],
  'agents/reviewer.json': [
    'read outside', 'list', 'write', 'edit', 'git', 'npm', 'echo', 'fetch', 'todo', 'question', 'plan',
  ],
  'every tool': ['read outside', 'write', 'edit', 'git', 'npm', 'echo', 'fetch', 'todo', 'question', 'plan'],
  'no requires': [],
}

let base: string
let host: Host
beforeAll(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-earlier-agents-')))
  for (const name of ['secrets', 'docs']) mkdirSync(join(base, 'work', name), { recursive: true })
  for (const name of ['README.md', 'secrets/key', 'docs/a.md']) writeFileSync(join(base, 'work', name), 'a\n')
  host = await createHost({ workspace: join(base, 'work'), home: join(base, 'home'), cache: CACHE })
})
afterAll(async () => {
  await host.close()
  rmSync(base, { recursive: true })
})

async function refused(agent: AgentInput): Promise<readonly string[]> {
  const session = await host.openSession({ agent, mode: 'yolo' })
  const explained = await Promise.all(Object.entries(CALLS).map(async ([title, [name, args]]) =>
    [title, await session.explain({ id: title, name, arguments: args })] as const))
  await session.close()
  return explained.flatMap(([title, { code }]) =>
    code === 'CapabilityDenied' || code === 'ToolNotRegistered' ? [title] : [],
  )
}

it.each(Object.keys(AGENTS))('%s allows no call more than before', async (title) => {
  const agent = AGENTS[title]!
  const now = await refused(agent)
  expect(REFUSED[title]!.filter((call) => !now.includes(call))).toEqual([])
  // Following the diagnostic changes nothing.
  const { requires, ...rest } = agent
  expect(await refused({ ...rest, ...(requires && { ceiling: requires }) })).toEqual(now)
})
