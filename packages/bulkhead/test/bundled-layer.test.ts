import {
  mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, readFileSync, writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROGRAM_TOOL, type Outcome } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readTools } from '../../tools-bundled/scripts/generated-files.ts'
import { LONG } from '../../../scripts/thoroughly.ts'
import { createHost, type CreateHostOptions, type Session } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { writeExtension } from './extension-folder.ts'
import { joined } from './joined.ts'

let folder: string
const closing: (() => Promise<unknown>)[] = []
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-bundled-'))) })
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
  rmSync(folder, { recursive: true })
})

async function open(options: Partial<CreateHostOptions> = {}) {
  const host = await createHost({
    workspace: folder, home: join(folder, 'home'), cache: CACHE, trust: 'declined', ...options,
  })
  closing.push(() => host.close())
  return { host, session: await host.openSession({ mode: 'yolo' }) }
}
let calls = 0
const call = (session: Session, name: string, args: unknown) =>
  session.call({ id: `c${++calls}`, name, arguments: args })
const data = (outcome: Outcome) => {
  if (outcome.type === 'error') throw new Error(`${outcome.error.code}: ${outcome.error_text}`)
  return outcome.data as Record<string, unknown>
}
const verdict = (outcome: Outcome) => outcome.type === 'error' ? outcome.error.code : 'output'

