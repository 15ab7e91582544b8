import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../scripts/thoroughly.ts'
import { sharedLayer } from '../src/loads/extension-layer.ts'
import { loadingSides, warmStartSides } from '../src/subjects/loader.ts'

describe('loading', () => {
  it('works repeatedly for every side', LONG, async () => {
    for (const side of loadingSides(3)) {
      const runner = await side.start()
      expect([side.name, await runner.run(0), await runner.run(1)]).toEqual([side.name, side.answer(), side.answer()])
      await runner.stop()
    }
  })

  it('from a cache runs in a separate process, which reports its CPU time', LONG, async () => {
    // Each side starts the same process and reads another of its numbers. `pnpm soak` starts all of them.
    const sides = warmStartSides(3)
    for (const side of sides.slice(thoroughly(-1, 0))) {
      const runner = await side.start()
      expect(await runner.cpuMs?.()).toBeGreaterThan(0)
      await runner.stop()
    }
  })

  it('removes the extensions after the last user', async () => {
    const shared = sharedLayer(1)
    const [first, second] = [await shared.open(), await shared.open()]
    expect(second).toBe(first)
    await shared.close()
    expect(existsSync(first.globalRoot)).toBe(true)
    await shared.close()
    expect(existsSync(first.globalRoot)).toBe(false)
  })
})
