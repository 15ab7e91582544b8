import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { toFunctionDeclarations } from '@bulkhead/bridges/gemini'
import { toResponseTools } from '@bulkhead/bridges/openai'
import { noteOfCut } from '@bulkhead/contract/dialects'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { serve } from '../../../tools-bundled/test/loopback.ts'
import { createTestHost, type TestHostOptions } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'
import { CACHE } from '../cache.ts'

const LONG_GIT = { tags: ['git', 'long'] }

async function opened(options: TestHostOptions = {}) {
  const host = await createTestHost({ cache: CACHE, ...options })
  const session = await host.openSession({ mode: 'yolo' })
  let count = 0
  const call = (name: string, args: JsonObject = {}) => session.call({ id: `c${++count}`, name, arguments: args })
  return { host, session, call, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() }
}

const COUNTED = {
  output: {
    type: 'object', properties: { success: { type: 'boolean' }, count: { type: 'integer' } },
    required: ['success', 'count'], additionalProperties: false,
  },
  execute: () => ({ success: true, count: 3 }),
}

it('a result that satisfies its output schema is data, also if it looks like another form', async () => {
  const typed = {
    output: { type: 'object', properties: { type: { const: 'error' } }, required: ['type', 'error_text'] },
    execute: () => ({ type: 'error', error_text: 'of a log' }),
  }
  await using world = await opened({ tools: { counted: COUNTED, typed } })
  expect(await world.call('counted')).toSucceedWith({ success: true, count: 3 })
  expect(await world.call('typed')).toSucceedWith({ type: 'error', error_text: 'of a log' })
})

it('an error in the form of phi ends the call as an error', async () => {
  await using world = await opened({ tools: { odd: () => ({ variant: 'InvalidArgs', message: 'bad' }) } })
  expect(await world.call('odd')).toMatchObject({ type: 'error', error_text: expect.stringContaining('bad') })
})

it('the output schema of a tool reaches the APIs that take it', async () => {
  await using world = await opened({ tools: { counted: COUNTED } })
  const tools = world.session.tools().filter(({ name }) => name === 'counted')
  for (const offered of [toResponseTools(tools), toFunctionDeclarations(tools)]) {
    expect(JSON.stringify(offered)).toContain('"count"')
  }
})

it('bash runs longer than its default if the call asks for it, and keeps partial output', LONG, async () => {
  await using world = await opened({ config: { tools: { bash: { timeoutMs: 700 } } } })
  const command = 'echo begun; sleep 1; echo done'
  expect(await world.call('bash', { command, timeout_ms: 20_000 })).toMatchObject({
    type: 'output', data: { stdout: 'begun\ndone\n' },
  })
  expect(JSON.stringify(await world.call('bash', { command: 'echo begun; sleep 60' }))).toContain('begun')
})

const BYTES = 3_000_000
const letters = (count: number, stream = 1) =>
  `head -c ${count} /dev/zero | tr '\\0' ${stream === 1 ? 'a' : 'b'} >&${stream}`

/** For the tests that need no settings of their own. */
let plain: Awaited<ReturnType<typeof opened>>
beforeAll(async () => {
  plain = await opened()
})
afterAll(() => plain[Symbol.asyncDispose]())

it('a long stream of bash is in its saved file, whole', LONG, async () => {
  const { metadata } = await plain.call('bash', { command: letters(BYTES) })
  expect(metadata).toMatchObject({ truncated: true })
  expect(statSync(metadata.output_path!).size).toBeGreaterThanOrEqual(BYTES)
})

it('a long diff of git is in its saved file, whole', LONG_GIT, async () => {
  await using world = await opened()
  const { workspace } = world.host
  const git = (...args: readonly string[]) => execFileSync('git', ['-C', workspace, ...args])
  git('init', '-q')
  writeFileSync(join(workspace, 'long.txt'), '')
  git('add', 'long.txt')
  git('-c', 'user.name=A', '-c', 'user.email=a@example.org', 'commit', '-qm', 'empty')
  writeFileSync(join(workspace, 'long.txt'), `${'a'.repeat(99)}\n`.repeat(BYTES / 100))
  const diffs = [await world.call('git', { action: 'diff' })]
  git('-c', 'user.name=A', '-c', 'user.email=a@example.org', 'commit', '-qam', 'long')
  diffs.push(await world.call('git', { action: 'show' }))
  for (const outcome of diffs) {
    expect(outcome).toMatchObject({
      type: 'output', data: { diff: expect.stringMatching(/^diff --git a\/long.txt/), truncated: true },
      metadata: { truncated: true },
    })
    expect(outcome.metadata.output_cut).toBeUndefined()
    expect(readFileSync(outcome.metadata.output_path!, 'utf8').match(/^\+a{99}$/gm)).toHaveLength(BYTES / 100)
  }
})

