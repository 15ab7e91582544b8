import { spawn } from 'node:child_process'
import { open, readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadImage } from '../src/main/image.ts'
import { withoutLayers } from '../src/main/os/os-layers.ts'
import { processStarter } from '../src/main/process-hull.ts'
import { invocation, requestOf, running, temporaryFolder } from './fixture.ts'
import { childrenOf, descendantsOf, isGone, pooled } from './pool/pooled.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))

const targetsOf = async (pid: number): Promise<readonly string[]> =>
  Promise.all((await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => 'closed')))

describe('a hull', () => {
  it('ends with its host, though its worker spins', async () => {
    const host = spawn(process.execPath, ['--no-warnings', fixture('host.ts')], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void host.kill('SIGKILL'))
    await new Promise((said) => host.stdout.once('data', said))
    const hulls = descendantsOf(host.pid!)
    expect(hulls.filter(isGone)).toEqual([])
    host.kill('SIGKILL')
    await expect.poll(() => hulls.every(isGone), { timeout: 5_000 }).toBe(true)
  })

  it('has an empty environment, a process group of its own and no descriptor but its channels', async () => {
    const known = new Set(childrenOf(process.pid))
    const sandbox = pooled({ spares: { process: 0 } })
    const session = await sandbox.open(requestOf({ placement: 'process', source: running('return 1') }))
    await session.call(invocation())
    const hull = childrenOf(process.pid).find((pid) => !known.has(pid))
    expect(await readFile(`/proc/${hull}/environ`, 'utf8')).toBe('')
    expect((await readFile(`/proc/${hull}/stat`, 'utf8')).split(') ')[1]!.split(' ')[2]).toBe(String(hull))
    const targets = await targetsOf(hull!)
    expect(targets.filter((target) => target.startsWith('/') && target !== '/dev/null')).toEqual([])
    expect(targets.filter((target) => target.startsWith('socket:'))).toHaveLength(4)
    await session.close()
    expect(isGone(hull!)).toBe(true)
  })

  it.each(['off', 'auto'])('gets nothing that its host was started with, the walls of the system: %s', async (os) => {
    const secret = join(await temporaryFolder(), 'secret')
    await writeFile(secret, 'nobody else sees this')
    const held = await open(secret)
    onTestFinished(() => held.close())
    // Descriptors with gaps between: those after the first gap are the ones that Node passes on.
    const given = new Map<number, 'pipe' | 'inherit' | number>([[1, 'pipe'], [2, 'inherit'], [7, held.fd], [40, held.fd]])
    const stdio = Array.from({ length: 41 }, (_, fd) => given.get(fd) ?? 'ignore')
    const host = spawn(process.execPath, ['--no-warnings', fixture('descriptor-host.ts'), os], { stdio })
    onTestFinished(() => void host.kill('SIGKILL'))
    await new Promise((said) => host.stdout!.once('data', said))
    expect(await targetsOf(host.pid!)).toContain(secret)
    const hulls = descendantsOf(host.pid!)
    expect(hulls.length).toBeGreaterThanOrEqual(2)
    for (const hull of hulls) expect(await targetsOf(hull)).not.toContain(secret)
  })

  it('that is killed before it has started is gone too', async () => {
    const hull = processStarter(await loadImage(), withoutLayers('of the test'))(DEFAULT_LIMITS, false)
    hull.kill()
    hull.kill()
    expect(await hull.exited).toEqual({ kind: 'killed' })
    expect(await hull.ready).toBe(false)
  })
})
