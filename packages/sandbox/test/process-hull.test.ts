import { spawn } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadImage } from '../src/main/image.ts'
import { startProcessHull } from '../src/main/process-hull.ts'
import { invocation, newSandbox, requestOf, running } from './fixture.ts'

const childrenOf = async (pid: number): Promise<number[]> =>
  (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean).map(Number)

/** Gone, or only waiting to be counted by its parent. */
async function isGone(pid: number): Promise<boolean> {
  try {
    return /^\d+ \(.*\) [ZX]/.test(await readFile(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

describe('a hull', () => {
  it('ends with its host, though its worker spins', async () => {
    const host = spawn(
      process.execPath,
      ['--no-warnings', fileURLToPath(new URL('./fixtures/host.ts', import.meta.url))],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    onTestFinished(() => void host.kill('SIGKILL'))
    await new Promise((said) => host.stdout.once('data', said))
    const [hull] = await childrenOf(host.pid!)
    expect(await isGone(hull!)).toBe(false)
    host.kill('SIGKILL')
    await expect.poll(() => isGone(hull!), { timeout: 5_000 }).toBe(true)
  })

  it('has an empty environment, a process group of its own and no descriptor of the host', async () => {
    const known = new Set(await childrenOf(process.pid))
    const session = await newSandbox().open(requestOf({ placement: 'process', source: running('return 1') }))
    await session.call(invocation())
    const hull = (await childrenOf(process.pid)).find((pid) => !known.has(pid))
    expect(await readFile(`/proc/${hull}/environ`, 'utf8')).toBe('')
    expect((await readFile(`/proc/${hull}/stat`, 'utf8')).split(') ')[1]!.split(' ')[2]).toBe(String(hull))
    const descriptors = await Promise.all(
      (await readdir(`/proc/${hull}/fd`)).map((fd) => readlink(`/proc/${hull}/fd/${fd}`).catch(() => 'closed')),
    )
    expect(descriptors.filter((target) => target.startsWith('/') && target !== '/dev/null')).toEqual([])
    expect(descriptors.filter((target) => target.startsWith('socket:'))).toHaveLength(4)
    await session.close()
    expect(await isGone(hull!)).toBe(true)
  })

  it('that is killed before it has started is gone too', async () => {
    const hull = startProcessHull(await loadImage(), DEFAULT_LIMITS)
    hull.kill()
    hull.kill()
    expect(await hull.exited).toEqual({ kind: 'killed' })
  })
})
