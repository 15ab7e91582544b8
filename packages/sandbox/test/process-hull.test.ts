import { spawn } from 'node:child_process'
import { copyFile, link, open, readdir, readFile, readlink, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { describe, expect, it, onTestFinished } from 'vitest'
import { firstData } from '../../../scripts/first-data.ts'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { loadImage } from '../src/process/image.ts'
import { withoutLayers } from '../src/os/os-layers.ts'
import { processStarter } from '../src/process/process-hull.ts'
import { invocation, requestOf, running, temporaryFolder } from './fixture.ts'
import { childrenOf, descendantsOf, isGone, pooled } from './pool/pooled.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))

const targetsOf = async (pid: number): Promise<readonly string[]> =>
  Promise.all((await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => 'closed')))

/** Without layers of the operating system, and with those that work here. */
const OS_MODES = ['off', 'auto'] as const

/** The command line of each running process that contains this word. */
async function startedAs(word: string): Promise<readonly string[]> {
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && !isGone(Number(name)))
  const lines = await Promise.all(all.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')))
  return lines.filter((line) => line.includes(word)).map((line) => line.slice(0, 200))
}

describe('a hull', () => {
  it.each(OS_MODES)('ends with its host while it is still starting, os: %s', LONG, async (os) => {
    // A path of its own for Node identifies all processes that were started with it.
    const node = join(await temporaryFolder(), 'node')
    await link(await realpath(process.execPath), node).catch(() => copyFile(process.execPath, node))
    await Promise.all(thoroughly([os === 'off' ? 16 : 64], [1, 4, 16, 64]).map(async (ms) => {
      const host = spawn(
        node, ['--no-warnings', fixture('starting-host.ts'), os], { stdio: ['ignore', 'pipe', 'inherit'] },
      )
      onTestFinished(() => void host.kill('SIGKILL'))
      await firstData(host.stdout)
      await new Promise((later) => setTimeout(later, ms))
      host.kill('SIGKILL')
    }))
    await expect.poll(() => startedAs(node)).toEqual([])
  })

  it('reports its end, also if it ends at once, before it reads its limits', LONG, async () => {
    // Ends as soon as it has its script. A write to a process that has ended would discard what it reported.
    const hull = `const { readSync, writeSync } = process.getBuiltinModule('node:fs')
      const chunk = Buffer.alloc(65_536)
      while (!chunk.subarray(0, readSync(3, chunk)).includes(10));
      writeSync(3, '{"type":"exit","code":7}\\n')
      process.kill(process.pid, 'SIGKILL')`
    // More than fits into the buffer of the socket, as the real one.
    const script = { text: 'x'.repeat(600_000), cache: new Uint8Array() }
    const start = processStarter({ hull, script, boot: '', author: '', shims: '' }, withoutLayers('not here'))
    // Many at once, so that the system interrupts this process between its writes.
    const hulls = Array.from({ length: thoroughly(24, 200) }, () => start(DEFAULT_LIMITS, false).assign(DEFAULT_LIMITS))
    const end = { kind: 'crashed', text: 'its thread ended with code 7' }
    expect(await Promise.all(hulls.map(({ exited }) => exited))).toEqual(hulls.map(() => end))
  })

  it.each(OS_MODES)('has no environment, its own process group and no other descriptors, os: %s', async (os) => {
    const known = new Set(childrenOf(process.pid))
    const sandbox = pooled({ spares: { process: 0 }, os })
    const session = await sandbox.open(requestOf({ placement: 'process', source: running('return 1') }))
    await session.call(invocation())
    const hull = childrenOf(process.pid).find((pid) => !known.has(pid))
    expect(await readFile(`/proc/${hull}/environ`, 'utf8')).toBe('')
    expect((await readFile(`/proc/${hull}/stat`, 'utf8')).split(') ')[1]!.split(' ')[2]).toBe(String(hull))
    // Without /dev/null, libuv holds a descriptor of the root directory instead.
    const files = async (pid: number): Promise<readonly string[]> =>
      (await targetsOf(pid)).filter((target) => target.startsWith('/') && target !== '/dev/null' && target !== '/')
    for (const pid of [hull!, ...descendantsOf(hull!)]) expect(await files(pid)).toEqual([])
    const inner = [hull!, ...descendantsOf(hull!)].at(-1)!
    expect((await targetsOf(inner)).filter((target) => target.startsWith('socket:'))).toHaveLength(4)
    await session.close()
    expect(isGone(hull!)).toBe(true)
  })

  // A host that is killed has its own test with layers. `pnpm soak` does all of this with them.
  const modes = thoroughly<readonly ('off' | 'auto')[]>(['off'], OS_MODES)
  it.each(modes)('inherits no descriptors, and ends with its host even in an endless loop, os: %s', async (os) => {
    const secret = join(await temporaryFolder(), 'secret')
    await writeFile(secret, 'not for the child')
    const held = await open(secret)
    onTestFinished(() => held.close())
    // Node passes on the descriptors after the first gap.
    const given = new Map<number, 'pipe' | 'inherit' | number>(
      [[1, 'pipe'], [2, 'inherit'], [7, held.fd], [40, held.fd]],
    )
    const stdio = Array.from({ length: 41 }, (_, fd) => given.get(fd) ?? 'ignore')
    const host = spawn(process.execPath, ['--no-warnings', fixture('host.ts'), os], { stdio })
    onTestFinished(() => void host.kill('SIGKILL'))
    // It reports when a compartment spins and a spare is ready.
    await firstData(host.stdout!)
    expect(await targetsOf(host.pid!)).toContain(secret)
    const hulls = descendantsOf(host.pid!)
    expect(hulls.length).toBeGreaterThanOrEqual(2)
    for (const hull of hulls) expect(await targetsOf(hull)).not.toContain(secret)
    expect(hulls.filter(isGone)).toEqual([])
    host.kill('SIGKILL')
    await expect.poll(() => hulls.every(isGone)).toBe(true)
  })

  it('can be killed before it has started', async () => {
    const hull = processStarter(await loadImage(), withoutLayers('of the test'))(DEFAULT_LIMITS, false)
    hull.kill()
    hull.kill()
    expect(await hull.exited).toEqual({ kind: 'killed' })
    expect(await hull.ready).toBe(false)
  })
})
