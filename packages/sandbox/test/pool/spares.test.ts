import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { describe, expect, it, onTestFinished } from 'vitest'
import { firstData } from '../../../../scripts/first-data.ts'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { loadImage } from '../../src/process/image.ts'
import { withoutLayers } from '../../src/os/os-layers.ts'
import { Spares } from '../../src/pool/spares.ts'
import { processStarter } from '../../src/process/process-hull.ts'
import { codeOf, invocation, refusal, requestOf, REMOTE, running } from '../fixture.ts'
import { childrenOf, descendantsOf, isGone, isStopped, pooled } from './pooled.ts'

describe.each(REMOTE)('spares of the placement %s', (placement) => {
  it('are started after the first opening', LONG, async () => {
    const before = childrenOf(process.pid)
    const sandbox = pooled()
    expect(sandbox.usage()[placement]).toEqual({ used: 0, spare: 0, inLine: 0 })
    expect(childrenOf(process.pid)).toEqual(before)
    const session = await sandbox.open(requestOf({ placement, source: running('return 1') }))
    await expect.poll(() => sandbox.usage()[placement]).toEqual({ used: 1, spare: 1, inLine: 0 })
    expect(await session.call(invocation())).toBe(1)
  })

  it('are taken by the next opening, and replaced', async () => {
    // Each spare and each replacement is a process. `pnpm soak` has two in both placements.
    const count = thoroughly(placement === 'process' ? 1 : 2, 2)
    const numbers = Array.from({ length: count }, (_, at) => at)
    const sandbox = pooled({ spares: { [placement]: count } })
    await sandbox.warm(placement)
    expect(sandbox.usage()[placement]).toEqual({ used: 0, spare: count, inLine: 0 })
    const opening = numbers.map((number) => sandbox.open(requestOf({ placement, source: running(`return ${number}`) })))
    const sessions = await Promise.all(opening)
    expect(await Promise.all(sessions.map((session) => session.call(invocation())))).toEqual(numbers)
    await expect.poll(() => sandbox.usage()[placement]).toEqual({ used: count, spare: count, inLine: 0 })
    await Promise.all(sessions.map((session) => session.close()))
    expect(sandbox.usage()[placement]).toEqual({ used: 0, spare: count, inLine: 0 })
  })

  it('are used once, so that an extension finds nothing of an earlier one', async () => {
    const sandbox = pooled({ most: { hulls: 1, threads: 1 } })
    const source = running('const found = globalThis.marker ?? null; globalThis.marker = args.mark; return found')
    const found: unknown[] = []
    for (const mark of ['first', 'second']) {
      const session = await sandbox.open(requestOf({ placement, source }))
      found.push(await session.call(invocation({ mark })), await session.call(invocation({ mark })))
      await session.close()
      await sandbox.warm(placement)
    }
    expect(found).toEqual([null, 'first', null, 'second'])
  })

  it('with another heap size are not used, and the next spare has the size that was wanted', LONG, async () => {
    const sandbox = pooled()
    await sandbox.warm(placement)
    const limits = { ...DEFAULT_LIMITS, heapMb: 24 }
    // 64 MB: a spare with the size of before could hold it.
    const source = running('const all = []; while (all.length < 160) all.push(new Array(50_000).fill(1.5)); return 1')
    for (const heapMb of [24, 24]) {
      const session = await sandbox.open(requestOf({ placement, source, limits }))
      const error = await refusal(session.call(invocation()))
      expect([error.code, error.message]).toEqual(['CompartmentOutOfHeap', expect.stringContaining(`${heapMb} MB`)])
      await sandbox.warm(placement, limits)
    }
  })

  it('get the limits of the extension that uses them, and keep nothing of their warm-up', async () => {
    const sandbox = pooled()
    await sandbox.warm(placement)
    const source = running(`
      if (args.length > 0) return 'x'.repeat(args.length)
      return import('tool://~warmup/index.js').then(() => 'there', (error) => error.code)
    `)
    const limits = { outputBytes: 100, messageBytes: 4_096 }
    const session = await sandbox.open(requestOf({ placement, source, limits }))
    expect(sandbox.usage()[placement]).toEqual({ used: 1, spare: 0, inLine: 0 })
    expect(await session.call(invocation({ length: 50 }))).toHaveLength(50)
    expect(await codeOf(session.call(invocation({ length: 200 })))).toBe('OutputTooLarge')
    expect(await session.call(invocation({ length: 0 }))).toBe('ModuleNotFound')
  })

  it('are gone when the sandbox is closed, also those that are still starting', LONG, async () => {
    const before = childrenOf(process.pid)
    const sandbox = pooled({ spares: { [placement]: 2 } })
    const warming = sandbox.warm(placement)
    await sandbox.close()
    await warming
    await expect(sandbox.warm(placement)).rejects.toMatchObject({ code: 'HostClosed' })
    expect(sandbox.usage()[placement]).toEqual({ used: 0, spare: 0, inLine: 0 })
    expect(childrenOf(process.pid).filter((pid) => !isGone(pid))).toEqual(before)
  })

  it('can be switched off', async () => {
    const sandbox = pooled({ spares: { [placement]: 0 } })
    await sandbox.warm(placement)
    await sandbox.open(requestOf({ placement, source: running('') }))
    expect(sandbox.usage()[placement]).toEqual({ used: 1, spare: 0, inLine: 0 })
  })
})