it('a long list of git is in its saved file, whole, and the model gets both ends', LONG_GIT, async () => {
  await using world = await opened()
  const { workspace } = world.host
  const subject = (index: number) => `${index} ${'s'.repeat(2_000)}`
  const commits = Array.from({ length: 160 }, (_, index) => `commit refs/heads/main\n`
    + `committer A <a@example.org> ${1_700_000_000 + index} +0000\ndata ${subject(index).length}\n${subject(index)}\n`)
  const branches = Array.from({ length: 4_000 }, (_, index) => `branch-${String(index).padStart(4, '0')}`)
  execFileSync('git', ['init', '-q', '-b', 'main', workspace])
  const body = `long\n\n${'b'.repeat(99)}\n`.padEnd(300_000, `${'b'.repeat(99)}\n`)
  const head = `commit refs/heads/long\ncommitter A <a@example.org> 1700000000 +0000\ndata ${body.length}\n${body}\n`
  const resets = branches.map((name) => `reset refs/heads/${name}\nfrom refs/heads/main\n\n`)
  execFileSync('git', ['-C', workspace, 'fast-import', '--quiet'], { input: [head, ...commits, ...resets].join('') })
  const files = Array.from({ length: 1_200 }, (_, index) => `${String(index).padStart(4, '0')}${'f'.repeat(200)}`)
  for (const name of files) writeFileSync(join(workspace, name), '')
  const asked = [
    {
      args: { action: 'status' }, key: 'entries', lines: /^\?\? \d{4}f{200}$/gm, count: 1_200,
      last: `?? ${files.at(-1)}`,
    },
    { args: { action: 'log', max_count: 500 }, key: 'commits', lines: /^[0-9a-f]{40} .* \d+ s{2000}$/gm, count: 160 },
    { args: { action: 'branch' }, key: 'branches', lines: /^. branch-\d{4} /gm, count: 4_000 },
    { args: { action: 'show', revision: 'long' }, key: 'body', lines: /^b{99}$/gm, count: body.split('\n').length - 3 },
  ]
  for (const { args, key, lines, count, last } of asked) {
    const outcome = await world.call('git', args)
    expect(outcome).toMatchObject({ type: 'output', data: { truncated: true }, metadata: { truncated: true } })
    const { data } = outcome as { data: JsonObject }
    expect((data[key] as string | unknown[]).length).toBeGreaterThan(50)
    if (key !== 'body') expect(data['last']).toHaveLength(20)
    if (last !== undefined) expect(data['last']).toContain(last)
    expect(outcome.metadata.output_cut).toBeUndefined()
    expect(readFileSync(outcome.metadata.output_path!, 'utf8').match(lines)).toHaveLength(count)
  }
})

it('a nested call returns both ends and saves nothing; what the model sees of it is saved', LONG, async () => {
  await using world = await opened({ config: { tools: { code_mode: { enabled: true } } } })
  const code = `const { stdout, truncated } = await tools.bash({ command: 'seq 1 400000' })
    return { truncated, first: stdout.slice(0, 4), last: stdout.slice(-7), all: stdout }`
  const outcome = await world.call('code_mode', { code })
  expect(outcome).toMatchObject({ type: 'output', metadata: { truncated: true } })
  const saved = readFileSync(outcome.metadata.output_path!, 'utf8')
  expect(readdirSync(dirname(outcome.metadata.output_path!))).toHaveLength(1)
  expect(JSON.parse(saved)).toMatchObject({ value: { truncated: true, first: '1\n2\n', last: '400000\n' } })
})

it('what tests write to stderr is in its saved file, whole', LONG, async () => {
  await using world = await opened()
  const put = (path: string, content: string) => writeFileSync(join(world.host.workspace, path), content)
  put('package.json', '{"type":"module","scripts":{"test":"node --test"}}')
  put('a.test.js', `import test from 'node:test'
    test('fails', () => {
      for (let i = 0; i < ${BYTES / 1000}; i++) console.error('e'.repeat(999))
      throw new Error('no')
    })`)
  const outcome = await world.call('test_runner', { path: 'a.test.js' })
  expect(outcome).toMatchObject({ type: 'output', data: { failed: 1, truncated: true }, metadata: { truncated: true } })
  const saved = readFileSync(outcome.metadata.output_path!, 'utf8')
  expect(saved.split('e'.repeat(999)).length).toBeGreaterThan(BYTES / 1000)
})

it('both long streams of bash stay in data', async () => {
  const outcome = await plain.call('bash', { command: `${letters(300_000)}; ${letters(300_000, 2)}` })
  expect(outcome).toMatchObject({ type: 'output', data: {
    stdout: expect.stringMatching(/^a{1000}/), stderr: expect.stringMatching(/^b{1000}/),
  } })
  const saved = readFileSync(outcome.metadata.output_path!, 'utf8')
  // The streams may take turns in the file.
  for (const letter of ['a', 'b']) expect(saved.split(letter).length).toBeGreaterThan(300_000)
})

async function claimsWhole(savedBytes: number): Promise<void> {
  await using world = await opened({ config: { limits: { savedBytes } } })
  const { metadata } = await world.call('bash', { command: letters(BYTES) })
  const { output_path: path } = metadata
  const isWhole = path !== undefined && statSync(path).size >= BYTES
  expect(/the whole is in/i.test(noteOfCut(metadata)!)).toBe(isWhole)
  expect(isWhole).toBe(savedBytes > BYTES)
}

it.each([500_000])('a result claims to be saved whole only if it is: savedBytes %i', claimsWhole)
it.each([64_000_000])('a result claims to be saved whole only if it is: savedBytes %i', LONG, claimsWhole)

it('the output of a tool has the configured size, and an unknown setting costs no tool', async () => {
  const tools = { bash: { maxOutput: '1KB' }, read: { colour: 'red' } }
  await using world = await opened({ config: { tools } })
  const outcome = await world.call('bash', { command: letters(5_000) })
  expect(outcome.metadata.truncated).toBe(true)
  expect(JSON.stringify(outcome).length).toBeLessThan(3_000)
  expect(world.host.tool('read')).toBeDefined()
  expect(world.host.diagnostics).toMatchObject([{ path: expect.stringContaining('/tools/read') }])
})

const search = await serve((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"results":[]}')
})

it('parallel searches stay within the limit of the session', async () => {
  await using world = await opened({ config: { search: { providers: [{ type: 'searxng', url: search.base }] } } })
  const outcomes = await Promise.all(Array.from({ length: 60 }, () => world.call('web_search', { query: 'x' })))
  expect(outcomes.filter(({ type }) => type === 'output')).toHaveLength(25)
  expect(search.requests).toHaveLength(25)
})