describe('the tools that ship with the host', () => {
  it('are listed with mode, gate and kind', async () => {
    const { host } = await open()
    expect(host.diagnostics).toEqual([])
    const pinned = (await readTools(join(import.meta.dirname, '../../..'))).filter(({ name }) => name !== PROGRAM_TOOL)
    expect(host.tools().map(({ name, mode, gated, kind }) => [name, mode, gated, kind])).toEqual(
      pinned
        .map(({ name, pin: { mode, gated, kind = 'other' } }) => [name, mode, gated, kind])
        .toSorted(([one], [other]) => (one! < other! ? -1 : 1)),
    )
  })

  it('give way to a tool of the same name and what it declares, unless the name is locked', async () => {
    const home = join(folder, 'home')
    const tools = [{ name: 'git', requires: { shell: [{ cmd: 'true' }] }, gated: true }]
    writeExtension(home, { id: 'vcs', tools }, 'export default { tools: { git: { execute: () => 1 } } }')
    writeExtension(
      home, { id: 'programs', tools: [{ name: 'code_mode' }] },
      'export default { tools: { code_mode: { execute: () => 1 } } }',
    )
    const { host } = await open()
    expect(
      host.diagnostics.filter(({ code }) => code === 'LockedIdRedefined').map(({ extensionId }) => extensionId),
    ).toEqual(['programs'])
    expect(host.tool('git')).toMatchObject({ extension: 'vcs', layer: 'global' })
    const session = await host.openSession({ interactor: { interact: async () => ({ status: 'rejected' }) } })
    expect(await session.explain({ id: 'x', name: 'git', arguments: { action: 'status' } })).toMatchObject({
      decision: 'ask', approvalKey: 'git',
    })
  })

  it('work together on a workspace', LONG, async () => {
    const { session } = await open()
    expect(data(await call(session, 'write', { path: 'src/a.ts', content: 'let a = 1\n' }))).toEqual({
      path: 'src/a.ts', bytes: 10, created: true,
    })
    expect(data(await call(session, 'edit', { path: 'src/a.ts', old_string: '1', new_string: '2' }))).toMatchObject({
      replacements: 1,
    })
    expect(data(await call(session, 'grep', { pattern: 'a = 2' }))).toEqual({
      matches: [{ path: 'src/a.ts', line: 1, text: 'let a = 2' }], total: 1,
    })
    expect(data(await call(session, 'glob', { pattern: 'src/**' }))).toEqual({ paths: ['src/a.ts'], total: 1 })
    expect(data(await call(session, 'read', { path: 'src/a.ts' }))).toMatchObject({ content: 'let a = 2\n' })
    const patch = [
      '*** Begin Patch', '*** Update File: src/a.ts', '@@', '-let a = 2', '+let a = 3',
      '*** Add File: lib/b.ts', '+let b', '*** End Patch',
    ].join('\n')
    const { reverse } = data(await call(session, 'apply_patch', { patch }))
    expect(data(await call(session, 'list', { path: 'lib' }))).toEqual({
      path: 'lib', entries: [{ path: 'b.ts', kind: 'file', size: 6 }],
    })
    expect(data(await call(session, 'repo_overview', {}))).toMatchObject({
      languages: [{ language: 'TypeScript', files: 2, bytes: 16 }],
    })
    await call(session, 'apply_patch', { patch: reverse })
    expect(data(await call(session, 'read', { path: 'src/a.ts' }))).toMatchObject({ content: 'let a = 2\n' })
    expect(data(await call(session, 'todo', { todos: [{ content: 'x', status: 'pending' }] }))).toEqual({
      todos: [{ content: 'x', status: 'pending' }],
    })
    expect(verdict(await call(session, 'question', { questions: [{ question: 'Anyone?' }] }))).toBe(
      'InteractionUnavailable',
    )
    expect(verdict(await call(session, 'web_search', { query: 'x' }))).toBe('CapabilityUnavailable')
  })

  it('answer a call outside the grant with advice for the model, not for manifests', async () => {
    const { host, session } = await open()
    const errorOf = async (where: Session, name: string, args: object) => {
      const outcome = await call(where, name, args)
      return outcome.type === 'error' ? [outcome.error.code, outcome.error_text] : 'output'
    }
    expect(await errorOf(session, 'read', { path: '/etc/passwd' }))
      .toEqual(['CapabilityDenied', 'The call of "read" was refused: "read" may not read /etc/passwd. '
        + 'Use a path inside the workspace that is not in a folder of the host.'])
    expect(await errorOf(session, 'web_fetch', { url: 'http://localhost/' })).toEqual(['CapabilityDenied',
      'The host localhost:80 has an address that is not public (loopback). '
        + 'Use a public host, or ask the operator to allow this address with its port.'])
    const narrow = await host.openSession({ mode: 'yolo', ceiling: { fs: { read: ['{workspace}/**'] } } })
    expect(await errorOf(narrow, 'write', { path: 'x', content: '' })).toEqual([
      'CapabilityDenied',
      expect.stringMatching(
        joined(
          /beyond the ceiling of the session: write .*\. Call a tool that can do less, or ask the operator to /,
          /raise the ceiling\.$/,
        ),
      ),
    ])
  })

  it('list only what the ceiling lets them read', async () => {
    const { host, session } = await open()
    for (const path of ['src/a.ts', 'src/b.md', 'c.md']) await call(session, 'write', { path, content: 'x' })
    const narrow = await host.openSession({ mode: 'yolo', ceiling: { fs: { read: ['{workspace}/**/*.ts'] } } })
    expect(data(await call(narrow, 'list', { depth: 2 }))['entries'])
      .toEqual([{ path: 'src', kind: 'directory' }, { path: 'src/a.ts', kind: 'file', size: 1 }])
    expect(data(await call(narrow, 'repo_overview', {}))).toMatchObject({ files: 1, tree: [{ path: 'src', files: 1 }] })
  })

  it('write output over the limit to a file that is removed with the session', LONG, async () => {
    const { session } = await open()
    mkdirSync(join(folder, 'many'))
    for (let i = 0; i < 1_001; i++) writeFileSync(join(folder, 'many', `f${i}`), 'hit\n')
    for (const [name, args, list, most] of [
      ['glob', { pattern: 'many/*' }, 'paths', 1_000], ['grep', { pattern: 'hit' }, 'matches', 200],
    ] as const) {
      const outcome = await call(session, name, args)
      expect(data(outcome)).toMatchObject({ total: 1_001, [list]: { length: most } })
      expect(outcome.metadata).toMatchObject({ truncated: true, output_path: expect.any(String) })
      expect(readFileSync(outcome.metadata.output_path!, 'utf8').match(/^many\/f\d+/gm)).toHaveLength(1_001)
      closing.push(async () =>
        expect(statSync(outcome.metadata.output_path!, { throwIfNoEntry: false })).toBeUndefined(),
      )
    }
    const few = await call(session, 'glob', { pattern: 'many/f1*' })
    expect(few.metadata.truncated).toBeUndefined()
    await session.close()
    await Promise.all(closing.splice(1).map((check) => check()))
  })

  it('pass tasks to the agent runner, and refuse them without one', async () => {
    const { host, session } = await open({
      runAgent: async ({ agent, prompt }) => ({ output: `${agent.name}: ${prompt}` }),
    })
    expect(data(await call(session, 'task', { subagent_type: 'scout', prompt: 'look' }))).toEqual({
      output: 'scout: look',
    })
    const headless = await host.openSession()
    expect(verdict(await call(headless, 'task', { subagent_type: 'scout', prompt: 'look' }))).toBe('ApprovalDenied')
    expect(verdict(await call((await open()).session, 'task', { subagent_type: 'scout', prompt: 'look' }))).toBe(
      'CapabilityUnavailable',
    )
  })

  it('find deferred tools, which are then offered to the model', LONG, async () => {
    for (let i = 0; i < 21; i++) {
      writeExtension(
        join(folder, 'home'), { id: `ext-${i}`, tools: [{ name: `ext_${i}`, description: `Does thing number${i}.` }] },
        'export default {}',
      )
    }
    const { host, session } = await open()
    const names = () => host.offeredTools(session).map(({ name }) => name)
    expect(session.tools().length).toBeGreaterThan(20)
    expect(names()).not.toContain('ext_7')
    expect(names()).toContain('tool_search')
    expect(data(await call(session, 'tool_search', { query: 'number7' }))).toEqual({
      matches: [{ id: 'ext_7', description: 'Does thing number7.' }],
    })
    expect(names()).toContain('ext_7')
    expect(names()).not.toContain('ext_8')
    expect(host.offeredTools(await host.openSession()).map(({ name }) => name)).not.toContain('ext_7')
    // Only what a session can call is found there.
    const rules = [{ permission: 'ext_7', pattern: '*', action: 'deny' }] as const
    const limited = await host.openSession({ tools: ['tool_search', 'ext_7', 'ext_9'], rules, mode: 'yolo' })
    const found = (query: string) => call(limited, 'tool_search', { query }).then(data)
    expect([await found('number7'), await found('number8')]).toEqual([{ matches: [] }, { matches: [] }])
    expect(await found('number9')).toMatchObject({ matches: [{ id: 'ext_9' }] })
    const child = await limited.openSubagent({ tools: ['tool_search'], mode: 'yolo' })
    expect(data(await call(child, 'tool_search', { query: 'number9' }))).toEqual({ matches: [] })
  })

  it('load skills of the project and of the user, unless the configuration denies it', async () => {
    for (const [path, body] of [
      ['.agents/skills/one', 'of the project'], ['.agents/skills/two', 'hidden'],
      ['home/data/skills/two', 'of the user'],
    ] as const) {
      mkdirSync(join(folder, path), { recursive: true })
      writeFileSync(
        join(folder, path, 'SKILL.md'), `---\nname: ${path.split('/').at(-1)}\ndescription: d\n---\n${body}\n`,
      )
    }
    const { session } = await open({ trust: 'trusted' })
    expect(data(await call(session, 'skill', { name: 'one' }))['content']).toContain('of the project')
    expect(data(await call(session, 'skill', { name: 'two' }))['content']).toContain('of the user')
    expect(
      verdict(await call((await open({ config: { skills: { enabled: false } } })).session, 'skill', { name: 'one' })),
    ).toBe('ToolNotRegistered')
  })

  it('use the configured search service, and fetch from the hosts that the embedder allows', LONG, async () => {
    const server = createServer((request, response) => {
      if (request.url!.startsWith('/search'))
        response.end(JSON.stringify({ results: [{ url: 'https://a.example/', title: 'A', content: 'a' }] }))
      else response.setHeader('content-type', 'text/html').end(`<title>T</title><p>${'word '.repeat(100_000)}`)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(async () => void server.close())
    const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const { session } = await open({
      config: { search: { providers: [{ type: 'searxng', url: `http://${place}` }] } }, fetchHosts: [place],
    })
    expect(data(await call(session, 'web_search', { query: 'x' }))).toEqual({
      results: [{ url: 'https://a.example/', title: 'A', snippet: 'a' }],
    })
    const page = await call(session, 'web_fetch', { url: `http://${place}/` })
    expect(data(page)).toMatchObject({ title: 'T', content_type: 'text/html' })
    expect(Buffer.byteLength(data(page)['content'] as string)).toBeLessThanOrEqual(200 * 1024)
    expect(page.metadata).toMatchObject({ truncated: true, output_path: expect.any(String) })
    expect(verdict(await call((await open()).session, 'web_fetch', { url: `http://${place}/` }))).toBe(
      'CapabilityDenied',
    )
  })

  it('finish the changes of several files that a killed host had begun', async () => {
    const [staged, journal] = ['.bulkhead-00000000-0000-4000-8000-000000000000.tmp', join(folder, 'home/changes')]
    mkdirSync(journal, { recursive: true })
    writeFileSync(join(folder, staged), 'new')
    writeFileSync(
      join(journal, '999999999-1-x.committed'),
      JSON.stringify([{ folder, name: 'a.txt', temporary: staged, before: null }]),
    )
    await open()
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('new')
    expect(readdirSync(journal)).toEqual([])
  })
})