describe('spare hulls', () => {
  it('that hang while they start are killed and not used', LONG, async () => {
    const before = new Set(childrenOf(process.pid))
    const image = { ...await loadImage(), hull: 'setInterval(() => {}, 1000)' }
    const spares = new Spares(
      { start: processStarter(image, withoutLayers('off')), most: 2, room: () => true, readyMs: 500 },
    )
    onTestFinished(() => spares.close())
    spares.refill(DEFAULT_LIMITS)
    const hanging = childrenOf(process.pid).filter((pid) => !before.has(pid))
    expect(hanging).toHaveLength(2)
    await spares.settled()
    expect([spares.size, spares.take(DEFAULT_LIMITS)]).toEqual([0, undefined])
    await spares.close()
    expect(hanging.filter((pid) => !isGone(pid))).toEqual([])
  })

  it('respect a lower memory limit than they were started with', async () => {
    const sandbox = pooled()
    await sandbox.warm('process')
    const spares = childrenOf(process.pid)
    const source = running('const all = []; for (;;) try { all.push(Buffer.alloc(16 * 1024 * 1024, 1)) } catch {}')
    const session = await sandbox.open(requestOf({ placement: 'process', source, limits: { memoryMb: 160 } }))
    expect(childrenOf(process.pid)).toEqual(expect.arrayContaining([...spares]))
    const error = await refusal(session.call(invocation()))
    expect([error.code, error.message]).toEqual(['CompartmentOutOfMemory', expect.stringContaining('of 160 MB')])
  })

  it('that die are replaced and not used', async () => {
    const before = new Set(childrenOf(process.pid))
    const sandbox = pooled()
    await sandbox.warm('process')
    const spare = childrenOf(process.pid).find((pid) => !before.has(pid))
    process.kill(spare!, 'SIGKILL')
    await expect.poll(() => isGone(spare!)).toBe(true)
    await expect.poll(() => childrenOf(process.pid).filter((pid) => !before.has(pid) && pid !== spare).length).toBe(1)
    const session = await sandbox.open(requestOf({ placement: 'process', source: running('return "alive"') }))
    expect(await session.call(invocation())).toBe('alive')
  })

  // With layers there are more processes to continue. `pnpm soak` also does without.
  const modes = thoroughly<readonly ('off' | 'auto')[]>(['auto'], ['off', 'auto'])
  it.each(modes)('that were stopped by a signal continue when they are used, os: %s', async (os) => {
    const before = new Set(childrenOf(process.pid))
    const sandbox = pooled({ os })
    await sandbox.warm('process')
    const spare = childrenOf(process.pid).find((pid) => !before.has(pid))
    const all = [spare!, ...descendantsOf(spare!)]
    for (const pid of all) process.kill(pid, 'SIGSTOP')
    await expect.poll(() => all.every(isStopped)).toBe(true)
    const session = await sandbox.open(requestOf({ placement: 'process', source: running('return "goes on"') }))
    expect(await session.call(invocation())).toBe('goes on')
    expect(all.some((pid) => isGone(pid) || isStopped(pid))).toBe(false)
  })

  it('end with their host, however it ends, and do not keep it alive', LONG, async () => {
    const sampled = { SIGKILL: 'auto', 'by itself': 'off' }
    const whole = { SIGKILL: 'auto', SIGTERM: 'auto', 'by closing': 'auto', 'by itself': 'auto' }
    for (const [how, os] of Object.entries(thoroughly<Readonly<Record<string, string>>>(sampled, whole))) {
      const path = fileURLToPath(new URL('./fixtures/warm-host.ts', import.meta.url))
      const host = spawn(process.execPath, ['--no-warnings', path, how, os], { stdio: ['pipe', 'pipe', 'inherit'] })
      onTestFinished(() => void host.kill('SIGKILL'))
      const exited = new Promise((resolve) => host.once('exit', (...end) => resolve(end)))
      await firstData(host.stdout)
      const hulls = descendantsOf(host.pid!)
      expect(hulls.length).toBeGreaterThanOrEqual(1)
      const signal = how === 'SIGKILL' || how === 'SIGTERM' ? how : null
      if (signal === null) host.stdin.write('go')
      else host.kill(signal)
      expect(await exited).toEqual(signal === null ? [0, null] : [null, signal])
      await expect.poll(() => hulls.every(isGone)).toBe(true)
    }
  })
})
