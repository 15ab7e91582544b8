import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Outcome } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { createHost, type Host, type Session } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

let folder: string
let host: Host
let session: Session
let calls = 0

const server = createServer((_, response) =>
  response.writeHead(200, { 'content-type': 'text/plain' }).end('a line of a page\n'.repeat(20_000)),
)
let place: string
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  place = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-long-'))
  mkdirSync(join(folder, 'workspace'))
  put('hay.txt', 'the needle\n'.repeat(600))
  host = await createHost({
    workspace: join(folder, 'workspace'), home: join(folder, 'home'), cache: CACHE, trust: 'declined',
    fetchHosts: [place],
    config: IN_THREADS,
  })
  session = await host.openSession({ mode: 'yolo' })
})
afterEach(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})

const put = (path: string, content: string): void => writeFileSync(join(folder, 'workspace', path), content)
const call = (name: string, args: object, by = session): Promise<Outcome> =>
  by.call({ id: `c${++calls}`, name, arguments: args })

/** The file of an outcome that was too long for a model. */
function pathIn({ metadata }: Outcome): string {
  expect(metadata.truncated).toBe(true)
  return metadata.output_path!
}
const code = (outcome: Outcome): string => outcome.type === 'error' ? outcome.error.code : JSON.stringify(outcome.data)
const dataOf = <Data>(outcome: Outcome): Data => {
  if (outcome.type === 'error') throw new Error(outcome.error_text)
  return outcome.data as Data
}
const longResult = async (by = session): Promise<string> => pathIn(await call('grep', { pattern: 'needle' }, by))

describe('a result that is too long for a model', () => {
  it('can be read and searched in its file', async () => {
    const path = await longResult()
    const read = await call('read', { path, offset: 1, limit: 2 })
    expect(read).toMatchObject({ type: 'output', data: { path, lines: { from: 1, to: 2 } } })
    const whole = readFileSync(path, 'utf8')
    expect(await call('read', { path, byte_start: 10, byte_end: 30 })).toMatchObject({
      data: { content: whole.slice(10, 30) },
    })
    expect(await call('grep', { pattern: '^hay.txt:599:', path })).toMatchObject({
      data: { total: 1, matches: [{ path }] },
    })
    expect(await call('grep', { pattern: 'needle', path, output_mode: 'count' })).toMatchObject({
      data: { counts: [{ path, count: 600 }] },
    })
  })

  it('is readable by its session only, and makes nothing else readable', async () => {
    const path = await longResult()
    const other = await host.openSession({ mode: 'yolo' })
    const theirs = await longResult(other)
    writeFileSync(join(dirname(path), 'beside.txt'), 'needle')
    for (const outside of [
      theirs, dirname(path), join(dirname(path), 'beside.txt'), `${path}/../beside.txt`, `${path}.x`, dirname(theirs),
    ]) {
      expect(code(await call('read', { path: outside })), outside).toBe('CapabilityDenied')
      expect(code(await call('grep', { pattern: 'needle', path: outside })), outside).toBe('CapabilityDenied')
    }
    for (const [name, args] of [
      ['glob', { pattern: '*', path: dirname(path) }], ['write', { path, content: 'x' }],
      ['edit', { path, old_string: 'needle', new_string: 'x' }],
    ] as const)
      expect(code(await call(name, args)), name).toBe('CapabilityDenied')
    await other.close()
    expect(code(await call('read', { path: theirs }))).toBe('CapabilityDenied')
    expect(readFileSync(path, 'utf8')).toContain('needle')
  })

  it('is not read through a link that replaces its file', async () => {
    const path = await longResult()
    renameSync(path, `${path}.aside`)
    writeFileSync(join(folder, 'secret.txt'), 'the needle of another')
    symlinkSync(join(folder, 'secret.txt'), path)
    expect(code(await call('read', { path }))).toBe('CapabilityDenied')
    expect(code(await call('grep', { pattern: 'needle', path }))).toBe('CapabilityDenied')
  })

  it('is not readable by third-party tools, directly or through bundled tools', async () => {
    const requires = { fs: { read: ['{workspace}/**'] }, capabilities: ['tools.call' as const] }
    writeExtension(
      join(folder, 'home'), { id: 'snoop', tools: [{ name: 'snoop', requires }] },
      `export default { tools: { snoop: {
      execute: async ({ path }, { fs, tools }) => [
        await fs.readText(path).catch(({ code }) => code),
        await tools.call('read', { path }).then((outcome) => outcome.error?.code ?? outcome),
      ],
    } } }`,
    )
    await host.reload()
    const path = await longResult()
    expect(await call('snoop', { path })).toMatchObject({
      type: 'output', data: ['CapabilityDenied', 'CapabilityDenied'],
    })
  })
})

describe('each tool with long output', () => {
  const long = 'x'.repeat(80)
  type Form = [
    tool: string, args: () => JsonObject, prepare: () => void | Promise<void>, holds: (data: JsonObject) => void,
  ]
  const isInFile = async (...[name, args, prepare, holds]: Form): Promise<void> => {
    await prepare()
    const outcome = await call(name, args())
    holds(dataOf(outcome))
    const path = pathIn(outcome)
    const { content, lines } = dataOf<{ content: string; lines: { to: number; total: number } }>(
      await call('read', { path, offset: 500 }),
    )
    expect([lines.to > 500, content.length > 100]).toEqual([true, true])
  }
  it.each<Form>([
    [
      'grep', () => ({ pattern: 'needle' }), () => {},
      ({ matches, total }) => expect([(matches as object[]).length, total]).toEqual([200, 600]),
    ],
    [
      'bash', () => ({ command: 'cat long.txt long.txt' }), () => put('long.txt', `${long}\n`.repeat(2_000)),
      ({ stdout, exit_code }) => expect([(stdout as string).length < 210_000, exit_code]).toEqual([true, 0]),
    ],
  ])('%s writes the whole output to a file that the model can read', isInFile)
  it.each<Form>([
    [
      'glob', () => ({ pattern: '**/*.md' }),
      () => {
        for (let file = 0; file < 1_005; file++) put(`f${file}.md`, '')
      },
      ({ paths, total }) => expect([(paths as string[]).length, total]).toEqual([1_000, 1_005]),
    ],
    [
      'web_fetch', () => ({ url: `http://${place}/` }), () => {},
      ({ content }) => expect((content as string).length).toBeLessThanOrEqual(200 * 1024),
    ],
    [
      'skill', () => ({ name: 'long' }),
      async () => {
        mkdirSync(join(folder, 'home/skills/long'), { recursive: true })
        writeFileSync(
          join(folder, 'home/skills/long/SKILL.md'),
          `---\nname: long\ndescription: Says much.\n---\n${`${long}\n`.repeat(4_000)}`,
        )
        await host.reload()
      },
      ({ content }) => expect((content as string).length).toBeLessThanOrEqual(256 * 1024),
    ],
  ])('%s writes the whole output to a file that the model can read', LONG, isInFile)

  it('read reports which part of a file it returned, and can return the next', async () => {
    put('large.txt', `"quoted ${long}"\n`.repeat(4_000))
    const first = await call('read', { path: 'large.txt' })
    expect(first.metadata.truncated).toBeUndefined()
    const { content, lines: { to, total } } = dataOf<{ content: string; lines: { to: number; total: number } }>(first)
    expect([content.split('\n').length - 1, total]).toEqual([to, 4_000])
    const second = await call('read', { path: 'large.txt', offset: to + 1 })
    expect(content + dataOf<{ content: string }>(second).content).toBe(
      readFileSync(join(folder, 'workspace/large.txt'), 'utf8'),
    )
  })
})
