import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile, Outcome } from '@bulkhead/contract'
import { noteOfCut } from '@bulkhead/contract/dialects'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { createHost, type Host, type SessionOptions } from '../src/index.ts'
import { CACHE } from './cache.ts'

let folder: string
let host: Host | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-whole-'))
  mkdirSync(join(folder, 'work'))
})
afterEach(async () => {
  await host?.close()
  rmSync(folder, { recursive: true })
})

async function sessionWith(config: ConfigFile = {}, options: SessionOptions = {}) {
  host = await createHost({
    workspace: join(folder, 'work'), home: join(folder, 'home'), cache: CACHE, config,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
  })
  const session = await host.openSession({ mode: 'yolo', ...options })
  let calls = 0
  return (name: string, args: object): Promise<Outcome> => session.call({ id: `c${++calls}`, name, arguments: args })
}
const fileOf = ({ metadata }: Outcome): string => readFileSync(metadata.output_path!, 'utf8')
const dataOf = (outcome: Outcome): Record<string, unknown> => (outcome as { data: Record<string, unknown> }).data

const MANY = thoroughly(80_000, 300_000)
const BOTH = `seq 1 ${MANY}; seq -f e%.0f 1 ${MANY} >&2; exit 3`

it('all lines of both streams are in the file, and the model gets the beginning and the end of each', async () => {
  const call = await sessionWith()
  const outcome = await call('bash', { command: BOTH })
  const { stdout, stderr, exit_code } = dataOf(outcome) as { stdout: string; stderr: string; exit_code: number }
  expect(exit_code).toBe(3)
  expect([stdout.startsWith('1\n2\n'), stdout.endsWith(`\n${MANY}\n`)]).toEqual([true, true])
  expect([stderr.startsWith('e1\ne2\n'), stderr.endsWith(`\ne${MANY}\n`)]).toEqual([true, true])
  expect(stdout).toContain('the middle is left out')
  expect(Buffer.byteLength(stdout + stderr)).toBeLessThanOrEqual(200 * 1024)
  const lines = fileOf(outcome).split('\n')
  const numbers = Array.from({ length: MANY }, (_, index) => `${index + 1}`)
  expect(lines.filter((line) => /^\d/.test(line))).toEqual(numbers)
  expect(lines.filter((line) => line.startsWith('e'))).toEqual(numbers.map((number) => `e${number}`))
  expect(noteOfCut(outcome.metadata)).toContain('The whole is in')
})

it('a file that reaches its limit is not called the whole', async () => {
  const call = await sessionWith({ extensions: { bash: { limits: { savedBytes: 300_000 } } } })
  const outcome = await call('bash', { command: BOTH })
  expect(outcome.metadata).toMatchObject({ truncated: true, output_cut: true })
  expect(Buffer.byteLength(fileOf(outcome))).toBeLessThanOrEqual(300_000)
  expect(noteOfCut(outcome.metadata)).toContain('but not the whole')
})

it('the size that a model sees is a setting', LONG, async () => {
  const call = await sessionWith({ tools: { bash: { maxOutput: '2KB' }, grep: { maxEntries: 5 } } as never })
  writeFileSync(join(folder, 'work/hay.txt'), 'the needle\n'.repeat(30))
  const outcome = await call('bash', { command: 'seq 1 1000' })
  expect((dataOf(outcome)['stdout'] as string).length).toBeLessThan(2_048)
  expect(fileOf(outcome)).toBe(Array.from({ length: 1_000 }, (_, index) => `${index + 1}\n`).join(''))
  const found = await call('grep', { pattern: 'needle' })
  expect(dataOf(found)).toMatchObject({ matches: { length: 5 }, last: { length: 20 }, total: 30 })
  expect(fileOf(found).split('\n')).toHaveLength(31)
})

it('all that a search finds is in the file', LONG, async () => {
  const call = await sessionWith()
  const names = Array.from({ length: 10_500 }, (_, index) => `f${String(index).padStart(5, '0')}.txt`)
  for (const name of names) writeFileSync(join(folder, 'work', name), 'a needle\n')
  const found = await call('glob', { pattern: '*.txt' })
  expect(dataOf(found)).toMatchObject({ paths: { length: 1_000 }, last: { length: 20 }, total: names.length })
  expect(fileOf(found).trimEnd().split('\n').toSorted()).toEqual(names)
  const searches = [['content', 'matches', ':1:a needle'], ['count', 'counts', ':1']] as const
  for (const [output_mode, key, line] of searches.slice(0, thoroughly(1, 2))) {
    const searched = await call('grep', { pattern: 'needle', output_mode })
    expect(dataOf(searched)).toMatchObject({ [key]: { length: 200 }, total: names.length })
    expect((dataOf(searched)['last'] as { path: string }[]).at(-1)!.path).toBe(names.at(-1))
    expect(fileOf(searched).trimEnd().split('\n').toSorted()).toEqual(names.map((name) => name + line))
    expect(searched.metadata.output_cut).toBeUndefined()
  }
})

it('a long line that a search finds is in the file, whole', LONG, async () => {
  const call = await sessionWith()
  const long = `needle ${'é"\\'.repeat(60_000)}`
  writeFileSync(join(folder, 'work/hay.txt'), `before\n${long}\nafter\n`)
  writeFileSync(join(folder, 'work/many.txt'), 'needle '.repeat(20_000))
  const found = await call('grep', { pattern: 'needle', context: 1 })
  expect(dataOf(found)).toMatchObject({ matches: [{ cut: true, before: ['before'] }, { cut: true }], truncated: true })
  const many = `many.txt:1:${'needle '.repeat(20_000)}`
  expect(fileOf(found).split('\n').toSorted()).toEqual(
    ['', 'hay.txt-1-before', `hay.txt:2:${long}`, 'hay.txt-3-after', many].toSorted(),
  )
  expect(noteOfCut(found.metadata)).toContain('The whole is in')
  // A longer line is not read to its end.
  writeFileSync(join(folder, 'work/endless.txt'), `needle ${'x'.repeat(17 * 1024 * 1024)}`)
  const endless = await call('grep', { pattern: 'needle', path: 'endless.txt' })
  expect(endless.metadata).toMatchObject({ truncated: true, output_cut: true })
})

it('what a guard changes in a result is not in a file', async () => {
  const post = () => ({ action: 'change' as const, data: { stdout: 'z'.repeat(300_000) }, reason: 'clean' })
  const call = await sessionWith({}, { guards: [{ id: 'clean', post }] })
  const outcome = await call('bash', { command: BOTH })
  expect(new Set(fileOf(outcome))).toEqual(new Set('z'))
})
