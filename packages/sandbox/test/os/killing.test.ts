// @module-tag walls
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { firstData } from '../../../../scripts/first-data.ts'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import type { OsLayers } from '../../src/os/os-layer.ts'
import { detectOsLayers, withoutLayers } from '../../src/os/os-layers.ts'
import { killHull } from '../../src/os/spawn-hull.ts'
import {
  chainOf, isGone, outcomeOf, layersWithoutBubblewrap, pipesOf, programsWithoutBubblewrap, run, start,
} from './run-under-layers.ts'

const here = await detectOsLayers()
const fallback = await layersWithoutBubblewrap()
const LAYERS = [['all that works here', here], ['what works without bubblewrap', fallback], [
  'nothing', withoutLayers('it is not wanted here'),
]] as const
const KILLS = thoroughly(1, 5)
/** Turns of the event loop between a start and a kill. */
const TURNS = Array.from({ length: 20 }, (_, at) => at * at).filter((_, at) => thoroughly(at % 6 === 0, true))

/** Handles no signal: one thread loops in JavaScript, the other runs native code. */
const DEAF = `
import { pbkdf2Sync } from 'node:crypto'
import { writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
new Worker('for (;;);', { eval: true }).once('online', () => {
  writeSync(3, 'ready')
  pbkdf2Sync('', '', 2 ** 31 - 1, 64, 'sha512')
})`

async function startDeaf(
  layers: OsLayers,
): Promise<{ readonly child: ChildProcess; readonly chain: readonly number[] }> {
  const child = start(layers, DEAF)
  await firstData(pipesOf(child).control)
  return { child, chain: chainOf(child.pid!) }
}

/** Starts a child that holds its pipes open. */
const LEAVES_ONE = `
import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'
spawn('sleep', ['600'], { stdio: [0, 1, 2, 3, 4] }).once('spawn', () => writeSync(3, 'ready'))`

/** The running processes of a group, without zombies, which have released everything. */
const groupOf = (leader: number): readonly string[] => readdirSync('/proc').filter((pid) => {
  try {
    const [state, , group] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ')
    return group === String(leader) && state !== 'Z'
  } catch {
    return false
  }
})

it('all processes of a hull end with its first process', async () => {
  const child = start(withoutLayers('nothing ties them together'), LEAVES_ONE)
  await firstData(pipesOf(child).control)
  process.kill(child.pid!, 'SIGKILL')
  await outcomeOf(child)
  await expect.poll(() => groupOf(child.pid!), { interval: 1 }).toEqual([])
})

describe.each(LAYERS)('a hull under %s', (_, layers) => {
  it('is gone after a kill, whatever it does', async () => {
    for (let turn = 0; turn < KILLS; turn += 1) {
      const { child, chain } = await startDeaf(layers)
      expect(chain.some(isGone)).toBe(false)
      killHull(child)
      killHull(child)
      // Only SIGKILL ends a process that handles no other signal.
      expect((await outcomeOf(child)).end).toBe('SIGKILL')
      // A process closes its last descriptor shortly before it is gone.
      await expect.poll(() => chain.every(isGone), { interval: 1 }).toBe(true)
    }
  })

  it('ends completely when only its first process is killed, however early', async () => {
    for (const turns of TURNS) {
      const child = start(layers, DEAF)
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => { setImmediate(resolve) })
      process.kill(child.pid!, 'SIGKILL')
      await outcomeOf(child)
      await expect.poll(() => groupOf(child.pid!), { interval: 1 }).toEqual([])
    }
  })

  it('is not killed again after its end, when another process may have its pid', LONG, async () => {
    const child = start(layers, '')
    expect((await outcomeOf(child)).end).toBe('code 0')
    expect(() => killHull(child)).not.toThrow()
  })

  it.each([
    ['process.exit(7)', 'code 7'],
    ['process.kill(process.pid, "SIGKILL")', 'SIGKILL'],
    ['process.abort()', 'SIGABRT'],
  ])('reports its end by %s', LONG, async (script, expected) => {
    expect((await run(layers, script)).end).toBe(expected)
  })

  it('reports that its heap was full', LONG, async () => {
    const bomb = 'const kept = []; for (;;) kept.push(new Array(50_000).fill(1.5))'
    const { end, stderr } = await run(layers, bomb, { flags: ['--max-old-space-size=16'] })
    expect(end).toBe('SIGABRT')
    expect(stderr).toMatch(/heap out of memory/)
  })
})

describe.each([
  ['all that works here', here, {}, () => []],
  ['what works without bubblewrap', fallback, LONG, async () => [await programsWithoutBubblewrap()]],
] as const)('a host that is killed, with %s', (_, layers, options, folders) => {
  it('leaves nothing of a hull, even if the hull handles no signal', options, async () => {
    const script = fileURLToPath(new URL('./fixtures/host.ts', import.meta.url))
    const host = spawn(
      process.execPath, ['--no-warnings', script, DEAF, ...await folders()], { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    onTestFinished(() => void host.kill('SIGKILL'))
    const stdout = await new Promise<string>((resolve) => host.stdout.once('data', (data) => resolve(String(data))))
    const chain = JSON.parse(stdout) as number[]
    onTestFinished(() => chain.filter((pid) => !isGone(pid)).forEach((pid) => process.kill(pid, 'SIGKILL')))
    host.kill('SIGKILL')
    await new Promise((gone) => host.once('exit', gone))
    // Without layers, the main thread of the hull has to notice the end of the host, and this one does not.
    if (layers.bubblewrap.active || layers.launcher.active || layers.utilLinux.active)
      await expect.poll(() => chain.every(isGone)).toBe(true)
    else expect(chain.some(isGone)).toBe(false)
  })
})
