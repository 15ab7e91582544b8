// @module-tag walls
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { firstData } from '../../../../scripts/first-data.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import type { OsLayers } from '../../src/os/os-layer.ts'
import { detectOsLayers, withoutLayers } from '../../src/os/os-layers.ts'
import { temporaryFolder } from '../fixture.ts'
import { attempt, chainOf, pipesOf, run, start } from './run-under-layers.ts'

const here = await detectOsLayers()
const limits: OsLayers = { ...withoutLayers('it is not wanted here'), rlimits: here.rlimits }
const MEMORY_MB = 128
/** What Node uses before the script allocates anything, and what `limitArgs` adds for its threads. */
const BEYOND_MB = 64 + 64 + 64

/**
 * Allocates 16 MB at a time that V8's own limit does not count, until it fails or has far too much. Its peak is
 * read from the system: the value from Node includes the peak of the parent process.
 */
const bomb = (step: string): string => `
import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
new Worker(${JSON.stringify(`
  const kept = []
  const memory = new WebAssembly.Memory({ initial: 0, maximum: 65_536 })
  let end = 'never'
  try {
    for (let turn = 0; turn < 64; turn += 1) { ${step} }
  } catch (error) {
    end = error.name
  }
  process.getBuiltinModule('node:worker_threads').parentPort.postMessage(end)
`)}, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 64 } })
  .on('message', (end) => end === 'never' ? console.log(end) : console.log('caught', end))
  .on('error', ({ code, name }) => console.log('thread', code ?? name))
  .on('exit', () => {
    const [, peak] = /^VmHWM:\\s+(\\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))
    console.log('peak', Math.round(peak / 1024))
  })`

const BOMBS = [
  ['buffers', 'kept.push(Buffer.alloc(2 ** 24, 1))'],
  ['shared memory', 'kept.push(new Uint8Array(new SharedArrayBuffer(2 ** 24)).fill(1))'],
  ['memory of WebAssembly', 'const end = memory.grow(256) * 65_536; new Uint8Array(memory.buffer, end).fill(1)'],
  ['blobs', 'kept.push(new Blob([Buffer.alloc(2 ** 24, 1)]))'],
] as const

const ABORTED = /^SIG(?:ABRT|TRAP|ILL|SEGV)$/

describe.each(BOMBS)('memory outside the heap of %s', (kind, step) => {
  it('is limited by an error or the end of the process', kind === 'buffers' ? {} : LONG, async () => {
    const before = process.memoryUsage.rss()
    const { stdout, end } = await run(limits, bomb(step), { memoryMb: MEMORY_MB })
    const [first, peak] = stdout.trim().split('\n')
    if (here.rlimits.active && end !== 'code 0') {
      // V8 itself needed memory, and aborts when it gets none.
      expect(end).toMatch(ABORTED)
    } else if (here.rlimits.active) {
      expect(first).toMatch(/^(caught RangeError|thread ERR_WORKER_OUT_OF_MEMORY)$/)
      expect(Number(peak!.split(' ')[1])).toBeLessThan(MEMORY_MB + BEYOND_MB)
    } else {
      expect([first, end]).toEqual(['never', 'code 0'])
    }
    expect(process.memoryUsage.rss() - before).toBeLessThan(64 * 2 ** 20)
  })
})

describe('memory outside the heap', () => {
  it('that V8 needs itself ends the process with a message that says why', LONG, async () => {
    // Each thread reserves a large range for code, and V8 aborts without it.
    const { stdout, stderr, end } = await run(limits, `
      import { Worker } from 'node:worker_threads'
      const idle = () => new Worker('setInterval(() => {}, 1000)', { eval: true })
      for (let thread = 0; thread < 8; thread += 1) await new Promise((online) => idle().once('online', online))
      console.log('all started')
      process.exit()
    `, { memoryMb: 1 })
    if (here.rlimits.active) {
      expect(end).toMatch(ABORTED)
      expect(stderr).toMatch(/out of memory|bad_alloc/i)
    } else {
      expect(stdout).toBe('all started\n')
    }
  })
})

describe('limits', () => {
  it('are those of the command line, for Node itself, and cannot be raised', async () => {
    const child = start(
      here, `import { Socket } from 'node:net'; new Socket({ fd: 3 }).on('data', () => {}).write('ready')`,
    )
    await firstData(pipesOf(child).control)
    const text = readFileSync(`/proc/${chainOf(child.pid!).at(-1)}/limits`, 'latin1')
    const limitOf = (line: string): readonly string[] =>
      new RegExp(`^${line} +(\\w+) +(\\w+)`, 'm').exec(text)!.slice(1)
    const both = ['Max data size', 'Max open files', 'Max file size', 'Max core file size'].map(limitOf)
    expect(both.every(([soft, hard]) => soft === hard && soft !== 'unlimited')).toBe(here.rlimits.active)
    expect(both.slice(1).some(([, hard]) => Number(hard) <= 256)).toBe(here.rlimits.active)
  })

  it('forbid writing to files', async () => {
    const path = join(await temporaryFolder(), 'growing')
    const outcome = await attempt(limits, `fs.writeFileSync(${JSON.stringify(path)}, 'x') ?? 'written'`)
      .catch(() => 'killed')
    if (here.rlimits.active) expect([{ refused: 'EFBIG' }, 'killed']).toContainEqual(outcome)
    else expect(outcome).toEqual({ value: 'written' })
  })

  it('allow few descriptors', async () => {
    const outcome = await attempt(limits, `Array.from({ length: 300 }, () => fs.openSync('/dev/null')).length`)
    expect(outcome).toEqual(here.rlimits.active ? { refused: 'EMFILE' } : { value: 300 })
  })
})
