import { access, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommand } from '../src/command.ts'
import type { Latest } from '../src/harness/result.ts'
import { defineSubject } from '../src/harness/subject.ts'
import { spinning } from './fixtures/sides.ts'

const slower = defineSubject({
  title: 'Two clocks',
  compares: 'A call of 100 µs against one of 300 µs.',
  sides: [spinning('short', 100), spinning('long', 300)],
  modes: [{ kind: 'latency' }],
  // Far from the real ratio of 3, so that a stall of the machine changes nothing.
  ratios: [
    { side: 'long', measure: 'p50', is: '≥', ratio: 0.0001, against: 'short' },
    { side: 'long', measure: 'p50', is: '≤', ratio: 0.0001, against: 'short' },
  ],
})

const wrong = defineSubject({
  title: 'A side with wrong answers',
  compares: 'A correct side against one with wrong answers.',
  sides: [spinning('honest', 10), spinning('mistaken', 10, { run: async () => 'nonsense' })],
  modes: [{ kind: 'latency' }],
  ratios: [],
})

let folder: string
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'bench-command-'))))
afterEach(() => rm(folder, { recursive: true }))

async function bench(...argv: string[]) {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const latest = join(folder, 'latest.json')
  const code = await runCommand(
    argv, { subjects: { slower: async () => slower, wrong: async () => wrong }, latest, stdout, stderr },
  )
  return { code, latest, out: await text(stdout.end()), err: await text(stderr.end()) }
}

describe('pnpm bench', () => {
  it('prints a report, and a quick run does not write the latest results', async () => {
    const { code, out, latest } = await bench('slower', '--quick')
    expect(code).toBe(0)
    expect(out).toMatch(/^slower {2}Two clocks\n/)
    expect(out).toMatch(/p50 +long +short +\d+\.\d\d .* ≥ 0\.0001 +met\n/)
    expect(out).toMatch(/p50 +long +short +\d+\.\d\d .* ≤ 0\.0001 +missed\n/)
    await expect(access(latest)).rejects.toThrow('ENOENT')
  })

  it('merges the results into the named file', async () => {
    const out = join(folder, 'here.json')
    expect((await bench('slower', '--quick', '--out', out)).code).toBe(0)
    const { subjects } = JSON.parse(await readFile(out, 'utf8')) as Latest
    expect(subjects['slower']?.ratios.map(({ met }) => met)).toEqual([true, false])
    expect(subjects['slower']?.quick).toBe(true)
  })

  it('prints only JSON with --json', async () => {
    const { code, out, err } = await bench('slower', '--quick', '--json')
    expect(code).toBe(0)
    expect(err).toBe('')
    const { subjects } = JSON.parse(out) as Latest
    expect(subjects['slower']?.sides.map(({ name }) => name)).toEqual(['short', 'long'])
  })

  it('selects all subjects that start with the given word', async () => {
    const { out } = await bench('slow', 'slower', '--quick', '--json')
    expect(out).toBe('')
    const subjects = Object.fromEntries(['a-one', 'a-two', 'ab', 'b'].map((name) => [name, async () => slower]))
    const stdout = new PassThrough()
    const around = { subjects, latest: join(folder, 'latest.json'), stdout, stderr: stdout }
    expect(await runCommand(['b', 'a', 'a-two', '--quick', '--json'], around)).toBe(0)
    expect(Object.keys((JSON.parse(await text(stdout.end())) as Latest).subjects)).toEqual(['a-one', 'a-two', 'b'])
  })

  it('fails for a missed goal with --strict', async () => {
    expect((await bench('slower', '--quick', '--strict')).code).toBe(1)
  })

  it('names the side with the wrong answer, and keeps earlier results', async () => {
    const file = join(folder, 'here.json')
    const { code, err, out } = await bench('--quick', '--out', file)
    expect(code).toBe(1)
    expect(err).toContain('The side "mistaken" answered')
    expect(out).toMatch(/^slower/)
    expect(Object.keys((JSON.parse(await readFile(file, 'utf8')) as Latest).subjects)).toEqual(['slower'])
  })

  it('lists the subjects for an unknown name', async () => {
    const { code, err, out } = await bench('toString', '--quick')
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toBe('Unknown subject: toString. Known subjects: slower, wrong.\n')
  })

  it.each([['--fast'], ['--out'], ['--json=yes']])('prints its usage for %s', async (option) => {
    const { code, err } = await bench(option)
    expect(code).toBe(2)
    expect(err).toContain('pnpm bench [NAME…]')
  })

  it('prints its usage and the subjects with --help', async () => {
    const { code, out } = await bench('--help')
    expect(code).toBe(0)
    expect(out).toContain('Subjects: slower, wrong')
  })
})
